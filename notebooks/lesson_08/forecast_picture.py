"""A forecast beside the truth, and the error of each method by horizon, with a whole run that was recorded."""

import json
from pathlib import Path
from typing import Any

from matplotlib.ticker import MultipleLocator

from bilingual import Bilingual
from course_utils import figures
from lesson_08.words import WORDS

RECORDED = Path(__file__).with_name("whole_run.json")
STYLES = {
    "informer": (figures.YOURS, "-"),
    "mlp": (figures.YOURS, ":"),
    "last value": (figures.GREY, "-"),
    "seasonal (168)": (figures.FOURTH, "-"),
    "linear, all columns": (figures.THIRD, "-"),
}
NAMES, _TEXTS = WORDS["forecasts"], WORDS["forecast_picture"]


def whole_run() -> dict[str, Any]:
    """Return the recorded run: `made` says where and how, `test` holds the errors of each method."""
    return json.loads(RECORDED.read_text(encoding="utf-8"))


def show(*runs: dict[str, Any]) -> None:
    """Show the picture, with the recorded run beside the given ones.

    Args:
        runs: What the ``metrics.json`` of some runs hold; a forecast of the first is drawn.
    """
    recorded = whole_run()
    figure, (window, horizons) = figures.new(height=4.6, columns=2, width=9.2)
    example = runs[0]["examples"][0]
    past, hours = example["past"][-48:], range(1, len(example["truth"]) + 1)
    window.plot(range(1 - len(past), 1), past, color=figures.PALE, label=Bilingual("past", "過去"))
    window.plot(hours, example["truth"], color=figures.GREY, label=Bilingual("truth", "實際"))
    window.plot(hours, example["forecast"], color=figures.YOURS, label=Bilingual("forecast", "預測"))
    window.set_title(example["column"])
    test = {name: errors for run in runs for name, errors in run["test"].items()}
    for name in filter(test.__contains__, STYLES):
        colour, line = STYLES[name]
        found = test[name]["per_horizon"]
        horizons.plot(range(1, len(found) + 1), found, line, color=colour, label=NAMES[name])
    found = recorded["test"]["informer"]["per_horizon"]
    whole = figures.lettering(_TEXTS["whole"])
    horizons.plot(range(1, len(found) + 1), found, "--", color=figures.RECORDED, label=whole)
    figures.logarithmic(horizons.yaxis)
    horizons.set_title("MSE")
    for axes in (window, horizons):
        axes.xaxis.set_major_locator(MultipleLocator(12 if axes is window else 6))
        axes.set_xlabel(Bilingual("hours ahead", "往後幾小時"))
        axes.legend(fontsize=8, loc="upper left", bbox_to_anchor=(0, -0.18))  # below the curves
    caption = _TEXTS["caption"].format(made=Bilingual(**recorded["made"]))
    figures.show(figure, caption=caption, alternative=_TEXTS["alternative"])
