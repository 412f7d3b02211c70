"""Timelines: what was busy when, taken from PyTorch's profiler, so that overlap becomes a number.

A timeline has lanes, one per thread of the host and two per stream of the GPU (work and copies), and each lane has
spans of time. `record` makes one from what really ran; an exercise or an explorer may draw one of its own in the
same way.
"""

from shared.timeline.drawing import COLOURS as COLOURS
from shared.timeline.drawing import draw as draw
from shared.timeline.drawing import panels as panels
from shared.timeline.picture import show as show
from shared.timeline.recording import mark as mark
from shared.timeline.recording import record as record
from shared.timeline.recording import save as save
from shared.timeline.spans import Span as Span
from shared.timeline.spans import Timeline as Timeline
from shared.timeline.trace import from_trace as from_trace
