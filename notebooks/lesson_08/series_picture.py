"""The measurements of the town: all of them, two weeks, and what the heat pumps make of the weather."""

from typing import Any

from bilingual import Bilingual
from course_utils import figures
from lesson_08.words import WORDS

_TEXTS = WORDS["series"]


def draw(frame: Any) -> None:
    """Show the table of measurements that ``make_series`` returns, or of another file its first columns."""
    import pandas as pd

    if not {"current", "temperature", "homes", "offices", "heat_pumps"} <= set(frame.columns):
        figure, axes = figures.new(height=3.0)
        numbers = frame.set_axis(pd.to_datetime(frame["date"])).select_dtypes("number").resample("D").mean()
        for name in numbers.columns[:3]:
            axes.plot(numbers.index, numbers[name], label=name)
        axes.legend(fontsize=9)
        figures.show(figure, caption=_TEXTS["own_caption"], alternative=_TEXTS["own_alternative"])
        return
    figure, axes = figures.new(height=5.2, rows=2, columns=2)
    grid = axes[0, 0].get_gridspec()
    for one in axes[0]:
        one.remove()
    whole, weeks, pumps = figure.add_subplot(grid[0, :]), axes[1, 0], axes[1, 1]
    data = frame.drop(columns="date").set_axis(pd.DatetimeIndex(frame["date"]))
    days = data[["current", "temperature"]].resample("D").mean()
    whole.plot(days.index, days["current"], color=figures.YOURS, label=f"{Bilingual('current', '電流')} (A)")
    degrees = whole.twinx()
    degrees.plot(
        days.index, days["temperature"], color=figures.THIRD, label=f"{Bilingual('temperature', '氣溫')} (°C)"
    )
    handles = [*whole.get_lines(), *degrees.get_lines()]
    whole.legend(handles=handles, fontsize=9, loc="lower center", bbox_to_anchor=(0.5, 1), ncols=2)
    two = data["2024-05-06":"2024-05-19"]
    passed = [hour / 24 for hour in range(len(two))]
    weeks.plot(passed, two["homes"], color=figures.YOURS, label=f"{Bilingual('homes', '住家')} (MW)")
    weeks.plot(passed, two["offices"], color=figures.THIRD, label=f"{Bilingual('offices', '辦公室')} (MW)")
    weeks.set_xlabel(Bilingual("days", "天"))
    weeks.legend(fontsize=9, loc="lower center", bbox_to_anchor=(0.5, 1), ncols=2)
    by_day = data[(data.index.hour >= 8) & (data.index.hour < 18)]
    pumps.plot(by_day["temperature"], by_day["heat_pumps"], ".", markersize=2, color=figures.YOURS)
    pumps.set_xlabel(f"{Bilingual('temperature', '氣溫')} (°C)")
    pumps.set_ylabel(f"{Bilingual('heat pumps', '熱泵')} (MW)")
    figures.show(figure, caption=_TEXTS["caption"], alternative=_TEXTS["alternative"])
