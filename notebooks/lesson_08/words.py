"""What the tables, pictures and cards of this lesson say, in both languages: ``words.toml``."""

from bilingual import texts

WORDS = texts(__file__)
