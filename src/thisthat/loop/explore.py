"""Exploring near a policy's cut-off: some decisions that it would act on go to a person instead.

Acting where the policy would not could break its guarantee, so that is never done; escalating where
it would act cannot. What the person says shows whether acting would have been right, and the chance
is on record.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from thisthat.audit.beside import RequestId
from thisthat.audit.played import is_played
from thisthat.decide.options import DecideOptions
from thisthat.decide.policy import Policy
from thisthat.errors import InvalidInputError
from thisthat.identity import state_hash
from thisthat.loop.assignment import place
from thisthat.loop.assignment_log import EXPLORATION, Assigned, explored_arm
from thisthat.questions import Decision, Question, Text


@dataclass(frozen=True, slots=True)
class Exploration:
    """Escalates a share ``epsilon`` of what a policy acts on within ``near`` above its cut-off."""

    epsilon: float
    near: float = 0.05

    def __post_init__(self) -> None:
        if not 0 < self.epsilon <= 0.5:
            raise InvalidInputError("explore", f"must be in (0, 0.5], not {self.epsilon:g}")
        if not 0 < self.near <= 1:
            raise InvalidInputError("explore_near", f"must be in (0, 1], not {self.near:g}")

    @classmethod
    def of(cls, epsilon: float | None, near: float) -> Exploration | None:
        """None where nothing is to be explored."""
        return None if epsilon is None else cls(epsilon, near)

    def explored(
        self,
        decision: Decision,
        questions: Mapping[str, Question],
        policy: Policy,
        state: Text,
        request: RequestId,
    ) -> Decision:
        """The decision with some of its actions changed; the chances go to the request's record."""
        answers, rows, unit = dict(decision.answers), list(request.assigned), state_hash(state)[:32]
        for name, answer in decision.answers.items():
            outcome = answer.outcome
            if outcome is None or outcome.option is None or outcome.action != "act":
                continue
            cutoff = policy.cutoff(name, questions[name], outcome.option)
            if cutoff is None or answer.probabilities[outcome.option] >= cutoff + self.near:
                continue
            drawn = place(f"{request} {unit} {name}", EXPLORATION) < self.epsilon
            if drawn:
                reason = f"explored with chance {self.epsilon:g}: {outcome.reason}"
                changed = replace(outcome, action="escalate", option=None, reason=reason)
                answers[name] = replace(answer, outcome=changed)
            chance = self.epsilon if drawn else 1 - self.epsilon
            arm = explored_arm(outcome.option) if drawn else "as usual"
            lam = decision.source.lam
            rows.append(
                Assigned(request, name, EXPLORATION, arm, lam, self.epsilon, chance, unit).row()
            )
        request.assigned = tuple(rows)
        return replace(decision, answers=answers)


def explorer(
    exploration: Exploration | None,
    questions: Mapping[str, Question],
    state: Text,
    options: DecideOptions,
) -> Callable[[Decision], Decision]:
    """What changes a decision under a policy before it goes on record; nothing without one.

    Nothing is explored in what the playground asks.
    """
    policy, request = options.policy, options.request_id
    if (
        exploration is None
        or policy is None
        or not isinstance(request, RequestId)
        or is_played(request)
    ):
        return lambda decision: decision
    return lambda decision: exploration.explored(decision, questions, policy, state, request)
