"""Rules: one function per cause, which looks at the evidence. The texts of a cause are in ``texts/*.toml``."""
