from dataclasses import dataclass
from enum import Enum
from typing import Annotated, Literal, Optional, TypedDict

import pytest
from pydantic import BaseModel, Field

from thisthat import Boolean, Choice, Decision, Describe, InvalidInputError, Scale, Score
from thisthat.questions import Source, Usage, answer_for
from thisthat.schema import Schema, schema_of


class Queue(Enum):
    BILLING = "billing"
    OTHER = 2


class Plain:
    refund: Annotated[bool, "Does the customer ask for money back?"]
    queue: Queue
    anger: Annotated[int, Scale("calm", "annoyed", "furious")]
    stars: Annotated[float, Scale(1, 5)]
    tone: Literal["polite", "rude"] | None


@dataclass
class Data:
    urgent: bool
    size: Literal[1, 2, 3]


class Model(BaseModel):
    urgent: bool = Field(description="Must it be handled today?")
    route: Annotated[Literal["a", "b"], Describe({"a": "first floor"})]


class Typed(TypedDict):
    ok: bool


def decided(schema: Schema[object], rows: dict[str, list[float]]) -> Decision:
    answers = {name: answer_for(schema.questions[name], p) for name, p in rows.items()}
    return Decision(answers, Source("m", "1", 0.0), Usage(1), 0.0)


def test_a_plain_class_is_a_schema_and_comes_back_as_an_instance() -> None:
    schema = schema_of(Plain)
    assert schema.questions["refund"] == Boolean("Does the customer ask for money back?")
    assert schema.questions["queue"] == Choice(["billing", "OTHER"], "queue?")
    assert schema.questions["anger"] == Score(["calm", "annoyed", "furious"], "anger?")
    assert schema.questions["tone"] == Choice(["polite", "rude"], "tone?", abstain=True)
    decision = decided(
        schema,  # type: ignore[arg-type]
        {
            "refund": [0.2, 0.8],
            "queue": [0.1, 0.9],
            "anger": [0.1, 0.2, 0.7],
            "stars": [0, 0, 0, 0.5, 0.5],
            "tone": [0.2, 0.1, 0.7],
        },
    )
    typed = schema.typed(decision)
    assert isinstance(typed.value, Plain)
    assert typed.value.refund is True
    assert typed.value.queue is Queue.OTHER
    assert typed.value.anger == 2
    assert typed.value.stars == 4.5
    assert typed.value.tone is None
    assert typed["refund"].probabilities["yes"] == 0.8


def test_dataclasses_models_and_typed_dicts_are_schemas_too() -> None:
    data = schema_of(Data)
    value = data.typed(decided(data, {"urgent": [0.9, 0.1], "size": [0, 1, 0]})).value  # type: ignore[arg-type]
    assert value == Data(urgent=False, size=2)
    model = schema_of(Model)
    assert model.questions["urgent"] == Boolean("Must it be handled today?")
    assert model.questions["route"] == Choice({"a": "first floor", "b": None}, "route?")
    built = model.typed(decided(model, {"urgent": [0, 1], "route": [0, 1]})).value  # type: ignore[arg-type]
    assert built == Model(urgent=True, route="b")
    typed = schema_of(Typed)
    assert typed.typed(decided(typed, {"ok": [0, 1]})).value == {"ok": True}  # type: ignore[arg-type]


def test_optional_spelled_the_old_way_abstains_as_well() -> None:
    class Old:
        sure: Optional[bool]  # noqa: UP045

    assert schema_of(Old).questions["sure"] == Boolean("sure?", abstain=True)


def test_fields_that_cannot_be_asked_are_named() -> None:
    class Text:
        summary: str

    class Number:
        count: int

    class Empty:
        pass

    with pytest.raises(
        InvalidInputError, match=r"Text\.summary: is <class 'str'>; a field is bool"
    ):
        schema_of(Text)
    with pytest.raises(InvalidInputError, match=r"Number\.count: is <class 'int'>"):
        schema_of(Number)
    with pytest.raises(InvalidInputError, match="Empty: has no annotated fields"):
        schema_of(Empty)
    with pytest.raises(InvalidInputError, match="Scale: runs from 5 to 1"):
        Scale(5, 1)
