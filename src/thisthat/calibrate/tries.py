"""What was fitted on the same labels before: a small file beside them.

A guarantee holds for a target that was chosen before looking. Whoever tries several targets on one
set of labels and keeps the nicest gets less: by the union bound, the kept one misses its target
with a probability of at most the sum over all tries. Refused tries count too, since they led to the
next one. The file has hashes of the labelled rows, so labels that were added to do not start anew:
fitting the same on them is a further try.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from thisthat.display import counted
from thisthat.errors import InvalidInputError
from thisthat.files import write_atomically
from thisthat.identity import state_hash
from thisthat.items.labels import LabelledStates

FORMAT = "thisthat tries 1"
_HASH = 16


@dataclass(frozen=True, slots=True)
class Try:
    """One fit: what was asked for, of which checkpoint, and whether the labels supported it.

    ``rows`` is the hash of the rows it was fitted on, ``labels`` how many labels they have, and
    ``schema`` the hash of the questions as they were worded; files of earlier versions lack them.
    ``checkpoint`` is empty where nothing was asked.
    """

    target: str
    confidence: float
    options: tuple[str, ...]
    checkpoint: str
    supported: bool
    questions: tuple[str, ...] = ()
    rows: str = ""
    labels: int = 0
    schema: str = ""

    @property
    def asked(self) -> tuple[object, ...]:
        """What tells tries apart: the same again on the same rows gives the same again."""
        asked = self.target, self.confidence, self.questions, self.options, self.checkpoint
        return *asked, self.rows, self.schema

    def __str__(self) -> str:
        only = f" of {' and '.join(self.questions)}" if self.questions else ""
        only += f" for {' and '.join(self.options)} alone" if self.options else ""
        refused = "" if self.supported else ", refused"
        labels = f" on {counted(self.labels, 'label')}" if self.labels else ""
        return f"{self.target} at {self.confidence:g}{only}{labels}{refused}"


@dataclass(frozen=True)
class Tries:
    """The tries on labels that share rows, in their order."""

    rows: frozenset[str]
    tries: tuple[Try, ...]

    def others(self, now: Try) -> list[Try]:
        """The tries that asked for something else, or the same on other rows."""
        old = [(each, replace(each, schema=each.schema or now.schema)) for each in self.tries]
        return [each for each, known in old if known.asked != now.asked]

    def having(self, now: Try) -> Tries:
        """With this try among them."""
        return Tries(self.rows, (*self.others(now), now))


def tries_beside(labels: Path) -> Path:
    """The file that remembers the tries on a file of labels."""
    return labels.with_name(f"{labels.name}.tries.json")


def read_tries(path: Path, labelled: LabelledStates) -> Tries:
    """The tries on labels that share a row with these; none where there are no such.

    Raises InvalidInputError for a file that cannot be read.
    """
    rows = frozenset(_row_hashes(labelled))
    try:
        told = json.loads(path.read_text(encoding="utf-8"))
        if told["format"] != FORMAT:
            raise ValueError(f"its format is {told['format']!r}")
        known = frozenset(told["rows"])
        tries = [_read_try(each) for each in told["tries"]]
    except FileNotFoundError:
        return Tries(rows, ())
    except (OSError, ValueError, LookupError, TypeError) as error:
        why = f"cannot be read ({error}); it remembers what was fitted on these labels before"
        raise InvalidInputError(str(path), why) from None
    return Tries(rows | known, tuple(tries)) if rows & known else Tries(rows, ())


def _read_try(told: dict[str, Any]) -> Try:
    lists = {name: tuple(value) for name, value in told.items() if isinstance(value, list)}
    return Try(**{**told, **lists})


def write_tries(path: Path, tries: Tries) -> None:
    """Write the file, completely or not at all."""
    body: dict[str, Any] = {
        "format": FORMAT,
        "tries": [asdict(each) for each in tries.tries],
        "rows": sorted(tries.rows),
    }
    write_atomically(path, json.dumps(body, ensure_ascii=False, indent=1))


def warning_about(others: list[Try], now: Try) -> str:
    """What other tries on the same labels mean for this one."""
    risk = min(1.0, sum(1 - each.confidence for each in others) + 1 - now.confidence)
    told = "; ".join(
        str(each)
        + (
            ""
            if now.checkpoint in ("", each.checkpoint)
            else f", asked of {_asked_of(each.checkpoint)}"
        )
        + ("" if each.schema in ("", now.schema) else ", asked in other words")
        for each in others
    )
    return (
        f"these labels were fitted before: {told}. A target, question, wording, checkpoint or set "
        "of labels chosen after looking is a weaker promise: the policy you keep misses its target "
        f"with a probability of up to {risk:.1%}, not {1 - now.confidence:.1%}. Decide on "
        f"{now.target} or another for good reasons, and fit it once, on fresh labels"
    )


def _asked_of(checkpoint: str) -> str:
    """Conditions as ``Conditions.named`` writes them, for people: without their two hashes."""
    parts = checkpoint.rsplit(", ", 7)
    if len(parts) < 8:
        return checkpoint
    name, version, lam, *ways = parts[:-2]
    return f"{name} {version}, λ = {lam} ({', '.join(ways)})"


def rows_hash(labelled: LabelledStates) -> str:
    """The hash of labelled rows in their order, by which a fit proposes cut-offs and tests them."""
    return state_hash(_row_hashes(labelled))[:_HASH]


def _row_hashes(labelled: LabelledStates) -> list[str]:
    return [
        state_hash([state_hash(state), json.dumps(right, sort_keys=True)])[:_HASH]
        for state, right in zip(labelled.states, labelled.labels, strict=True)
    ]
