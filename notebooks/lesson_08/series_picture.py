"""The measurements of the town: all of them, two weeks, and what the heat pumps make of the weather."""

from typing import Any

from bilingual import Bilingual
from course_utils import figures

CAPTION = Bilingual(
    "The town's measurements: 14 months, two weeks, and the heat pumps by day (8 to 18 o'clock).",
    "小鎮的測量值。上圖是 14 個月，左下是其中兩個星期，右下是白天（8 到 18 點）的熱泵用電。",
)
ALTERNATIVE = Bilingual(
    "Above, the daily means of current and temperature over 14 months: the current is highest in winter. Below left, two weeks: offices work on five "
    "days of seven, homes have peaks in the morning and in the evening. Below right, heat pumps against temperature: high when it is cold, low "
    "between 15 and 20 degrees, higher when it is hot.",
    "上：14 個月的每日平均電流與氣溫，冬天的電流最大。左下：兩個星期，辦公室一週用電五天，住家早晚各有一個高峰。"
    "右下：熱泵用電隨氣溫的變化，天冷時高，15 到 20 度之間低，天熱時又升高。",
)
OWN_CAPTION = Bilingual("Your file: daily means of its first columns.", "你的檔案：前幾欄的每日平均。")
OWN_ALTERNATIVE = Bilingual("Line chart of the first columns over time.", "折線圖，前幾欄隨時間的變化。")


def draw(frame: Any) -> None:
    """Show the table of measurements that ``make_series`` returns, or of another file its first columns."""
    import pandas as pd

    if not {"current", "temperature", "homes", "offices", "heat_pumps"} <= set(frame.columns):
        figure, axes = figures.new(height=3.0)
        numbers = frame.set_axis(pd.to_datetime(frame["date"])).select_dtypes("number").resample("D").mean()
        for name in numbers.columns[:3]:
            axes.plot(numbers.index, numbers[name], label=name)
        axes.legend(fontsize=9)
        figures.show(figure, caption=OWN_CAPTION, alternative=OWN_ALTERNATIVE)
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
    figures.show(figure, caption=CAPTION, alternative=ALTERNATIVE)
