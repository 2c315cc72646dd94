"""A moderation queue with review: clear comments are handled, doubtful ones wait for a person.

    python moderate.py decide comments.txt log.sqlite        # one comment a line
    python moderate.py review log.sqlite ID fine             # a moderator's verdict
    python moderate.py labels log.sqlite labels.jsonl        # what moderators said, to teach with

Decisions and verdicts are in one log, so that every verdict becomes a label for `thisthat teach`.
"""

import hashlib
import sys
import time
from pathlib import Path

import thisthat
from thisthat import Choice
from thisthat.audit.log import DecisionLog
from thisthat.audit.store import open_store
from thisthat.loop.labels import make_labels
from thisthat.loop.outcomes import Outcome, record

KIND = Choice(
    {
        "fine": "a normal comment",
        "insult": "it attacks a person",
        "spam": "it sells or advertises something",
    },
    "What kind of comment is it?",
)
SURE = 0.85
HANDLED = {"fine": "publish", "insult": "hide", "spam": "hide"}


def decide(comments: Path, log: Path) -> None:
    """One line a comment: its id, what to do, and the probabilities."""
    decider = thisthat.open()
    texts = [line for line in comments.read_text(encoding="utf-8").splitlines() if line.strip()]
    with DecisionLog(log, keep_states=True) as decider.log:
        for text in texts:
            name = hashlib.sha256(text.encode()).hexdigest()[:8]
            answer = decider.decide(text, {"kind": KIND}, request_id=name)["kind"]
            best = max(answer.probabilities.values())
            action = HANDLED[answer.best] if best >= SURE else "review"
            print(f"{name}  {action:8} {answer.best} at {best:.2f}: {text}")


def review(log: Path, name: str, verdict: str) -> None:
    """Record a moderator's verdict; the last one counts."""
    if verdict not in HANDLED:
        raise SystemExit(f"verdict: must be one of {', '.join(HANDLED)}, not {verdict!r}")
    print(record(log, Outcome(request=name, question="kind", option=verdict, source="moderator")))


def labels(log: Path, target: Path) -> None:
    """Every comment with a verdict, as a label."""
    made = make_labels(open_store(log), mature_after=0, until=time.time())
    made.save(target)
    print(f"{len(made.labels)} labels, left out: {dict(made.excluded)}")


def main(command: str, *given: str) -> None:
    """Run one of the three commands."""
    if command == "decide":
        decide(Path(given[0]), Path(given[1]))
    elif command == "review":
        review(Path(given[0]), given[1], given[2])
    elif command == "labels":
        labels(Path(given[0]), Path(given[1]))
    else:
        raise SystemExit(f"{command!r}: decide, review or labels")


if __name__ == "__main__":
    main(*sys.argv[1:])
