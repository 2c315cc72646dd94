"""What a caller declares (Choice, Boolean, Score) and gets back (Answer, Decision).

Plain data: nothing here knows about wording, tokens or weights, and nothing heavy is imported.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from datetime import date
from functools import total_ordering
from typing import Any, ClassVar, Literal, TypeAlias

from thisthat.errors import InvalidInputError, UnknownQuestionError, shown

JSONValue: TypeAlias = (
    "str | int | float | bool | Mapping[str, JSONValue] | Sequence[JSONValue] | None"
)
Text: TypeAlias = "str | Mapping[str, JSONValue] | Sequence[JSONValue]"
Kind: TypeAlias = Literal["choice", "boolean", "score"]
Name: TypeAlias = "str | bool | int"

MOST_OPTIONS = 255
MOST_DEPTH = 64
ABSTAIN = "none of these"
_AT_ONCE = 1_000
_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode
_UNREADABLE = re.compile("[\0\ud800-\udfff]")


def check_text(value: object, field: str) -> None:
    """Raise unless ``value`` is text or JSON that a tokenizer can read without loss."""
    if isinstance(value, str):
        check_characters(value, field)
    elif isinstance(value, Mapping) or (
        isinstance(value, Sequence) and not isinstance(value, (bytes, bytearray))
    ):
        _check_json(value, field)
    else:
        raise InvalidInputError(
            field, f"must be text, a JSON object or a JSON array, not {type(value).__name__}"
        )


def plain(text: str) -> str:
    """A text apart from case and blanks: two that are equal so are easily mistaken."""
    return " ".join(text.split()).casefold()


def check_many(states: object, field: str = "states") -> None:
    """Raise for one state where many are taken: a text would be asked about letter by letter."""
    if isinstance(states, (str, bytes, Mapping)):
        kind = "object" if isinstance(states, Mapping) else "text"
        raise InvalidInputError(field, f"is one {kind}; give a list")


def check_characters(text: str, field: str) -> None:
    """Raise for a character that a tokenizer cannot read without loss."""
    message = _unreadable(text)
    if message is not None:
        raise InvalidInputError(field, message)


def _unreadable(text: str) -> str | None:
    # Looking for one character in ASCII text takes a hundredth of the search.
    found = None if text.isascii() and "\0" not in text else _UNREADABLE.search(text)
    if found is None:
        return None
    character, position = found.group(), found.start()
    if character == "\0":
        return f"has a NUL character at position {position}"
    return (
        f"has a lone surrogate U+{ord(character):04X} at position {position}; "
        "it cannot be written as UTF-8"
    )


def _check_json(value: object, field: str) -> None:
    found = _fault_in(value, 0)
    if found is not None:
        steps, message = found
        raise InvalidInputError(field + "".join(reversed(steps)), message)


def _fault_in(value: object, depth: int) -> tuple[list[str], str] | None:
    """What JSON cannot hold in ``value``, and the steps to it, the last one first.

    The path is put together only for a fault: long keys would make that of every value long.
    """
    if depth > MOST_DEPTH:
        return [], f"is nested deeper than {MOST_DEPTH} levels"
    if isinstance(value, str):
        message = _unreadable(value)
        return None if message is None else ([], message)
    if value is None or isinstance(value, (bool, int)):
        return None
    if isinstance(value, float):
        return None if math.isfinite(value) else ([], f"has {value}, which JSON cannot hold")
    if isinstance(value, Mapping):
        for key, inner in value.items():
            if not isinstance(key, str):
                return [], f"has the key {shown(key)}; the keys of a JSON object are text"
            message = _unreadable(key)
            if message is not None:
                return [], message
            found = _fault_in(inner, depth + 1)
            if found is not None:
                found[0].append(f".{key}")
                return found
        return None
    if isinstance(value, Sequence) and not isinstance(value, (bytes, bytearray)):
        for index, inner in enumerate(value):
            found = _fault_in(inner, depth + 1)
            if found is not None:
                found[0].append(f"[{index}]")
                return found
        return None
    return [], f"has a {type(value).__name__}, which JSON cannot hold"


def _check_name(name: object, field: str) -> None:
    if not isinstance(name, str):
        raise InvalidInputError(field, f"must be text, not {type(name).__name__}")
    check_characters(name, field)
    if not name.strip():
        raise InvalidInputError(field, "is empty")


def _check_optional_text(value: object, field: str) -> None:
    if value is not None:
        check_text(value, field)


def _is_blank(value: Text | None) -> bool:
    return not (value.strip() if isinstance(value, str) else value)


@dataclass(frozen=True, slots=True)
class Option:
    """One thing the answer can be: a name, and a description of when it is the one."""

    name: str
    description: Text | None = None

    def __repr__(self) -> str:
        described = "" if self.description is None else f", {self.description!r}"
        return f"Option({self.name!r}{described})"


@dataclass(frozen=True, slots=True)
class Choice:
    """Which one of 1 to 255 named options? A single option is certain.

    ``options`` takes names, ``Option`` objects, ``(name, description)`` pairs, or one mapping of
    names to descriptions. ``abstain`` adds an option for "none of these": a name, or True for
    the usual one. ``declared``, of every kind of question, is what its answer ranges over.
    Raises InvalidInputError for no options, too many, empty or repeated names.
    """

    options: tuple[Option, ...]
    instructions: Text | None = None
    abstain: Option | None = None
    declared: tuple[Option, ...] = field(init=False, repr=False, compare=False)
    kind: ClassVar[Kind] = "choice"

    def __init__(
        self,
        options: Mapping[str, Text | None] | Sequence[Option | str | tuple[str, Text | None]],
        instructions: Text | None = None,
        abstain: Option | str | bool | None = None,
    ) -> None:
        if isinstance(options, (str, bytes)):
            raise InvalidInputError("options", "must be a list or an object of names, not one text")
        pairs = list(options.items()) if isinstance(options, Mapping) else list(options)
        _check_count(len(pairs), "options", _as_abstain(abstain))
        _fill(self, instructions, abstain, options=tuple(_as_option(pair) for pair in pairs))

    @property
    def names(self) -> tuple[str, ...]:
        """The names an answer ranges over, in declared order, the abstain option last."""
        return tuple(option.name for option in self.declared)

    def __repr__(self) -> str:
        from thisthat.display import question_line

        return question_line(self)


@dataclass(frozen=True, slots=True)
class Boolean:
    """Is it so? ``true`` and ``false`` may describe what each answer means.

    Raises InvalidInputError for empty instructions that no description makes up for.
    """

    instructions: Text | None = None
    true: Text | None = None
    false: Text | None = None
    abstain: Option | None = None
    declared: tuple[Option, ...] = field(init=False, repr=False, compare=False)
    kind: ClassVar[Kind] = "boolean"

    def __init__(
        self,
        instructions: Text | None = None,
        true: Text | None = None,
        false: Text | None = None,
        abstain: Option | str | bool | None = None,
    ) -> None:
        _fill(self, instructions, abstain, true=true, false=false)

    def __repr__(self) -> str:
        from thisthat.display import question_line

        return question_line(self)


@dataclass(frozen=True, slots=True)
class Score:
    """How much, on 1 to 255 ordered levels? Level i of the list counts as the number i.

    Raises InvalidInputError for no levels, too many, empty or repeated ones.
    """

    levels: tuple[Text, ...]
    instructions: Text | None = None
    abstain: Option | None = None
    declared: tuple[Option, ...] = field(init=False, repr=False, compare=False)
    kind: ClassVar[Kind] = "score"

    def __init__(
        self,
        levels: Sequence[Text],
        instructions: Text | None = None,
        abstain: Option | str | bool | None = None,
    ) -> None:
        if isinstance(levels, (str, bytes)):
            raise InvalidInputError("levels", "must be a list of level texts, not one text")
        if isinstance(levels, int):
            raise InvalidInputError("levels", f"must be a list of level texts, not {levels}")
        _check_count(len(levels), "levels", _as_abstain(abstain))
        _fill(self, instructions, abstain, levels=tuple(levels))

    def __repr__(self) -> str:
        from thisthat.display import question_line

        return question_line(self)


Question: TypeAlias = "Choice | Boolean | Score"


def _fill(
    question: Question, instructions: Text | None, abstain: Option | str | bool | None, **own: Any
) -> None:
    """Set the fields of a frozen question, and check it."""
    given = {"instructions": instructions, "abstain": _as_abstain(abstain), **own}
    for name, value in given.items():
        object.__setattr__(question, name, value)
    object.__setattr__(question, "declared", _declared(question))
    _check_question(question)


def _as_option(value: Option | str | tuple[str, Text | None]) -> Option:
    if isinstance(value, Option):
        return value
    if isinstance(value, str):
        return Option(value)
    if isinstance(value, tuple) and len(value) == 2:
        return Option(value[0], value[1])
    raise InvalidInputError(
        "options",
        f"has {shown(value)}; an option is a name, a (name, description) pair or an Option",
    )


def _as_abstain(value: Option | str | bool | None) -> Option | None:
    if value is None or value is False:
        return None
    if value is True:
        return Option(ABSTAIN)
    return value if isinstance(value, Option) else Option(value)


def _check_question(question: Question) -> None:
    _check_optional_text(question.instructions, "instructions")
    if isinstance(question, Choice):
        for index, option in enumerate(question.options):
            _check_name(option.name, f"options[{index}].name")
            _check_optional_text(option.description, f"options[{index}].description")
    elif isinstance(question, Boolean):
        _check_optional_text(question.true, "true")
        _check_optional_text(question.false, "false")
        described = not (_is_blank(question.true) and _is_blank(question.false))
        if question.instructions is not None and _is_blank(question.instructions) and not described:
            raise InvalidInputError("instructions", "is empty")
    else:
        for index, level in enumerate(question.levels):
            check_text(level, f"levels[{index}]")
            if isinstance(level, str) and not level.strip():
                raise InvalidInputError(f"levels[{index}]", "is empty")
            earlier = question.levels.index(level)
            if earlier != index:
                raise InvalidInputError(f"levels[{index}]", f"is the same as level {earlier}")
    if question.abstain is not None:
        _check_name(question.abstain.name, "abstain.name")
        _check_optional_text(question.abstain.description, "abstain.description")
    seen: dict[str, int] = {}
    for index, option in enumerate(question.declared):
        if option.name in seen:
            raise InvalidInputError(
                f"options[{index}].name",
                f"{shown(option.name)} is already the name of option {seen[option.name]}",
            )
        seen[option.name] = index


def _check_count(count: int, field: str, abstain: Option | None) -> None:
    most = MOST_OPTIONS - (abstain is not None)
    if not 1 <= count <= most:
        beside = " beside the abstain option" if abstain is not None else ""
        raise InvalidInputError(field, f"{count} given; there must be 1 to {most}{beside}")


def _declared(question: Question) -> tuple[Option, ...]:
    """The options a distribution ranges over, in order; booleans are no, yes; abstain is last."""
    if isinstance(question, Choice):
        options = question.options
    elif isinstance(question, Boolean):
        options = (Option("no", question.false), Option("yes", question.true))
    else:
        options = tuple(Option(str(i), level) for i, level in enumerate(question.levels))
    return options if question.abstain is None else (*options, question.abstain)


Action: TypeAlias = Literal["act", "abstain", "escalate"]
"""What a policy says to do."""


@dataclass(frozen=True)
class PolicyOutcome:
    """What a policy makes of an answer, and why.

    ``action`` is "act" (take ``option``), "abstain" (do nothing) or "escalate" (somebody else
    decides). ``options`` is the prediction set, ``coverage`` how often it holds the right option,
    ``probabilities`` the recalibrated distribution, ``level`` a score's calibrated mean level.
    ``forced`` names what the policy was not fitted for, when it was applied all the same.
    """

    action: Action
    option: str | None
    reason: str
    policy: str
    options: tuple[str, ...] | None = None
    coverage: float | None = None
    probabilities: Mapping[str, float] | None = None
    level: float | None = None
    forced: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False, repr=False)
class Answer:
    """A distribution over exactly the declared options of one question.

    ``probabilities`` is keyed by option name (``"no"``, ``"yes"`` for a boolean, ``"0"``,
    ``"1"``, … for a score), in declared order, and sums to 1. ``outcome`` is there when a policy
    was given.
    """

    probabilities: Mapping[str, float]
    abstain: str | None = None
    outcome: PolicyOutcome | None = field(default=None, kw_only=True)
    kind: ClassVar[Kind]

    @property
    def best_name(self) -> str:
        """The name of the most probable option; the first of them on a tie."""
        return max(self.probabilities, key=self.probabilities.__getitem__)

    @property
    def abstained(self) -> bool:
        """True when the abstain option is the most probable one."""
        return self.abstain is not None and self.best_name == self.abstain

    @property
    def entropy(self) -> float:
        """Shannon entropy in nats: 0 is certain, ln(n) is a shrug."""
        return -sum(p * math.log(p) for p in self.probabilities.values() if p > 0) + 0.0

    @property
    def confidence(self) -> float:
        """How far the best option stands above chance: (p_max - 1/n) / (1 - 1/n); 1 for n = 1."""
        count = len(self.probabilities)
        if count == 1:
            return 1.0
        return (self.probabilities[self.best_name] - 1 / count) / (1 - 1 / count)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, (str, int)):
            # It would never be equal, and an if-statement would not tell.
            raise TypeError("an answer is a distribution and equals no option: compare answer.best")
        if type(other) is not type(self):
            return NotImplemented
        return all(getattr(self, part.name) == getattr(other, part.name) for part in fields(self))

    def __repr__(self) -> str:
        from thisthat.display import answer_line

        return answer_line(self)

    def _repr_html_(self) -> str:
        from thisthat.display import answer_html

        return answer_html(self)


class _Unordered(Answer):
    """An answer of which no one number stands for all, so that nothing is more or less."""

    _instead: ClassVar[str]

    def _refuse(self, other: object) -> bool:
        raise TypeError(
            f"an answer is a distribution, not more or less than anything: {self._instead}"
        )

    __lt__ = __le__ = __gt__ = __ge__ = _refuse


@dataclass(frozen=True, eq=False, repr=False)
class ChoiceAnswer(_Unordered):
    """The answer to a Choice."""

    kind: ClassVar[Kind] = "choice"
    _instead = "compare the probability of an option, as in answer.probabilities[name] > 0.9"

    @property
    def best(self) -> str | None:
        """The best option's name, or None when the answer abstains."""
        return None if self.abstained else self.best_name


