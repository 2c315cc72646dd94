"""Things by kind, levels in order and names of people, for states that name some of them."""

from __future__ import annotations

import json
from pathlib import Path

_TABLES = json.loads(Path(__file__).with_name("words.json").read_text(encoding="utf-8"))

THINGS: dict[str, tuple[str, ...]] = {k: tuple(names) for k, names in _TABLES["things"].items()}
LEVELS: dict[str, tuple[str, ...]] = {k: tuple(names) for k, names in _TABLES["levels"].items()}
NAMES: tuple[str, ...] = tuple(_TABLES["names"])
