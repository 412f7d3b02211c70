"""What a learner's function answers, for the tables and pictures below a verdict."""

from collections.abc import Callable
from typing import Any

from bilingual import Bilingual

RIGHT = Bilingual("right", "正確答案")


def asked(answer: Callable[..., Any], *arguments: Any) -> Any:
    """Return what `answer` returns, or the name of its error."""
    try:
        return answer(*arguments)
    except Exception as error:
        return type(error).__name__
