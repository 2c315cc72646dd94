"""One model for the parser and the published schema of each admin body."""

from typing import Any

import jsonschema
import pytest

from thisthat.serve.formats.admin import AdminBody, LoopRequest, ReloadRequest, read_admin
from thisthat.serve.problems import Problem

GOOD: list[tuple[type[AdminBody], Any]] = [
    (ReloadRequest, {"lambda": 1}),
    (ReloadRequest, {"lambda": 0.5, "checkpoint": "default"}),
    (ReloadRequest, {"checkpoint": "default", "lambda": None}),
    (LoopRequest, {"do": "roll back"}),
    (LoopRequest, {"do": "promote", "version": "two", "reason": ""}),
    (LoopRequest, {"do": "end", "experiment": "canary-1", "reason": None}),
]
BAD: list[tuple[type[AdminBody], Any, str]] = [
    (ReloadRequest, [], "body: must be an object, not list"),
    (ReloadRequest, {}, "body: names neither a checkpoint nor a lambda"),
    (ReloadRequest, {"lambda": 2}, "lambda: is 2; it must lie in [0, 1]"),
    (ReloadRequest, {"lambda": float("inf")}, "lambda: is inf; it must lie in [0, 1]"),
    (ReloadRequest, {"lambda": True}, "lambda: must be a number, not bool"),
    (ReloadRequest, {"lambda": "1"}, "lambda: must be a number, not str"),
    (ReloadRequest, {"checkpoint": 1}, "checkpoint: must be a text, not int"),
    (ReloadRequest, {"checkpoint": " "}, "checkpoint: is empty"),
    (ReloadRequest, {"lam": 1}, "lam: is not known; known are checkpoint, lambda"),
    (LoopRequest, {}, "do: is missing"),
    (LoopRequest, {"do": "dance"}, "do: is 'dance'; it must be one of 'end', 'roll back' or"),
    (LoopRequest, {"do": None}, "do: is None; it must be one of"),
    (LoopRequest, {"do": "roll back", "reason": 1}, "reason: must be a text, not int"),
    (LoopRequest, {"do": "promote", "version": ""}, "version: is empty"),
]


@pytest.mark.parametrize(("model", "body"), GOOD)
def test_what_the_schema_allows_is_read(model: type[AdminBody], body: Any) -> None:
    jsonschema.validate(body, model.published())
    read = read_admin(model, body).model_dump(by_alias=True, exclude_none=True)
    assert read == {name: value for name, value in body.items() if value is not None}


@pytest.mark.parametrize(("model", "body", "said"), BAD)
def test_what_the_schema_refuses_is_a_422_that_names_the_field(
    model: type[AdminBody], body: Any, said: str
) -> None:
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(body, model.published())
    with pytest.raises(Problem) as caught:
        read_admin(model, body)
    assert caught.value.status == 422
    assert caught.value.message.startswith(said)


def test_every_fault_is_named_at_once() -> None:
    with pytest.raises(Problem) as caught:
        read_admin(ReloadRequest, {"x": 1, "checkpoint": "", "lambda": -1})
    assert [fault.at for fault in caught.value.faults] == [("checkpoint",), ("lambda",), ("x",)]


@pytest.mark.parametrize(
    ("body", "at"),
    [({"do": "end"}, ("experiment",)), ({"do": "end", "experiment": "\ud800"}, ("experiment",))],
)
def test_what_no_schema_says_is_refused_at_its_field(body: Any, at: tuple[str]) -> None:
    with pytest.raises(Problem) as caught:
        read_admin(LoopRequest, body)
    assert caught.value.faults[0].at == at


def test_a_whole_number_too_large_for_a_float_is_a_number() -> None:
    with pytest.raises(Problem, match="is 1000"):
        read_admin(ReloadRequest, {"lambda": 10**400})
