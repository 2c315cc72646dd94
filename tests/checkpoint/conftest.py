from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def _own_store(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Every test has a store of its own, except those that need the fetched base."""
    if request.node.get_closest_marker("weights") is None:
        patch: pytest.MonkeyPatch = request.getfixturevalue("monkeypatch")
        patch.setenv("THISTHAT_HOME", str(tmp_path_factory.mktemp("store")))
        patch.delenv("THISTHAT_BASE", raising=False)


@pytest.fixture
def store() -> Path:
    from thisthat.checkpoint.store import home

    return home()
