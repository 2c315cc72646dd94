"""The full loop in a simulated world: decide, record, learn, evaluate, try, promote, roll back.

A ticket desk has rules that no model can know, and they change one day; a robot's wheels slip as
they please. A server decides, the world says what happened, and the commands of `thisthat loop` do
the rest. Usage: python examples/loop/run.py [FOLDER]
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shlex
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

TEAMS = ["billing", "shipping", "account"]
SCHEMA: dict[str, Any] = {
    "team": {"type": "choice", "instructions": "Which team takes this?", "criteria": TEAMS},
    "moves": {"type": "noul", "instructions": "Will the robot move as commanded?"},
}
TOPICS = {
    "I was charged twice for order {n}.": "billing",
    "Please pay back the {n} euros.": "billing",
    "Parcel {n} never came.": "shipping",
    "Parcel {n} arrived broken.": "shipping",
    "I forgot the password of account {n}.": "account",
    "Please change the e-mail address of account {n}.": "account",
    "I need a copy of invoice {n}.": "account",  # the portal has them, and account knows it
    "Please send a label for returning order {n}.": "billing",  # returns are money here
}
CHANGED = {"Parcel {n} arrived broken.": "billing", "I need a copy of invoice {n}.": "billing"}
FLOORS = {"dry": 0.95, "dusty": 0.8, "wet": 0.15, "icy": 0.05}


class World:
    """Makes states, and says what happened."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self.rules = dict(TOPICS)

    def event(self) -> tuple[str, str, str]:
        """A state, the question it raises, and the option that turns out to be right."""
        number = self._random.randrange(10_000)
        if self._random.random() < 0.35:
            floor = self._random.choice(sorted(FLOORS))
            direction = self._random.choice(["north", "east", "south", "west"])
            state = f"Move {number}. The floor is {floor}. The command is: go {direction}."
            return state, "moves", "yes" if self._random.random() < FLOORS[floor] else "no"
        topic = self._random.choice(sorted(self.rules))
        greeting = self._random.choice(["Hello.", "Dear team,", "Hi!", "Good morning."])
        return f"{greeting} {topic.format(n=number)}", "team", self.rules[topic]


class Desk:
    """Asks the server about what comes, and tells it later what was right."""

    def __init__(self, address: str, world: World) -> None:
        self._address = address
        self._world = world
        self._told: list[dict[str, Any]] = []

    def work(self, events: int) -> float:
        """Decide so many events; the share that was right. One outcome in ten never comes."""
        right = 0
        for number in range(events):
            state, name, truth = self._world.event()
            body = {"state": state, "questions": {name: SCHEMA[name]}}
            answer, request = self._post("/v1/systemone", body)
            found = answer["answers"][name]
            said = found["choice"] if name == "team" else ("yes" if found["noul"] > 0.5 else "no")
            right += said == truth
            if number % 10:
                self._told.append({"request": request, "question": name, "option": truth})
            if len(self._told) >= 10:
                self.tell()
        self.tell()
        return right / events

    def tell(self) -> None:
        """Outcomes come late and in any order."""
        random.Random(len(self._told)).shuffle(self._told)
        if self._told:
            self._post("/v1/outcomes", {"outcomes": self._told})
        self._told = []

    def _post(self, path: str, body: Any) -> tuple[Any, str]:
        headers = {"content-type": "application/json"}
        data = json.dumps(body).encode()
        request = urllib.request.Request(self._address + path, data, headers)
        with urllib.request.urlopen(request, timeout=60) as answered:
            return json.load(answered), answered.headers["x-request-id"]


def command(*words: str) -> str:
    """Run a command of thisthat, and show both; a verdict may make its exit code 1."""
    print(f"$ thisthat {shlex.join(words)}", flush=True)
    done = subprocess.run(
        [sys.executable, "-m", "thisthat", *words], capture_output=True, text=True
    )
    print("".join(f"  {line}\n" for line in done.stdout.splitlines()), end="", flush=True)
    if done.returncode not in (0, 1):
        raise SystemExit(done.stderr)
    return done.stdout


@contextmanager
def serving(folder: Path) -> Iterator[str]:
    """A server of the registry's champion, until the end."""
    words = ["serve", "--port", "0", "--loop", "registry", "--decision-log", "log.sqlite"]
    print(f"$ thisthat {shlex.join([*words, '--log-states'])}")
    errors = (folder / "server.log").open("w")
    server = subprocess.Popen(
        [sys.executable, "-m", "thisthat", *words, "--log-states"], stderr=errors
    )
    try:
        address = None
        while True:
            lines = [json.loads(line) for line in (folder / "server.log").read_text().splitlines()]
            for line in lines:
                address = line.get("address", address)
            if any(line["message"] == "ready" for line in lines):
                break
            if server.poll() is not None:
                raise SystemExit((folder / "server.log").read_text())
            time.sleep(0.2)
        yield str(address)
    finally:
        server.send_signal(signal.SIGTERM)
        server.wait(60)
        errors.close()


def moment() -> str:
    """The beginning of a second that has just come: what is before it, and what after, is clear."""
    time.sleep(1)
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime())


