"""Finding single conditions in a text and putting numbered tokens in their place."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from tests.lab.suites.oracle.logic import Clause

Rule = tuple[str, Callable[["re.Match[str]"], Clause]]


class Scanner:
    """Knows how conditions on the fields of one kind of record are worded.

    Every rule is a pattern without named groups and a reader of its matches; earlier rules go
    first where two could start at the same place.
    """

    def __init__(self, rules: Sequence[Rule]) -> None:
        self._readers = [(re.compile(pattern, re.I), read) for pattern, read in rules]
        inner = "|".join(f"(?P<r{n}>{_bare(pattern)})" for n, (pattern, _) in enumerate(rules))
        self._all = re.compile(rf"(?<![\w'])(?:{inner})(?![\w%])", re.I)

    def scan(self, text: str, clauses: list[Clause]) -> str:
        """The text with tokens for its conditions, which are added to ``clauses``."""

        def token(found: re.Match[str]) -> str:
            assert found.lastgroup is not None
            pattern, read = self._readers[int(found.lastgroup[1:])]
            again = pattern.fullmatch(found[0])
            assert again is not None, found[0]
            clauses.append(read(again))
            return f"⟦{len(clauses) - 1}⟧"

        return self._all.sub(token, text)


def _bare(pattern: str) -> str:
    """The pattern with its capturing groups made silent."""
    return re.sub(r"(?<!\\)\((?!\?)", "(?:", pattern)
