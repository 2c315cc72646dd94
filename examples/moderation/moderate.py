"""A moderation queue with review: clear comments are handled, doubtful ones wait for a person.

python moderate.py decide comments.txt log.sqlite        # one comment a line
python moderate.py review log.sqlite ID fine             # a moderator's verdict
python moderate.py labels log.sqlite labels.jsonl        # the log's verdicts, to teach with
"""

import hashlib
import sys
import time
from pathlib import Path

import thisthat
from thisthat.audit.log import DecisionLog
from thisthat.audit.store import open_store
from thisthat.loop.labels import make_labels
from thisthat.loop.outcomes import Outcome, lines_of, record

KIND = thisthat.Choice(
    {
        "fine": "a normal comment",
        "insult": "it attacks a person",
        "spam": "it sells or advertises something",
    },
    "What kind of comment is it?",
)
SURE = 0.75
HANDLED = {"fine": "publish", "insult": "hide", "spam": "hide"}


def decide(comments: Path, log: Path) -> None:
    """One line a comment: its id, what to do, and the probabilities."""
    texts = [line for line in comments.read_text(encoding="utf-8").splitlines() if line.strip()]
    decider = thisthat.open()
    with DecisionLog(log, keep_states=True) as decider.log:
        for text in texts:
            name = hashlib.sha256(text.encode()).hexdigest()[:8]
            answer = decider.decide(text, {"kind": KIND}, request_id=name)["kind"]
            best = max(answer.probabilities.values())
            action = HANDLED[answer.best] if best >= SURE else "review"
            print(f"{name}  {action:8} {answer.best} at {best:.3f}: {text}")


def review(log: Path, name: str, verdict: str) -> None:
    """Record a moderator's verdict; the last one counts."""
    outcome = Outcome(request=name, question="kind", option=verdict, source="moderator")
    if not any(lines_of(open_store(log), outcome)):
        raise thisthat.InvalidInputError("ID", f"{name!r} is not in {log}")
    print(f"recorded: {record(log, outcome).recorded}")


def labels(log: Path, target: Path) -> None:
    """Every comment with a verdict, as a label; one that was decided twice is one comment."""
    made = make_labels(open_store(log), mature_after=0, until=time.time())
    made.save(target)
    every = {entry.state_hash for entry in open_store(log).read({}, None, None, None)}
    print(f"{len(made.labels)} labels; {len(every) - len(made.labels)} comments without a verdict")


def main(*words: str) -> None:
    """Run one of the three commands."""
    match words:
        case ["decide", comments, log]:
            decide(Path(comments), Path(log))
        case ["review", log, name, verdict]:
            review(Path(log), name, verdict)
        case ["labels", log, target]:
            labels(Path(log), Path(target))
        case ["-h" | "--help"]:
            print(__doc__)
        case _:
            raise thisthat.InvalidInputError("usage", f"one of these\n\n{__doc__}")


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except (thisthat.ThisThatError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(2)
