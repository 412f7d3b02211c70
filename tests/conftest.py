"""Which tests stay in one process when several share the work."""

from __future__ import annotations

from typing import Any

import pytest

from tools.test import share


@pytest.hookimpl(optionalhook=True)  # without pytest-xdist, nobody asks
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    from xdist.scheduler import LoadFileScheduling

    class Shares(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return share(nodeid)

    return Shares(config, log) if config.option.dist == "loadfile" else None
