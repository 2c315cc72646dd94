"""What is loaded, and how much of what was loaded before may stay."""

from __future__ import annotations

import gc
import threading
import weakref
from typing import Any

import pytest

from tests.path_engine import path_decider
from tests.serve.page.live import opened as live_opened
from tests.serve.support import REQUEST, opened, post, service_for
from thisthat.decide.decider import Decider
from thisthat.errors import CheckpointError, InvalidInputError
from thisthat.serve import checkpoints
from thisthat.serve.checkpoints import MOST_LEFT, Checkpoints
from thisthat.serve.settings import MOST_ALSO, Settings


def served(**settings: float) -> Checkpoints:
    found = Checkpoints(lambda *_: path_decider(), Settings(**settings))  # type: ignore[arg-type]
    found.load("default", None)
    return found


def test_old_deciders_in_use_hold_up_a_change_and_then_refuse_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(checkpoints, "_LOOK_SECONDS", 0.01)
    found = served(deadline_seconds=0.05)
    in_use: list[Decider] = []
    for _ in range(MOST_LEFT + 1):
        in_use.append(found.main())
        found.load("default", None)
    answering = found.main()
    with pytest.raises(CheckpointError, match="requests still wait"):
        found.load("default", None)
    assert found.main() is answering
    in_use.pop()
    found.load("default", None)
    assert found.main() is not answering


def test_a_change_waits_for_the_requests_of_earlier_checkpoints(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = served()
    in_use: list[Decider] = []
    for _ in range(MOST_LEFT + 1):
        in_use.append(found.main())
        found.load("default", None)
    answering = found.main()
    monkeypatch.setattr(checkpoints, "_LOOK_SECONDS", 0.01)
    answered = threading.Timer(0.1, in_use.clear)
    answered.start()
    found.load("default", None)
    assert not in_use
    assert found.main() is not answering


def test_switching_back_and_forth_counts_what_answers_as_in_use_once() -> None:
    found = served()
    first = found.main()
    second = path_decider()
    for _ in range(5):
        found.use("default", second)
        found.use("default", first)
    gc.collect()
    found.load("default", None)


def test_four_changes_of_lambda_leave_one_model() -> None:
    made: list[weakref.ref[Decider]] = []

    def open_decider(ref: str, lam: float | None) -> Decider:
        decider: Any = opened(ref, lam)
        decider.engine.itself = decider  # as engines stand in circles with what they read
        made.append(weakref.ref(decider))
        return decider

    service = service_for(open_decider, admin_keys=("boss",))
    for lam in (0.1, 0.2, 0.3, 0.4):
        admin = {"authorization": "Bearer boss"}
        answered = post(service, "/admin/reload", {"lambda": lam}, headers=admin)
        assert answered.status_code == 200
    assert len(made) == 5
    assert [each() for each in made if each() is not None] == [service.checkpoints.main()]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (("broken",), "--also-checkpoint broken: broken: the tensor x is missing"),
        (("x=broken",), "--also-checkpoint x=broken: broken: the tensor x is missing"),
        (("default",), "default: 'paths' is the name of another one here; .* base=default"),
        (("a", "a"), "--also-checkpoint a: 'a' is the name of another one here; .* base=a"),
        (("a", "a=b"), "--also-checkpoint a=b: 'a' is the name of another one here; .* base=b"),
        (("base=a", "base=b"), "'base' is the name of another one here; .* other=b"),
        (("default=b",), "'default' is the name of another one"),
        (("mine=b",), "'mine' is the name of another one"),
    ],
)
def test_another_checkpoint_opens_and_has_a_name_of_its_own(
    given: tuple[str, ...], said: str
) -> None:
    with pytest.raises(CheckpointError, match=said):
        service_for(also_checkpoints=given, aliases=("mine",))


def test_so_many_other_checkpoints_are_held_and_no_more() -> None:
    held = tuple(f"n{number}" for number in range(MOST_ALSO))
    assert list(service_for(also_checkpoints=held).checkpoints.others()) == list(held)
    with pytest.raises(InvalidInputError, match="also-checkpoint: is given 5 times; 4 at most"):
        Settings(also_checkpoints=(*held, "more"))


def test_a_reload_keeps_the_other_checkpoints_as_they_are() -> None:
    asked: list[str] = []

    def open_decider(ref: str, lam: float | None) -> Decider:
        asked.append(ref)
        return opened(ref, lam)

    service = service_for(open_decider, also_checkpoints=("worlds",), admin_keys=("boss",))
    other = service.checkpoints.find("worlds")
    admin = {"authorization": "Bearer boss"}
    body = {"checkpoint": "next"}
    assert post(service, "/admin/reload", body, headers=admin).status_code == 200
    assert (service.checkpoints.find("worlds"), asked) == (other, ["default", "worlds", "next"])
    refused = post(service, "/admin/reload", {"checkpoint": "worlds"}, headers=admin)
    assert refused.status_code == 409
    assert "another checkpoint is called 'worlds' here" in refused.text
    assert service.checkpoints.current().name == "next"


def test_another_checkpoint_answers_as_it_would_alone() -> None:
    service = service_for(live_opened, also_checkpoints=("worlds",))
    body = {**REQUEST, "model": "worlds"}
    answers = post(service, "/v1/systemone", body).json()["answers"]
    alone = service_for(lambda ref, lam: live_opened("worlds", lam))
    assert answers == post(alone, "/v1/systemone", REQUEST).json()["answers"]
    assert answers != post(service, "/v1/systemone", REQUEST).json()["answers"]
