"""Editions: the lessons in one language, for students or for instructors, made from the notebooks in both.

Nothing is kept twice: an edition is a build product (``make editions``, ``build/editions/LANGUAGE/AUDIENCE/``).
"""

from course_utils.language import EDITIONS as EDITIONS
from tools.editions.lessons import chosen as chosen
from tools.editions.lessons import lesson as lesson
from tools.editions.making import AUDIENCES as AUDIENCES
from tools.editions.making import edition as edition
