from __future__ import annotations

import pytest

from thisthat.cpus import Busy
from thisthat_lab.bench.timing import busy


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (Busy(None, None), []),
        (Busy(0.02, 0.1), []),
        (Busy(0.35, 0.0), ["of this run were busy 35 %"]),
        (Busy(0.2, 0.6), ["of this run were busy 20 %", "other processors"]),
    ],
)
def test_what_else_ran_is_said(
    found: Busy, said: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(busy, "busy_processors", lambda: found)
    caveats = busy.busy_caveats()
    assert len(caveats) == len(said)
    assert all(part in caveat for part, caveat in zip(said, caveats, strict=True))
