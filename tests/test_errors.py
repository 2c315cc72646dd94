import copy
import pickle
import re
from pathlib import Path

import pytest

from thisthat.errors import InvalidInputError, MissingExtraError, StateTooLongError, ThisThatError

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize(
    "error",
    [
        InvalidInputError("state", "is bad"),
        StateTooLongError(9, 4),
        MissingExtraError("this", "ray"),
        InvalidInputError("a", "b").under("parent"),
    ],
)
def test_errors_are_the_same_in_another_process(error: ThisThatError) -> None:
    for again in (pickle.loads(pickle.dumps(error)), copy.copy(error)):
        assert type(again) is type(error)
        assert (str(again), again.__dict__) == (str(error), error.__dict__)


def test_no_message_and_no_page_installs_a_strangers_package() -> None:
    assert str(MissingExtraError("thisthat serve", "serve")) == (
        'thisthat serve needs the extra [serve]: pip install ".[serve]" in the checkout; '
        "the thisthat on PyPI is another project"
    )
    read = [ROOT / "README.md"]
    for folder in ("src", "docs", "examples", "clients", "deploy", "scripts", "recipes"):
        kinds = (".py", ".md", ".json", ".toml", ".yml", ".yaml", ".service", ".html", ".js")
        read += [path for path in (ROOT / folder).rglob("*") if path.suffix in kinds]
    bare = re.compile(r"pip install (-\S+ )*[\"']?thisthat\b|\bthisthat\[[a-z]")
    assert [path for path in read if bare.search(path.read_text(encoding="utf-8"))] == []
