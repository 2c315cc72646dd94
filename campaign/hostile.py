"""Hostile checkpoints, policies and schemas: damaged at random, or with values chosen to hurt.

Each is opened and used in a process with little memory and time. It works or is refused with an
error of ours; anything else counts. A server is told to load the hostile checkpoints, too.
"""

from __future__ import annotations

import copy
import json
import multiprocessing
import random
import resource
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from campaign.report import Finding, none_of, noted
from campaign.requests import broken
from campaign.served import serving
from thisthat.errors import ThisThatError

COUNT = {"short": 60, "full": 500}
SECONDS = 60
MOST_BYTES = 4 << 30
PROCESSES = multiprocessing.get_context("forkserver")
PROCESSES.set_forkserver_preload(
    ["thisthat.decide.opening", "tests.calibrate.test_policy", "onnxruntime"]
)
HURTFUL: list[Any] = [
    0,
    -1,
    1,
    2**31,
    2**63,
    1e308,
    "",
    "../../etc/passwd",
    "\x00",
    [],
    {},
    None,
    True,
]
QUESTIONS = {
    "lost": {"type": "boolean", "instructions": "Is it?", "criteria": {"true": "gone"}},
    "queue": {"type": "choice", "criteria": {"billing": None, "shipping": "parcels"}},
    "anger": {"type": "score", "criteria": ["calm", "annoyed", "furious"]},
}


def damage(folder: Path, rng: random.Random) -> None:
    """One file of a checkpoint: bytes, length, or a value of its JSON."""
    path = rng.choice(sorted(each for each in folder.iterdir() if each.is_file()))
    content = bytearray(path.read_bytes())
    deed = rng.randrange(4)
    if deed == 0:
        path.write_bytes(content[: rng.randrange(len(content))])
    elif deed == 1:
        path.unlink()
    elif deed == 2 or path.suffix != ".json":
        for _ in range(rng.randint(1, 20)):
            at = rng.randrange(rng.choice([len(content), min(len(content), 4000)]))
            content[at] = rng.randrange(256)
        path.write_bytes(content)
    else:
        value = json.loads(content)
        for _ in range(rng.randint(1, 3)):
            value = hurt(rng, value)
        path.write_text(json.dumps(value))


def hurt(rng: random.Random, value: Any) -> Any:
    if isinstance(value, dict) and value:
        name = rng.choice(list(value))
        deeper = isinstance(value[name], dict) and rng.random() < 0.7
        return {**value, name: hurt(rng, value[name]) if deeper else rng.choice(HURTFUL)}
    return rng.choice(HURTFUL)


def open_checkpoint_at(folder: str) -> None:
    import thisthat

    decider = thisthat.open(folder, engine="onnx", threads=1)
    decider.ask("The parcel never came.", "Is it lost?")


def use_policy(text: str) -> None:
    from tests.calibrate.test_policy import SCHEMA
    from tests.path_engine import path_decider

    from thisthat.decide.policy import Policy

    policy = Policy.from_json(json.loads(text)).force()
    path_decider().decide("It is lost.", SCHEMA, policy=policy)


def use_schema(text: str) -> None:
    from tests.path_engine import path_decider

    from thisthat.questions_json import questions_from_json

    path_decider().decide("It is lost.", questions_from_json(json.loads(text)))


def work(pipe: Connection, use: Callable[[str], None]) -> None:
    """Use what comes through the pipe; says how it went."""
    resource.setrlimit(resource.RLIMIT_AS, (MOST_BYTES, MOST_BYTES))
    while (given := pipe.recv()) is not None:
        try:
            use(given)
            pipe.send("works")
        except ThisThatError:
            pipe.send("refused")
        except BaseException as error:  # whatever else it is, is what is looked for
            pipe.send(f"{type(error).__name__}: {str(error)[:200]}")


