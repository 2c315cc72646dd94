"""The typing front end: a class with bool, Literal, Enum and scaled number fields is a schema.

    class Triage:
        refund: Annotated[bool, "Does the customer ask for money back?"]
        queue: Literal["billing", "shipping", "other"]
        anger: Annotated[int, Scale("calm", "annoyed", "furious")]

Plain classes, dataclasses, pydantic models and typed dicts work. A text in ``Annotated`` (or a
pydantic field's description) is the question; without one it is the field's name in words. A
field that may be None can abstain.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import (
    Annotated,
    Any,
    ClassVar,
    Generic,
    Literal,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

from thisthat.errors import InvalidInputError
from thisthat.questions import (
    Answer,
    Boolean,
    Choice,
    Decision,
    Option,
    Question,
    Score,
    ScoreAnswer,
    Text,
)

T = TypeVar("T")


@dataclass(frozen=True, init=False)
class Scale:
    """The levels of a number field: ``Scale("low", "high")``, or ``Scale(1, 5)`` for whole numbers.

    With level texts the value is the level's index, with two numbers the number itself. An int
    field takes the most probable level, a float field the mean.
    """

    levels: tuple[Text, ...]
    lowest: int

    def __init__(self, *levels: Text | int) -> None:
        if len(levels) == 2 and all(isinstance(level, int) for level in levels):
            low, high = int(levels[0]), int(levels[1])  # type: ignore[arg-type]
            if high < low:
                raise InvalidInputError("Scale", f"runs from {low} to {high}; the first is larger")
            object.__setattr__(self, "levels", tuple(str(n) for n in range(low, high + 1)))
            object.__setattr__(self, "lowest", low)
            return
        object.__setattr__(self, "levels", levels)
        object.__setattr__(self, "lowest", 0)


@dataclass(frozen=True)
class Describe:
    """What the values of a field mean: ``Describe({"billing": "charges and refunds"})``.

    For a bool the keys are True and False.
    """

    meanings: Mapping[Any, Text]


@dataclass(frozen=True, repr=False)
class TypedDecision(Decision, Generic[T]):
    """A decision with its answers as an instance of the caller's class in ``value``."""

    value: T = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        from thisthat.display import fields_line

        return super().__repr__().replace(" ", f" {fields_line(self.value)}: ", 1)


@dataclass(frozen=True, slots=True)
class _Field:
    question: Question
    read: Callable[[Answer], Any]


@dataclass(frozen=True, slots=True)
class Schema(Generic[T]):
    """A class as questions, and the way back from answers to an instance of it."""

    cls: type[T]
    fields: Mapping[str, _Field]

    def __repr__(self) -> str:
        fields = ", ".join(f"{name}: {field.question!r}" for name, field in self.fields.items())
        return f"<Schema {self.cls.__name__} with {fields}>"

    @property
    def questions(self) -> dict[str, Question]:
        """The questions by field name."""
        return {name: field.question for name, field in self.fields.items()}

    def typed(self, decision: Decision) -> TypedDecision[T]:
        """The decision with an instance of the class beside its probabilities."""
        values = {name: field.read(decision[name]) for name, field in self.fields.items()}
        return TypedDecision(**vars(decision), value=_instance(self.cls, values))


def schema_of(cls: type[T]) -> Schema[T]:
    """Read a class as a schema. Raises InvalidInputError naming the field that cannot be asked."""
    try:
        hints = get_type_hints(cls, include_extras=True)
    except NameError as error:
        raise InvalidInputError(cls.__name__, f"has an unknown annotation: {error}") from error
    fields = {
        name: _field(f"{cls.__name__}.{name}", name, hint, _model_description(cls, name))
        for name, hint in hints.items()
        if not name.startswith("_") and get_origin(hint) is not ClassVar
    }
    if not fields:
        raise InvalidInputError(cls.__name__, "has no annotated fields to ask")
    return Schema(cls, fields)


def _field(where: str, name: str, hint: Any, description: str | None) -> _Field:
    hint, extras = _unwrap(hint)
    hint, optional = _without_none(hint)
    inner, inner_extras = _unwrap(hint)
    extras = (*inner_extras, *extras)
    text = next((extra for extra in extras if isinstance(extra, str)), None)
    instructions = text or description or f"{name.replace('_', ' ')}?"
    scale = next((extra for extra in extras if isinstance(extra, Scale)), None)
    meanings = next((extra.meanings for extra in extras if isinstance(extra, Describe)), {})
    try:
        if inner is bool:
            return _boolean(instructions, meanings, optional)
        if get_origin(inner) is Literal:
            return _choice(instructions, {str(v): v for v in get_args(inner)}, meanings, optional)
        if isinstance(inner, type) and issubclass(inner, Enum):
            named = {m.value if isinstance(m.value, str) else m.name: m for m in inner}
            return _choice(instructions, named, meanings, optional)
        if inner in (int, float) and scale is not None:
            return _score(instructions, scale, inner, optional)
    except InvalidInputError as error:
        raise error.under(where) from None
    raise InvalidInputError(
        where, f"is {hint!r}; a field is bool, Literal, Enum or Annotated[int, Scale(…)]"
    )


def _unwrap(hint: Any) -> tuple[Any, tuple[Any, ...]]:
    if get_origin(hint) is Annotated:
        inner, *extras = get_args(hint)
        return inner, tuple(extras)
    return hint, ()


def _without_none(hint: Any) -> tuple[Any, bool]:
    if get_origin(hint) not in (Union, types.UnionType):
        return hint, False
    members = [member for member in get_args(hint) if member is not type(None)]
    if len(members) == 1 and len(get_args(hint)) == 2:
        return members[0], True
    return hint, False


def _boolean(instructions: str, meanings: Mapping[Any, Text], optional: bool) -> _Field:
    question = Boolean(
        instructions, true=meanings.get(True), false=meanings.get(False), abstain=optional
    )
    return _Field(question, lambda answer: getattr(answer, "best", None))


def _choice(
    instructions: str, values: Mapping[str, Any], meanings: Mapping[Any, Text], optional: bool
) -> _Field:
    options = [Option(name, meanings.get(value)) for name, value in values.items()]
    question = Choice(options, instructions, abstain=optional)
    return _Field(question, lambda answer: values.get(answer.best_name))


def _score(instructions: str, scale: Scale, number: type, optional: bool) -> _Field:
    def read(answer: Answer) -> int | float | None:
        if not isinstance(answer, ScoreAnswer) or answer.best is None:
            return None
        return scale.lowest + (answer.best if number is int else answer.expected)

    return _Field(Score(scale.levels, instructions, abstain=optional), read)


def _model_description(cls: type, name: str) -> str | None:
    model_field = getattr(cls, "model_fields", {}).get(name)
    description = getattr(model_field, "description", None)
    return description if isinstance(description, str) else None


def _instance(cls: type[T], values: dict[str, Any]) -> T:
    if cls.__init__ is not object.__init__ or issubclass(cls, dict):
        return cls(**values)
    instance = cls()
    for name, value in values.items():
        setattr(instance, name, value)
    return instance
