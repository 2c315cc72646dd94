"""Bodies of the admin endpoints: each a typed model, which is its parser and its JSON schema."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic_core import ErrorDetails

from thisthat.errors import shown
from thisthat.serve.formats.fields import type_fault
from thisthat.serve.problems import Fault, invalid, invalid_at
from thisthat.serve.schemas import Schema

Action = Literal["end", "roll back", "promote"]
Name = Annotated[str, Field(min_length=1, pattern=r"\S")]
Body = TypeVar("Body", bound="AdminBody")


class AdminBody(BaseModel):
    """An object with known fields; null is as good as missing where a field may be missing."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    @classmethod
    def fields(cls) -> list[str]:
        """The fields' names on the wire."""
        return [field.alias or name for name, field in cls.model_fields.items()]

    @classmethod
    def published(cls) -> Schema:
        """What the OpenAPI document publishes."""
        made = cls.model_json_schema()
        properties = {name: _untitled(each) for name, each in made["properties"].items()}
        return {**_untitled(made), "properties": properties}

    def check(self) -> None:
        """Raise Problem (422) for fields that do not belong together."""


class ReloadRequest(AdminBody):
    """Which checkpoint should answer, and with which λ; at least one of the two."""

    model_config = ConfigDict(json_schema_extra={"minProperties": 1})

    checkpoint: Name | None = None
    lam: Annotated[float, Field(ge=0, le=1)] | None = Field(None, alias="lambda")

    def check(self) -> None:
        """See AdminBody."""
        if self.checkpoint is None and self.lam is None:
            raise invalid_at((), "names neither a checkpoint nor a lambda")


class LoopRequest(AdminBody):
    """What to do: end an experiment, roll the champion back, or promote a candidate."""

    do: Action
    experiment: Name | None = None
    version: Name | None = None
    reason: str | None = None

    def check(self) -> None:
        """See AdminBody."""
        if self.do == "end" and self.experiment is None:
            raise invalid_at(("experiment",), "is missing", "missing")


def read_admin(model: type[Body], body: Any) -> Body:
    """The body as a model. Raises Problem (422) with every fault, each at its field."""
    try:
        found = model.model_validate(body)
    except ValidationError as error:
        raise invalid([_fault(model, each) for each in error.errors()]) from None
    found.check()
    return found


def _fault(model: type[AdminBody], error: ErrorDetails) -> Fault:
    at, kind, value = error["loc"], error["type"], error["input"]
    if kind == "extra_forbidden":
        return Fault(at, f"is not known; known are {', '.join(model.fields())}")
    if kind == "missing":
        return Fault(at, "is missing", "missing")
    if kind == "literal_error":
        return Fault(at, f"is {shown(value)}; it must be one of {error['ctx']['expected']}")
    # A whole number may be too large for a float.
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if kind in ("greater_than_equal", "less_than_equal") or (kind == "float_type" and number):
        return Fault(at, f"is {str(value)[:40]}; it must lie in [0, 1]")
    if kind in ("string_too_short", "string_pattern_mismatch"):
        return Fault(at, "is empty")
    if kind in _WANTED:
        return type_fault(at, _WANTED[kind], value)
    return Fault(at, "cannot be read as text")


_WANTED = {"model_type": "an object", "string_type": "a text", "float_type": "a number"}


def _untitled(schema: Schema) -> Schema:
    return {name: each for name, each in schema.items() if name != "title"}
