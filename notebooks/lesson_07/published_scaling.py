"""The efficiency of trainings on many GPUs, as others have published it."""

from bilingual import Bilingual, Block
from course_utils import figures
from course_utils.named_cards import named_card
from shared.published_curves import Curve, published

CURVES = ("vit", "llm", "resnet")
COLOURS = (figures.YOURS, figures.FOURTH, figures.GREY, figures.THIRD)  # the last as in other pictures


def draw() -> None:
    """Show the published efficiencies against the number of GPUs, at last that of the chosen card, with its source."""
    from IPython.display import display

    caption, x, y = figures.caption_and_axes("published_scaling")
    figure, axes = figures.new(height=3.2)
    card = named_card("resnet50_gpus")
    curves = [published(name) for name in CURVES]
    curves.append(Curve(card.label, tuple(zip(card.x, card.y, strict=True)), ""))
    for curve, colour in zip(curves, COLOURS, strict=True):
        gpus, efficiency = zip(*curve.efficiency(), strict=True)
        label = figures.lettering(curve.label, " · ")
        axes.plot(gpus, [100 * share for share in efficiency], "o-", color=colour, label=label)
    axes.axhline(100, color=figures.PALE, linestyle="--", linewidth=1.2)
    figures.logarithmic(axes.xaxis)
    axes.set_ylim(0, 110)
    axes.set_xlabel(x.label)
    axes.set_ylabel(y.label)
    axes.legend(fontsize=9, loc="lower left")
    ends = [(curve.label, *curve.efficiency()[-1]) for curve in curves]
    alternative = Bilingual(
        "; ".join(f"{label.en}: {share:.0%} with {gpus:g} GPUs" for label, gpus, share in ends) + ".",
        "；".join(f"{label.zh}：{gpus:g} 張 GPU 時為 {share:.0%}" for label, gpus, share in ends) + "。",
    )
    figures.show(figure, caption=caption, alternative=alternative)
    source = card.reference
    display(Block(f'<p class="course-small">{source.html()}</p>', str(source.text())))
