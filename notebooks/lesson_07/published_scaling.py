"""The efficiency of trainings on many GPUs, as others have published it."""

from bilingual import Bilingual
from course_utils import figures
from shared.published_curves import published

CURVES = ("vit", "llm", "resnet")
COLOURS = (figures.THIRD, figures.FOURTH, figures.GREY)  # the others mean "yours" and "recorded"


def draw() -> None:
    """Show the published efficiencies against the number of GPUs."""
    caption, x, y = figures.caption_and_axes("published_scaling")
    figure, axes = figures.new(height=3.2)
    for name, colour in zip(CURVES, COLOURS, strict=True):
        curve = published(name)
        gpus, efficiency = zip(*curve.efficiency(), strict=True)
        axes.plot(
            gpus,
            [100 * share for share in efficiency],
            "o-",
            color=colour,
            label=figures.lettering(curve.label, " · "),
        )
    axes.axhline(100, color=figures.PALE, linestyle="--", linewidth=1.2)
    figures.logarithmic(axes.xaxis)
    axes.set_ylim(0, 110)
    axes.set_xlabel(x.label)
    axes.set_ylabel(y.label)
    axes.legend(fontsize=9, loc="lower left")
    ends = [(published(name).label, *published(name).efficiency()[-1]) for name in CURVES]
    alternative = Bilingual(
        "; ".join(f"{label.en}: {share:.0%} with {gpus:g} GPUs" for label, gpus, share in ends) + ".",
        "；".join(f"{label.zh}：{gpus:g} 張 GPU 時為 {share:.0%}" for label, gpus, share in ends) + "。",
    )
    figures.show(figure, caption=caption, alternative=alternative)
