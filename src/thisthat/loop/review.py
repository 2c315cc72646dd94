"""Decisions for people to review, the least sure first, as Label Studio's tasks; and back.

Label Studio shows the tasks with the interface ``INTERFACE`` and exports them (as JSON) with
annotations, which become outcomes.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from typing import Any

from thisthat.audit.protocol import Store
from thisthat.errors import InvalidInputError
from thisthat.loop.joined import Joined, JoinedView
from thisthat.loop.outcomes import Outcome, moment

SOURCE = "label-studio"
INTERFACE = """<View>
  <Header value="$question"/>
  <Text name="state" value="$state"/>
  <Choices name="answer" toName="state" value="$options" choice="single" required="true"/>
</View>"""


def review_queue(store: Store, most: int, until: float) -> list[dict[str, Any]]:
    """Tasks for at most ``most`` decisions of which nobody knows the right option.

    The least sure come first; a state comes once for each question. Decisions whose states are not
    in the log cannot be reviewed. Raises LogError.
    """
    view = JoinedView(store, 0.0, until)
    found: dict[tuple[str, str, str], Joined] = {}
    for each in view.decisions():
        if each.entry.state is not None and each.option is None and each.status != "repeated":
            found.setdefault((each.entry.schema, each.entry.question, each.entry.state_hash), each)
    first = heapq.nsmallest(most, found.values(), key=lambda each: (each.entry.sure, each.line))
    return [_task(each) for each in first]


def _task(found: Joined) -> dict[str, Any]:
    entry = found.entry
    value = {"choices": [entry.best]}
    said = {"from_name": "answer", "to_name": "state", "type": "choices", "value": value}
    model = f"{entry.checkpoint} {entry.version}, lambda {entry.lam:g}"
    return {
        "data": {
            "decision": found.line,
            "request": entry.request,
            "question": entry.question,
            "state": entry.state,
            "options": [{"value": name} for name in found.options],
        },
        "predictions": [{"model_version": model, "score": entry.sure, "result": [said]}],
    }


def outcomes_of_review(tasks: object) -> Iterator[Outcome]:
    """The outcomes in Label Studio's JSON export; skipped tasks have none.

    Raises InvalidInputError for anything else.
    """
    if not isinstance(tasks, list):
        raise InvalidInputError("", "must be Label Studio's JSON export: a list of tasks")
    for number, task in enumerate(tasks):
        place = f"[{number}]"
        try:
            decision, annotations = task["data"]["decision"], task.get("annotations") or []
            for each in annotations:
                if not each.get("was_cancelled") and (chosen := _chosen(each)):
                    at = each.get("updated_at") or each.get("created_at")
                    time = None if at is None else moment(at)
                    yield Outcome(decision=decision, option=chosen, source=SOURCE, time=time)
        except InvalidInputError as error:
            raise error.under(place) from None
        except (KeyError, TypeError, AttributeError, ValueError):
            why = "is not a task of a review queue with Label Studio's annotations"
            raise InvalidInputError(place, why) from None


def _chosen(annotation: dict[str, Any]) -> str | None:
    for each in annotation["result"]:
        if each["type"] == "choices":
            [choice] = each["value"]["choices"]
            return str(choice)
    return None
