"""Figures in the course's style: ready charts, and what a chart of one's own needs.

Each chart shows what was measured on this machine beside what a recorded GPU measured for the same name.
"""

from course_utils.figures.charts import Axis as Axis
from course_utils.figures.charts import Label as Label
from course_utils.figures.charts import bars as bars
from course_utils.figures.charts import bars_only as bars_only
from course_utils.figures.charts import caption_and_axes as caption_and_axes
from course_utils.figures.charts import curves as curves
from course_utils.figures.charts import key as key
from course_utils.figures.charts import lettering as lettering
from course_utils.figures.charts import logarithmic as logarithmic
from course_utils.figures.charts import of_recorded as of_recorded
from course_utils.figures.charts import quoted as quoted
from course_utils.figures.charts import series_vary as series_vary
from course_utils.figures.measured import COLOURS as COLOURS
from course_utils.figures.measured import HERE as HERE
from course_utils.figures.measured import RECORDED_LABEL as RECORDED_LABEL
from course_utils.figures.measured import Groups as Groups
from course_utils.figures.measured import beside as beside
from course_utils.figures.measured import show_measured as show_measured
from course_utils.figures.picture import FOURTH as FOURTH
from course_utils.figures.picture import GREY as GREY
from course_utils.figures.picture import PALE as PALE
from course_utils.figures.picture import RECORDED as RECORDED
from course_utils.figures.picture import THIRD as THIRD
from course_utils.figures.picture import YOURS as YOURS
from course_utils.figures.picture import Picture as Picture
from course_utils.figures.picture import new as new
from course_utils.figures.picture import png as png
from course_utils.figures.picture import rectangle as rectangle
from course_utils.figures.picture import show as show
from course_utils.figures.picture import style as style
from course_utils.units import amount as amount
from course_utils.units import duration as duration
from course_utils.units import quantity as quantity