def events() -> list[dict[str, Any]]:
    """The registry's history."""
    return [json.loads(line) for line in Path("registry/registry.jsonl").read_text().splitlines()]


def tried(desk: Desk, most: int) -> str:
    """Work until the canary has a verdict; what it was."""
    began = len(events())
    for _ in range(most // 30):
        desk.work(30)
        for event in events()[began:]:
            if event["what"] in ("ready", "ended"):
                told = f"{event['reason']} after {event['facts']['outcomes']} outcomes"
                print(f"  the server: {event['facts']['experiment']} {event['what']}: {told}")
                return str(event["what"])
    return "no verdict"


def circle(size: int, checkpoint: str) -> dict[str, Any]:
    """Everything, in the current folder; what came of it."""
    Path("schema.json").write_text(json.dumps(SCHEMA))
    where = ("--registry", "registry")
    command("loop", "promote", checkpoint, *where, "--reason", "the first")
    world, found = World(7), dict[str, Any]()
    canary = ("--share", "0.4", "--margin", "0.05")
    with serving(Path()) as address:
        desk = Desk(address, world)

        print("\n1. The champion decides, the world answers.")
        found["zero-shot"] = desk.work(size)
        print(f"  {found['zero-shot']:.0%} right")

        print("\n2. What happened becomes labels, and a candidate.")
        labels = ("--log", "log.sqlite", "--mature", "0s")
        learned = moment()
        command("loop", "labels", *labels, "--until", learned, "-o", "first.jsonl")
        command(
            "teach", "first.jsonl", "--schema", "schema.json",
            "--checkpoint", checkpoint, "-o", "first",
        )

        print("\n3. It is evaluated on decisions that it was not taught on.")
        desk.work(size)
        asked = (
            "--log",
            "log.sqlite",
            "--schema",
            "schema.json",
            "--mature",
            "0s",
            "--since",
            learned,
        )
        found["evaluated"] = command("loop", "evaluate", "first", *asked, *where).split("\n")[-2]

        print("\n4. It answers a share of the requests, and is promoted once it is not worse.")
        command("loop", "canary", "first", *where, *canary)
        found["first canary"] = tried(desk, 8 * size)
        if found["first canary"] == "ready":
            command("loop", "promote", *where, "--reason", "not worse")
        found["taught"] = desk.work(size // 2)
        print(f"  {found['taught']:.0%} right")

        print("\n5. Somebody mixes up the columns of a label file; the canary notices.")
        rows = [json.loads(line) for line in Path("first.jsonl").read_text().splitlines()]
        turned = dict(zip(TEAMS, TEAMS[1:] + TEAMS[:1], strict=True)) | {"yes": "no", "no": "yes"}
        for row in rows:
            row["answers"] = {name: turned[option] for name, option in row["answers"].items()}
        Path("mixed.jsonl").write_text("\n".join(map(json.dumps, rows)))
        command(
            "teach", "mixed.jsonl", "--schema", "schema.json",
            "--checkpoint", "first", "-o", "mixed",
        )
        command("loop", "canary", "mixed", *where, *canary)
        found["harmful canary"] = tried(desk, 8 * size)

        print("\n6. The desk's rules change. The champion is wrong where it was right.")
        world.rules |= CHANGED
        changed = moment()
        found["after the change"] = desk.work(size)
        print(f"  {found['after the change']:.0%} right")

        print("\n7. It learns the new rules, on top of what it knows.")
        command("loop", "labels", *labels, "--since", changed, "-o", "second.jsonl")
        command(
            "teach", "second.jsonl", "--schema", "schema.json",
            "--checkpoint", "first", "-o", "second",
        )
        command("loop", "canary", "second", *where, *canary)
        found["second canary"] = tried(desk, 8 * size)
        if found["second canary"] == "ready":
            command("loop", "promote", *where, "--reason", "new rules")
        found["in the end"] = desk.work(size // 2)
        print(f"  {found['in the end']:.0%} right")

    print("\n8. What is on record, and the way back.")
    command("loop", "history", *where)
    command("loop", "report", *where, "--log", "log.sqlite", "-o", "report.html", "--mature", "0s")
    command("log", "verify", "log.sqlite")
    if found["first canary"] == "ready":
        command("loop", "rollback", *where, "--champion")
    return found


def main() -> None:
    """Run the circle in a folder that is kept, or in one that is not."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", nargs="?", type=Path, help="where everything is left")
    parser.add_argument("--size", type=int, default=100, help="decisions a phase")
    parser.add_argument("--checkpoint", default="default", help="the first champion")
    given = parser.parse_args()
    folder = given.folder or Path(tempfile.mkdtemp(prefix="thisthat-loop-"))
    folder.mkdir(parents=True, exist_ok=True)
    started = time.perf_counter()
    os.chdir(folder)
    found = circle(given.size, given.checkpoint)
    print(f"\n{time.perf_counter() - started:.0f} s; everything is in {folder}")
    print(json.dumps(found))


if __name__ == "__main__":
    main()
