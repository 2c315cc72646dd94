"""A gate for an agent's shell: allow what is surely harmless, ask a person about the rest.

    echo '{"command": "git status"}' | python gate.py    # prints {"decision": "allow", ...}

Call it before each command, as a hook: it reads one JSON object, prints one, and exits with 0 to
allow and 2 to ask. The model only ever makes the gate stricter: what a rule can see (pipes,
redirections, several commands, sudo) never reaches it. It is no sandbox. To offer the same question
to an agent as a tool: `thisthat mcp schema.json`.
"""

import json
import re
import sys
from pathlib import Path

import thisthat
from thisthat.questions_json import questions_from_json

SCHEMA = Path(__file__).with_name("schema.json")
HARMLESS = 0.7
RULES = re.compile(r"[|;&><`$\n]|\b(sudo|su|eval|exec|xargs)\b")


def judge(command: str, decider: thisthat.Decider) -> dict[str, object]:
    """Allow or ask, and why."""
    found = RULES.search(command)
    if found:
        return {"decision": "ask", "reason": f"contains {found[0]!r}"}
    questions = questions_from_json(json.loads(SCHEMA.read_text(encoding="utf-8")))
    risk = decider.decide(command, questions)["risk"]
    harmless = next(iter(risk.probabilities.values()))
    told = f"harmless at {harmless:.2f}, needs {HARMLESS}"
    return {"decision": "allow" if harmless >= HARMLESS else "ask", "reason": told}


def main() -> int:
    """One command from standard input; whatever else comes is for a person."""
    try:
        command = str(json.load(sys.stdin)["command"])
        answer = judge(command, thisthat.open())
    except (ValueError, KeyError, TypeError):
        answer = {"decision": "ask", "reason": 'no {"command": …} on standard input'}
    print(json.dumps(answer))
    return 0 if answer["decision"] == "allow" else 2


if __name__ == "__main__":
    sys.exit(main())