@total_ordering
@dataclass(frozen=True, eq=False, repr=False)
class BooleanAnswer(Answer):
    """The answer to a Boolean. It compares as its probability of yes: ``answer > 0.9``."""

    kind: ClassVar[Kind] = "boolean"

    @property
    def yes(self) -> float:
        """The probability of yes."""
        return self.probabilities["yes"]

    @property
    def best(self) -> bool | None:
        """True, False, or None when the answer abstains."""
        return None if self.abstained else self.best_name == "yes"

    def __float__(self) -> float:
        return self.yes

    def __bool__(self) -> bool:
        raise TypeError(
            "a probability is not a yes: compare it with a threshold, as in answer > 0.9, "
            "or take answer.best"
        )

    def __eq__(self, other: object) -> bool:
        if isinstance(other, BooleanAnswer):
            return (self.probabilities, self.abstain) == (other.probabilities, other.abstain)
        if isinstance(other, (int, float)) and not isinstance(other, bool):
            return self.yes == other
        return super().__eq__(other)

    def __lt__(self, other: BooleanAnswer | float) -> bool:
        if isinstance(other, (BooleanAnswer, int, float)):
            return self.yes < float(other)
        return NotImplemented

    def __hash__(self) -> int:
        return hash((tuple(self.probabilities.items()), self.abstain))


