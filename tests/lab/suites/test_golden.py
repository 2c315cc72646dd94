"""The same seed gives the same items for ever: a hash for every family, kept in a file.

Training files and published numbers name only a seed, so a change of what a family generates must
be a deliberate one: ``python -m tests.lab.suites.test_golden`` writes the hashes anew. What a
generator notes beside an item (``facts``) is not part of it: no model ever sees that.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from itertools import islice
from pathlib import Path

import pytest

from tests.lab.suites.drawing import FAMILIES, drawn
from thisthat.items.item import dump_row

FILE = Path(__file__).with_name("golden.json")
ITEMS = 60


def golden_hash(name: str) -> str:
    items = (replace(item, facts={}) for item in islice(drawn("golden", name), ITEMS))
    rows = (dump_row(item.as_dict()) for item in items)
    return hashlib.sha256("\n".join(rows).encode()).hexdigest()


@pytest.mark.parametrize("name", tuple(FAMILIES))
def test_the_items_of_a_family_stay_the_same(name: str) -> None:
    assert golden_hash(name) == json.loads(FILE.read_text())[name]


if __name__ == "__main__":
    FILE.write_text(json.dumps({name: golden_hash(name) for name in FAMILIES}, indent=1) + "\n")
