from __future__ import annotations

import os
from pathlib import Path

import pytest

from thisthat.items.item import Item

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder with recorded_68.jsonl: THISTHAT_DATA, or ../shared/data beside the checkout."""
    named = os.environ.get("THISTHAT_DATA")
    folder = Path(named) if named else ROOT.parent / "shared" / "data"
    if not (folder / "recorded_68.jsonl").is_file():
        pytest.skip("recorded_68.jsonl is not here: set THISTHAT_DATA to its folder")
    return folder


def make_items(count: int = 12, kind: str = "choice") -> list[Item]:
    """Small items of one kind with every answer in turn, two questions per state."""
    options = {
        "choice": (("left", "to the left"), ("right", None), ("straight on", None)),
        "boolean": (("no", None), ("yes", None)),
        "score": (("0", "low"), ("1", "middle"), ("2", "high")),
    }[kind]
    return [
        Item(
            source="made",
            family=f"{kind}_{number % 2}",
            kind=kind,  # type: ignore[arg-type]
            state=f"Case {number // 2}.",
            question=f"Question {number}?",
            options=options,
            answer=number % len(options),
        )
        for number in range(count)
    ]
