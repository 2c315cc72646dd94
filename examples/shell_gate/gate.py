"""A gate for an agent's shell: allow what only shows something and no secret, ask about the rest.

    echo '{"command": "git status"}' | python gate.py    # prints {"decision": "allow", ...}

Call it before each command, as a hook: it reads one JSON object, prints one, and exits with 0 to
allow and 2 to ask. The model only ever makes the gate stricter: what a rule can see never reaches
it. It is no sandbox. An agent can also ask for itself, without the rules:
`thisthat mcp command_risk.json`.
"""

import json
import re
import shlex
import sys
from pathlib import Path

import thisthat
from thisthat.questions_json import questions_from_json

SCHEMA = Path(__file__).with_name("command_risk.json")
HARMLESS = 0.7
# Several commands, other users, and patterns, which the shell turns into names no rule has seen.
RULES = re.compile(r"[|;&><`$\n*?\[{]|\b(sudo|su|eval|exec|xargs)\b")
# Where secrets lie is a list, not a judgement: the model calls `cat ~/.ssh/id_rsa` harmless.
SECRETS = re.compile(
    r"secret|credential|passw|shadow|private|history|environ|id_(rsa|dsa|ecdsa|ed25519)"
    r"|\b(api|access)?_?(key|token)s?\b|\.(pem|p12|pfx|kdbx)\b"
    r"|\.(ssh|aws|gnupg|kube|docker|netrc|npmrc|pypirc|pgpass|git-credentials)\b"
    r"|\.env\b(?!\.(example|sample|template)\b)|^(printenv|env|set|export)$",
    re.IGNORECASE,
)


def judge(command: str, decider: thisthat.Decider) -> dict[str, object]:
    """Allow or ask, and why."""
    found = RULES.search(command)
    if found:
        return {"decision": "ask", "reason": f"contains {found[0]!r}"}
    # Quotes and backslashes must not hide a name.
    if found := SECRETS.search(" ".join(shlex.split(command))):
        return {"decision": "ask", "reason": f"may show a secret: {found[0]!r}"}
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
        answer = {"decision": "ask", "reason": 'not one whole {"command": …} on standard input'}
    print(json.dumps(answer))
    return 0 if answer["decision"] == "allow" else 2


if __name__ == "__main__":
    sys.exit(main())
