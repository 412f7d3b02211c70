"""The texts of a tool, which stand in a TOML file beside its module."""

from course_utils.texts import texts as texts
