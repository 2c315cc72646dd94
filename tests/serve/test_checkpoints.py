"""Switching the checkpoint keeps nothing of the one before."""

import weakref
from typing import Any

from tests.serve.support import opened, post, service_for
from thisthat.decide.decider import Decider


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
