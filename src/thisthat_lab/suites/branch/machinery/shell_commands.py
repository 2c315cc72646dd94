"""Shell commands as records: what a command line does, and how it is written at a prompt."""

from __future__ import annotations

from typing import Any

from thisthat.questions import Text
from thisthat.rng import Rng
from thisthat_lab.suites.base import wording
from thisthat_lab.suites.base.family import Difficulty
from thisthat_lab.suites.base.fields import Domain, Flag, Pick, Record
from thisthat_lab.suites.base.layout import Page, Policy, Sheet
from thisthat_lab.tables import Tables

_TABLES = Tables(__file__)
_FLAGS = _TABLES.groups("flags")
_MODES = {"chmod": "640", "chown": "app", "chgrp": "staff"}
_FILES = ("report.txt", "cache.db", "old.log", "data.csv", "config.yml", "index.html", "dump.sql")
_SEVERAL = ("*.log", "*.tmp", "*.bak", "part-*", "*.csv", "20*")
_PIPES = ("| wc -l", "| tee -a run.txt", "| sort", "| head -20")
_IDLE = _TABLES.words("idle")
_DIRECTORIES = _TABLES.words("directories")
_HOSTS = ("web-1", "db-2", "ci-runner", "laptop-7", "edge-4", "bastion", "stage-3")

COMMAND = Domain(
    "command",
    "CMD",
    (
        *(Flag(key, said, denied) for key, said, denied in _TABLES.rows("facts")),
        Pick("program", "program", tuple(_FLAGS)),
        Pick("directory", "directory it touches", _DIRECTORIES),
        Pick("host", "host", _HOSTS),
    ),
)


def write_command(record: Record, rng: Rng) -> str:
    """The command line that these facts describe, without prompt."""
    program = str(record["program"])
    recursive, quiet, target = _FLAGS[program]
    words = ["sudo"] if record["sudo"] else []
    words.append(program)
    if record["recursive"]:
        words.append(recursive)
    if rng.chance(0.4):
        words.append(quiet)
    if program in _MODES:
        words.append(_MODES[program])
    last = rng.choice(_SEVERAL if record["wildcard"] else _FILES)
    words.append(f"{record['directory']}/{last}")
    if target:
        words.append(target)
    if record["redirected"]:
        words.append("2>/dev/null")
    if record["piped"]:
        words.append(rng.choice(_PIPES))
    if record["background"]:
        words.append("&")
    return " ".join(words)


def command_page(sheet: Sheet, policy: Policy, difficulty: Difficulty, rng: Rng) -> Page:
    """A prompt, a log line or a JSON request with the command, among earlier commands."""
    command = write_command(sheet.record, Rng(rng.raw()))
    host = str(sheet.record["host"])
    user = rng.choice(("ana", "build", "ops", "marek", "svc-web"))
    earlier = [rng.choice(_IDLE) for _ in range(difficulty.distractors)]
    state: Text
    if rng.chance(0.4):
        parts: list[tuple[str, Any]] = [
            (rng.choice(("command", "proposed_command", "cmd")), command),
            ("host", host),
            ("user", user),
        ]
        if earlier:
            parts.append(("earlier_commands", earlier))
        parts += [(heading.lower().replace(" ", "_"), text) for heading, text, _ in policy]
        state = wording.state_object(parts, rng, 0, difficulty.length)
    else:
        prompt = f"{user}@{host}:~$ "
        lines = [prompt + one for one in earlier]
        if rng.chance(0.5):
            body = "\n".join([*lines, prompt + command])
        else:
            body = f"Host: {host}\nUser: {user}\nProposed command: {command}"
            if lines:
                body += "\nRun before:\n" + "\n".join(lines)
        state = wording.sections(
            [("Terminal", body), *((heading, text) for heading, text, _ in policy)],
            rng,
            difficulty.length,
        )
    spans = dict.fromkeys((field.key for field in COMMAND.fields), (command,))
    spans["host"] = (host,)
    return Page(state, spans)