@dataclass(frozen=True, eq=False, repr=False)
class ScoreAnswer(_Unordered):
    """The answer to a Score. ``legend`` holds the level texts in order."""

    legend: tuple[Text, ...] = field(default=())
    kind: ClassVar[Kind] = "score"
    _instead = "compare answer.expected, the mean level, or answer.best"

    @property
    def levels(self) -> tuple[float, ...]:
        """The probability of each level given that the answer does not abstain."""
        mass = [p for name, p in self.probabilities.items() if name != self.abstain]
        total = sum(mass)
        return tuple(p / total if total else 1 / len(mass) for p in mass)

    @property
    def best(self) -> int | None:
        """The most probable level, or None when the answer abstains."""
        return None if self.abstained else int(self.best_name)

    @property
    def expected(self) -> float:
        """The mean level, given that the answer does not abstain."""
        return sum(level * p for level, p in enumerate(self.levels))

    @property
    def confidence(self) -> float:
        """How tightly the levels gather around the mode, as the wire format defines it.

        ``max(0, 1 - sum_i p_i |i - mode| / D)``, with D the mean distance to the middle level.
        """
        levels = self.levels
        count = len(levels)
        if count == 1:
            return 1.0
        mode = max(range(count), key=levels.__getitem__)
        spread = sum(p * abs(level - mode) for level, p in enumerate(levels))
        width = sum(abs(level - (count - 1) / 2) for level in range(count)) / count
        return max(0.0, 1 - spread / width)


