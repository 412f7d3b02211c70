"""What editions say besides the lessons, in both languages."""

from bilingual import Bilingual
from tools.texts import texts

TEXTS: dict[str, dict[str, Bilingual]] = texts(__file__)
