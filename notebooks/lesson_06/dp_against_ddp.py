"""A step of DataParallel and one of DistributedDataParallel with two devices, drawn from made-up times."""

from IPython.display import display

from bilingual import Bilingual, pair, texts
from course_utils import figures
from course_utils.lesson import text
from shared import timeline
from shared.timeline import Span, Timeline

# Seconds of the forward and backward pass, of all weights on the link, and of the optimizer.
WORK, LINK, UPDATE = 0.060, 0.020, 0.010
BUCKETS = 4
DEVICES = ("device 0", "device 1")
LINK_LANE = "link"
LABELS = {
    "device 0": Bilingual("device 0", "裝置 0"),
    "device 1": Bilingual("device 1", "裝置 1"),
    "link": Bilingual("link", "連線"),
}


def data_parallel(work: float = WORK, link: float = LINK, update: float = UPDATE) -> Timeline:
    """Return a step in which device 0 sends the weights, collects the gradients and makes the update."""
    back = link + work
    spans = [
        Span(DEVICES[0], "update", back + link, back + link + update)
    ]  # as in ddp(): the order sets the colours
    spans += [Span(LINK_LANE, "gradients", back, back + link)]
    spans += [Span(device, "work", link, back) for device in DEVICES]
    return Timeline([*spans, Span(LINK_LANE, "weights", 0, link)])


def ddp(work: float = WORK, link: float = LINK, update: float = UPDATE, buckets: int = BUCKETS) -> Timeline:
    """Return a step in which buckets of gradients travel while the backward pass, two thirds of the work, goes on."""
    spans, free = [], 0.0
    for bucket in range(1, buckets + 1):
        start = max(free, work * (1 + 2 * bucket / buckets) / 3)
        free = start + link / buckets
        spans.append(
            Span(LINK_LANE, f"gradients {bucket}", start, free)
        )  # too narrow for more than the number
    updates = [Span(device, "update", free, free + update) for device in DEVICES]
    return Timeline([*updates, *spans, *(Span(device, "work", 0, work) for device in DEVICES)])


def picture() -> figures.Picture:
    """Build the picture of both (pure)."""
    ways = {"DataParallel": data_parallel(), "DDP": ddp()}
    longest = max(way.seconds() for way in ways.values())
    figure, parts = timeline.panels([len(LABELS)] * len(ways))
    for axes, (name, way) in zip(parts, ways.items(), strict=True):
        timeline.draw(axes, way, lanes=list(LABELS), labels=LABELS, until=longest)
        axes.set_title(name, loc="left", fontsize=10)
    return figures.Picture(figure, pair(text("figure", "dp_against_ddp")), texts(__file__)["alternative"])


def drawing() -> None:
    """Show both, one above the other."""
    display(picture())