def answer_for(question: Question, probabilities: Sequence[float]) -> Answer:
    """The answer object for one distribution in declared order.

    Raises InvalidInputError when the count is off or the numbers are no distribution.
    """
    options = question.declared
    if len(probabilities) != len(options):
        raise InvalidInputError(
            "probabilities", f"{len(probabilities)} given for {len(options)} options"
        )
    total = math.fsum(probabilities)
    if not math.isclose(total, 1, abs_tol=1e-6) or min(probabilities) < 0:
        raise InvalidInputError("probabilities", f"are no distribution (sum {total!r})")
    by_name = {option.name: float(p) for option, p in zip(options, probabilities, strict=True)}
    abstain = question.abstain.name if question.abstain else None
    if isinstance(question, Choice):
        return ChoiceAnswer(by_name, abstain)
    if isinstance(question, Boolean):
        return BooleanAnswer(by_name, abstain)
    return ScoreAnswer(by_name, abstain, question.levels)


@dataclass(frozen=True, slots=True)
class Source:
    """Which weights answered; ``weights`` is their hash.

    ``released`` is their date where it is known here; it does not tell sources apart.
    """

    name: str
    version: str
    lam: float
    weights: str | None = None
    released: date | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Cut:
    """What was left out of a state, at the caller's request."""

    keep: Literal["head", "tail", "ends"]
    state_tokens: int
    kept_tokens: int


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one decision. Nothing is ever generated, so ``output_tokens`` is 0.

    ``extra_tokens`` are those of ``input_tokens`` that averaging over orders and looking for
    evidence added.
    """

    input_tokens: int
    cached_tokens: int = 0
    output_tokens: Literal[0] = 0
    extra_tokens: int = 0


@dataclass(frozen=True, slots=True)
class Support:
    """One part of a state, and how far an answer rests on it.

    ``where`` is a range of characters or the path of a JSON field. When this part alone is left
    out, ``moved`` is the share of all probability that changes place (0 to 1), ``fall`` is how much
    the best option loses (negative: it gains), and ``best_without`` is the best option then.
    """

    where: str
    text: str
    moved: float
    fall: float
    best_without: str


@dataclass(frozen=True, repr=False)
class Decision:
    """The answers about one state, by question name, and how they were obtained.

    ``evidence`` is there when it was asked for: by question name, the parts of the state, the one
    that the answer rests on most first.
    """

    answers: Mapping[str, Answer]
    source: Source
    usage: Usage
    seconds: float
    cut: Cut | None = None
    evidence: Mapping[str, tuple[Support, ...]] | None = None

    def __getitem__(self, name: str) -> Answer:
        if name not in self.answers:
            raise UnknownQuestionError(name, self.answers)
        return self.answers[name]

    def __repr__(self) -> str:
        from thisthat.display import decision_line

        return decision_line(self)

    def _repr_html_(self) -> str:
        from thisthat.display import decision_html

        return decision_html(self)

    def as_dict(self) -> dict[str, Any]:
        """The decision as JSON-ready data."""
        record: dict[str, Any] = {
            "answers": {name: _answer_dict(answer) for name, answer in self.answers.items()},
            "checkpoint": self.source.name,
            "version": self.source.version,
            "lambda": self.source.lam,
            "usage": asdict(self.usage),
            "seconds": self.seconds,
            "cut": None if self.cut is None else asdict(self.cut),
        }
        if self.evidence is not None:
            record["evidence"] = {
                name: [asdict(support) for support in parts]
                for name, parts in self.evidence.items()
            }
        return record


def _answer_dict(answer: Answer) -> dict[str, Any]:
    record: dict[str, Any] = {
        "type": answer.kind,
        "best": getattr(answer, "best", None),
        "probabilities": dict(answer.probabilities),
        "confidence": answer.confidence,
        "entropy": answer.entropy,
    }
    if isinstance(answer, ScoreAnswer):
        record["expected"] = answer.expected
    if answer.abstain is not None:
        record["abstained"] = answer.abstained
    if answer.outcome is not None:
        record["outcome"] = {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in asdict(answer.outcome).items()
        }
    return record


def compact_json(value: JSONValue) -> str:
    """JSON text on one line with the default separators and no ASCII escapes."""
    # Part by part: a single call of the encoder would hold the interpreter for as long as it takes.
    if isinstance(value, dict) and (len(value) > _AT_ONCE or _has_inner(value.values())):
        members = (f"{compact_json(key)}: {compact_json(each)}" for key, each in value.items())
        return "{" + ", ".join(members) + "}"
    if isinstance(value, list) and (len(value) > _AT_ONCE or _has_inner(value)):
        return "[" + ", ".join(map(compact_json, value)) + "]"
    return _encode(value)


def _has_inner(values: Iterable[JSONValue]) -> bool:
    return any(isinstance(each, (dict, list)) for each in values)