class Judge:
    """Gives hostile things to a process of its own; a new one when that dies or hangs."""

    def __init__(self, use: Callable[[str], None]) -> None:
        self._use = use
        self._process: Any = None
        self.seen: Counter[str] = Counter()

    def judge(self, given: str) -> str:
        if self._process is None:
            self._pipe, theirs = PROCESSES.Pipe()
            self._process = PROCESSES.Process(target=work, args=(theirs, self._use), daemon=True)
            self._process.start()
            theirs.close()
        self._pipe.send(given)
        try:
            said = self._pipe.recv() if self._pipe.poll(SECONDS) else "hung"
        except EOFError:
            self._process.join()
            said = f"crashed with {self._process.exitcode}"
        if said == "hung" or said.startswith("crashed"):
            self._process.kill()
            self._process = None
        self.seen[said] += 1
        return said

    def check(self, whole: str) -> None:
        """Raise RuntimeError unless what is not damaged works."""
        if (said := self.judge(whole)) != "works":
            raise RuntimeError(f"what is not damaged: {said}")
        self.seen.clear()

    def close(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.join()

    def findings(self, what: str) -> list[Finding]:
        self.close()
        works, refused = self.seen.pop("works", 0), self.seen.pop("refused", 0)
        others = "; ".join(f"{n} × {said}" for said, n in self.seen.most_common(5)).replace(
            "|", "/"
        )
        return [
            noted(f"{what}: still work, refused", f"{works:,}, {refused:,}"),
            none_of(f"{what}: anything else {others}".strip(), sum(self.seen.values())),
        ]


def checkpoints(count: int, folder: Path) -> list[Finding]:
    from tests.lab.train import tiny

    sizes = {"hidden_size": 128, "intermediate_size": 192, "head_dim": 64}
    whole = tiny.write_checkpoint(
        folder / "whole", **sizes, num_attention_heads=2, num_key_value_heads=1
    )
    judge = Judge(open_checkpoint_at)
    judge.check(str(whole))
    rng = random.Random(3)
    for number in range(count):
        place = folder / str(number)
        shutil.copytree(whole, place)
        damage(place, rng)
        judge.judge(str(place))
        if number >= 20:
            shutil.rmtree(place)
    return judge.findings("checkpoints")


def reloads(folder: Path) -> list[Finding]:
    """The first twenty, as a server's operator would load them."""
    (folder / "admin").write_text("campaign-admin")
    seen: Counter[int] = Counter()
    unlike = 0
    with serving("--admin-keys", folder / "admin", "--engine", "onnx") as served:
        before = served.ask()[2]
        for number in range(20):
            body = {"checkpoint": str(folder / str(number))}
            status = served.ask(body, "/admin/reload", authorization="Bearer campaign-admin")[0]
            seen[status] += 1
            if status == 200:
                served.ask(
                    {"checkpoint": "default"},
                    "/admin/reload",
                    authorization="Bearer campaign-admin",
                )
            unlike += json.loads(served.ask()[2])["answers"] != json.loads(before)["answers"]
    other = sum(n for status, n in seen.items() if status not in (200, 409, 422))
    return [
        noted("reloads of twenty: loaded, refused", f"{seen[200]}, {seen[409] + seen[422]}"),
        none_of("reloads: other statuses", other),
        none_of("reloads: answers of the old checkpoint changed", unlike),
    ]


def texts(what: str, count: int, use: Callable[[str], None], whole: Any) -> list[Finding]:
    judge = Judge(use)
    judge.check(json.dumps(whole))
    rng = random.Random(4)
    for _ in range(count):
        value = copy.deepcopy(whole)
        for _ in range(rng.randint(1, 3)):
            value = rng.choice([hurt, broken])(rng, value)
        judge.judge(json.dumps(value))
    return judge.findings(what)


def run(size: str) -> list[Finding]:
    from tests.calibrate.test_policy import POLICY

    count = COUNT[size]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        return [
            *checkpoints(count, folder),
            *reloads(folder),
            *texts("schemas", 10 * count, use_schema, QUESTIONS),
            *texts("policies", 10 * count, use_policy, POLICY.as_json()),
        ]
