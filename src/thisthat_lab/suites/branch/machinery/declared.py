"""Families that are data alone: a JSON file names a pattern, its records and its wording.

A pattern is a builder of ``machinery`` or ``records``; the file gives its arguments. Anything a
pattern does not know is an error.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from thisthat_lab.suites.base.branch_family import BranchFamily
from thisthat_lab.suites.base.domains import domains
from thisthat_lab.suites.base.fields import Domain
from thisthat_lab.suites.base.layout import MakePage, lay_out
from thisthat_lab.suites.branch.machinery.outcomes import OutcomeWords, outcome_family
from thisthat_lab.suites.branch.machinery.rule_sets import RULE_SETS
from thisthat_lab.suites.branch.machinery.shell_commands import COMMAND, command_page
from thisthat_lab.suites.branch.machinery.verdicts import Words, verdict_family
from thisthat_lab.suites.records.catalogue import record_types
from thisthat_lab.suites.records.checks import Wording, check_family
from thisthat_lab.suites.records.fields import RecordType, read_types
from thisthat_lab.suites.records.ratings import RatingWording, rating_family
from thisthat_lab.suites.records.routes import RouteWording, route_family
from thisthat_lab.suites.records.rubric import METHODS

FOLDER = Path(__file__).parent.parent / "families"


class _Declared(BaseModel):
    """What every file says: in ``about``, what is asked; whether training leaves it out."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    about: str
    held_out: bool = False


class _OfDomains(_Declared):
    """A pattern over records of some domains, or over shell commands, which are never missing."""

    domains: tuple[str, ...] = ()

    def pages(self) -> tuple[tuple[Domain, ...], MakePage, bool]:
        """The domains, how a state of them is written, and whether a fact may be missing."""
        if self.domains:
            return domains(*self.domains), lay_out, True
        return (COMMAND,), command_page, False


class _Verdict(_OfDomains):
    pattern: Literal["verdict"]
    words: Words

    def family(self, name: str) -> BranchFamily[Any]:
        known, page, abstains = self.pages()
        return verdict_family(name, known, self.words, self.held_out, page, abstains)


class _Outcome(_OfDomains):
    pattern: Literal["outcome"]
    kind: Literal["choice", "score"]
    words: OutcomeWords
    counts: tuple[int, int]
    rules: str = "branches"

    def family(self, name: str) -> BranchFamily[Any]:
        known, page, abstains = self.pages()
        rules = RULE_SETS[self.rules]
        return outcome_family(
            name, self.kind, known, self.words, self.counts, self.held_out, rules, page, abstains
        )


class _OfTypes(_Declared):
    """A pattern over record types of its own, or over those of every trade."""

    types: tuple[str, ...] = ()

    def record_types(self) -> tuple[RecordType, ...]:
        return read_types(self.types) if self.types else record_types()


class _Check(_OfTypes):
    pattern: Literal["check"]
    wording: Wording

    def family(self, name: str) -> BranchFamily[Any]:
        return check_family(name, self.record_types(), self.wording, held_out=self.held_out)


class _Rating(_OfTypes):
    pattern: Literal["rating"]
    wording: RatingWording
    methods: tuple[str, ...] = METHODS
    levels: tuple[int, ...] = (3, 4, 5)

    def family(self, name: str) -> BranchFamily[Any]:
        return rating_family(
            name,
            self.record_types(),
            self.wording,
            methods=self.methods,
            levels=self.levels,
            held_out=self.held_out,
        )


class _Route(_OfTypes):
    pattern: Literal["route"]
    wording: RouteWording

    def family(self, name: str) -> BranchFamily[Any]:
        return route_family(name, self.record_types(), self.wording, held_out=self.held_out)


_Any = _Verdict | _Outcome | _Check | _Rating | _Route


def declared_names() -> tuple[str, ...]:
    """The families that a file declares, in order of name."""
    return tuple(sorted(_files()))


@cache
def declared_family(name: str) -> BranchFamily[Any]:
    """The family that a file declares; raises ValidationError where it is wrong."""
    return _read(name).family(name)


def own_types(name: str) -> tuple[RecordType, ...] | None:
    """The record types that a declared family has to itself; None where it has none."""
    found = _read(name)
    return found.record_types() if isinstance(found, _OfTypes) and found.types else None


def _read(name: str) -> _Any:
    text = _files()[name].read_text(encoding="utf-8")
    shape: Any = Annotated[_Any, Field(discriminator="pattern")]
    found: _Any = TypeAdapter(shape).validate_json(text)
    return found


@cache
def _files() -> dict[str, Path]:
    """The files without a module of the same name; ValueError when two share a name."""
    files = [file for file in FOLDER.glob("*/*.json") if not file.with_suffix(".py").exists()]
    found = {file.stem: file for file in files}
    if len(found) < len(files):
        raise ValueError("two files declare a branch family of the same name")
    return found
