"""thisthat: the smart if-statement.

import thisthat

decider = thisthat.open()
if decider.ask(state, "Does the customer say that they were charged twice?") > 0.7:
    ...
"""

from typing import TYPE_CHECKING, Any

from thisthat import _moved
from thisthat.decide.decider import Decider
from thisthat.decide.opening import open_decider as open
from thisthat.errors import (
    CheckpointError,
    FetchError,
    InvalidInputError,
    MissingExtraError,
    ServerError,
    StateTooLongError,
    ThisThatError,
)
from thisthat.questions import (
    Answer,
    Boolean,
    BooleanAnswer,
    Choice,
    ChoiceAnswer,
    Cut,
    Decision,
    Option,
    Score,
    ScoreAnswer,
    Source,
    Usage,
)
from thisthat.questions_json import questions_from_json
from thisthat.remote.connecting import connect
from thisthat.schema import Describe, Scale, TypedDecision

if TYPE_CHECKING:
    from thisthat.decide.policy import Policy
    from thisthat.scale.decider import BatchDecider

__version__ = "0.6.0"

_moved.install()

__all__ = [
    "Answer",
    "BatchDecider",
    "Boolean",
    "BooleanAnswer",
    "CheckpointError",
    "Choice",
    "ChoiceAnswer",
    "Cut",
    "Decider",
    "Decision",
    "Describe",
    "FetchError",
    "InvalidInputError",
    "MissingExtraError",
    "Option",
    "Policy",
    "Scale",
    "Score",
    "ScoreAnswer",
    "ServerError",
    "Source",
    "StateTooLongError",
    "ThisThatError",
    "TypedDecision",
    "Usage",
    "connect",
    "open",
    "questions_from_json",
]


def __getattr__(name: str) -> Any:
    """``Policy`` and ``BatchDecider`` on first use: policies need pydantic, a decision does not."""
    if name == "Policy":
        from thisthat.decide.policy import Policy

        return Policy
    if name == "BatchDecider":
        from thisthat.scale.decider import BatchDecider

        return BatchDecider
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
