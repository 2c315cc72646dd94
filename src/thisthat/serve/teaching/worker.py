"""The teaching process: an order in, lines of JSON out, then it ends.

Run as ``python -m thisthat.serve.teaching.worker``. The order is one JSON object on standard input;
see ``Order``. A line is ``{"checked": …}`` once the labels are read, ``{"progress": …}``, at last
``{"taught": …}``, ``{"next": …}`` or ``{"doubts": …}``; or ``{"error": …}``, and nothing was
written.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

from thisthat.checkpoint import open_checkpoint
from thisthat.decide.opening import open_decider
from thisthat.errors import InvalidInputError, ThisThatError
from thisthat.items.labels import read_labelled
from thisthat.questions_json import questions_from_json
from thisthat.teach.choose import doubtful_labels, judgeable, next_states
from thisthat.teach.known import labels_of, refuse_taught
from thisthat.teach.light import teach
from thisthat.teach.rows import LEAST_ROWS, read_rows

Tell: TypeAlias = Callable[[dict[str, Any]], None]

LABELS = "labels.jsonl"
_NICE = 15
_STEPS = 200


@dataclass(frozen=True)
class Order:
    """What to do, with which checkpoint, and how much memory that may take.

    "teach" reads ``LABELS`` in the working folder and writes the new folder ``output``; "label"
    chooses ``count`` of ``states``, unlike those that are ``labelled``; "doubt" looks for wrong
    labels in ``LABELS``. ``opening`` is what ``open_decider`` takes beside a checkpoint and λ.
    Other relative paths start at ``folder``, the server's working folder.
    """

    do: Literal["teach", "label", "doubt"]
    ref: str
    lam: float | None
    opening: Mapping[str, Any]
    questions: Mapping[str, Any]
    memory_bytes: int
    folder: str
    output: str = ""
    states: tuple[Any, ...] = ()
    labelled: tuple[Any, ...] = ()
    count: int = 0


def carry_out(order: Order, tell: Tell) -> None:
    """Do what was ordered. Raises ThisThatError, after which nothing was written."""
    questions = questions_from_json(order.questions)
    if order.do == "teach":
        _teach(order, questions, tell)
    elif order.do == "doubt":
        _doubt(order, questions, tell)
    else:
        _choose(order, questions, tell)


def _teach(order: Order, questions: Mapping[str, Any], tell: Tell) -> None:
    labelled = read_rows(Path(LABELS), questions)
    os.chdir(order.folder)
    refuse_taught(LABELS, order.ref, order.lam, labels_of(labelled), tell_ref=False)
    tell({"checked": {name: len(rows.states) for name, rows in labelled.items()}})
    parent = open_checkpoint(order.ref, order.lam)
    output = Path(order.output)
    done = dict.fromkeys(labelled, 0.0)
    steps = _Steps(tell)

    def progress(name: str, share: float) -> None:
        done[name] = share
        steps(sum(done.values()) / len(done), name)

    with open_decider(order.ref, lam=order.lam, **order.opening) as decider:
        taught = teach(decider, parent, labelled, output, progress)
    tell(
        {
            "taught": {
                "written": taught.folder is not None,
                "learned": [each.as_json() for each in taught.learned],
                "lines": taught.findings,
            }
        }
    )


def _choose(order: Order, questions: Mapping[str, Any], tell: Tell) -> None:
    tell({"checked": {"states": len(order.states)}})
    os.chdir(order.folder)
    whole = len(order.states) * len(questions)
    steps = _Steps(tell)
    with open_decider(order.ref, lam=order.lam, **order.opening) as decider:
        found = next_states(
            decider,
            questions,
            order.states,
            order.count,
            order.labelled,
            lambda done: steps(done / whole, "reading"),
        )
    chosen = [
        {
            "number": each.number,
            "answers": {
                name: {"answer": answer, "probability": sure}
                for name, (answer, sure) in each.answers.items()
            },
        }
        for each in found
    ]
    tell({"next": chosen})


def _doubt(order: Order, questions: Mapping[str, Any], tell: Tell) -> None:
    labelled = read_labelled(Path(LABELS), questions)
    judged = judgeable(labelled)
    if not judged:
        raise InvalidInputError(
            LABELS,
            f"no question has {LEAST_ROWS} different labelled states and two answers to judge by",
        )
    whole = sum(len(rows.states) for rows, _ in judged.values())
    tell({"checked": {name: len(rows.states) for name, (rows, _) in judged.items()}})
    os.chdir(order.folder)
    steps = _Steps(tell)
    with open_decider(order.ref, lam=order.lam, **order.opening) as decider:
        found = doubtful_labels(decider, labelled, lambda done: steps(done / whole, "reading"))
    # A row without a label is a line of the file, but no labelled state.
    lines = [int(place.rpartition(" ")[2]) for place in labelled.places]
    doubts = [{**vars(each), "row": lines[each.row] - 1} for each in found]
    tell({"doubts": {"judged": list(judged), "labels": doubts}})


class _Steps:
    """Tells of progress, in steps that are worth a line."""

    def __init__(self, tell: Tell) -> None:
        self._tell = tell
        self._last = -1

    def __call__(self, share: float, name: str) -> None:
        step = int(share * _STEPS)
        if step != self._last:
            self._last = step
            self._tell({"progress": {"share": round(share, 3), "question": name}})


def _stay_behind(memory_bytes: int) -> None:
    """Leave the processor to the server, and stay within the memory, where the system can."""
    if sys.platform == "win32":
        return
    import resource

    os.nice(_NICE)
    resource.setrlimit(resource.RLIMIT_DATA, (memory_bytes, memory_bytes))


def _main() -> int:
    order = Order(**json.load(sys.stdin))
    out = sys.stdout
    _stay_behind(order.memory_bytes)

    def tell(line: dict[str, Any]) -> None:
        out.write(json.dumps(line) + "\n")
        out.flush()

    try:
        carry_out(order, tell)
    except InvalidInputError as error:
        tell({"error": {"kind": "invalid", "field": error.field, "message": error.message}})
    except ThisThatError as error:
        tell({"error": {"kind": "failed", "field": "", "message": str(error)}})
    except MemoryError:
        most = f"took more than {order.memory_bytes} bytes of memory"
        tell({"error": {"kind": "failed", "field": "", "message": most}})
    else:
        return 0
    return 1


if __name__ == "__main__":
    sys.exit(_main())
