"""kill −9 at random moments: a server with a log, teach, train, a batch, builds of runtime forms.

Small models stand in for the real one, so that a kill falls into the writing of files and not
into arithmetic. After every kill what is on disk is checked; what can be resumed is.
"""

from __future__ import annotations

import hashlib
import http.client
import itertools
import json
import multiprocessing
import os
import random
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from campaign.report import Finding, at_most, none_of, noted

KILLS = {"short": 5, "full": 50}
CLIENTS = 4
# Everything a child needs is imported once, in the process that children are forked from.
PROCESSES = multiprocessing.get_context("forkserver")
PROCESSES.set_forkserver_preload(
    [
        "tests.attacks.server",
        "tests.scale.support",
        "tests.teach.test_light",
        "tests.lab.train.test_loop",
    ]
)


@contextmanager
def child(work: Callable[..., None], *arguments: Any) -> Iterator[tuple[Any, Connection]]:
    """A process at ``work(pipe, …)``, killed at the end if it has not ended."""
    ours, theirs = PROCESSES.Pipe()
    process = PROCESSES.Process(target=work, args=(theirs, *arguments), daemon=True)
    process.start()
    theirs.close()
    try:
        yield process, ours
    finally:
        process.kill()
        process.join()
        ours.close()


def files_under(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.suffix != ".lock" and path.name != ".lock"
    }


# A server with a log.


def serve(pipe: Connection, log: str, required: bool) -> None:
    from tests.attacks.server import opened

    from thisthat.audit.log import DecisionLog
    from thisthat.serve.http.run import Server
    from thisthat.serve.service import Service
    from thisthat.serve.settings import Settings

    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    server = Server(Service(Settings(port=0), opened, log=DecisionLog(log, required=required)))

    def tell() -> None:
        while not (server.started and server.service.checkpoints.loaded):
            time.sleep(0.01)
        pipe.send(int(server.address.rpartition(":")[2]))

    threading.Thread(target=tell, daemon=True).start()
    server.run()


@dataclass
class Asked:
    """Ids of decisions that clients have been given, with the moment."""

    given: dict[str, float] = field(default_factory=dict)
    refused: int = 0


def keep_asking(port: int, asked: Asked) -> None:
    body = json.dumps({"state": "The parcel never came.", "questions": {"q": "Is it lost?"}})
    client = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    try:
        while True:
            client.request("POST", "/v1/systemone", body, {"content-type": "application/json"})
            answer = client.getresponse()
            answer.read()
            if answer.status == 200:
                asked.given[answer.headers["x-request-id"]] = time.monotonic()
            else:
                asked.refused += 1
    except (OSError, http.client.HTTPException):
        client.close()


def kill_servers(folder: Path, kills: int, required: bool) -> list[Finding]:
    from thisthat.audit.store import SQLiteStore
    from thisthat.audit.verify import verify

    rng = random.Random(1)
    log = folder / f"log{required:d}.sqlite"
    given = missing = unwhole = 0
    ages = [0.0]
    for _ in range(kills):
        asked = Asked()
        with child(serve, str(log), required) as (process, pipe):
            port = pipe.recv()
            clients = [
                threading.Thread(target=keep_asking, args=(port, asked)) for _ in range(CLIENTS)
            ]
            for client in clients:
                client.start()
            time.sleep(rng.uniform(0.1, 0.8))
            killed = time.monotonic()
            process.kill()
        for client in clients:
            client.join()
        store = SQLiteStore(log)
        unwhole += not verify(store).whole
        lost = {each for each in asked.given if not list(store.read({"request": each}))}
        given, missing = given + len(asked.given), missing + len(lost)
        ages += [max(0.0, killed - asked.given[each]) for each in lost]
    how = "serve --log-sync" if required else "serve"
    found = [noted(f"{how}: kills, decisions acknowledged", f"{kills}, {given:,}")]
    if required:
        found.append(none_of(f"{how}: acknowledged, missing from the log", missing))
    else:
        oldest = max(ages) * 1000
        found.append(
            at_most(
                f"{how}: {missing} missing; the oldest acknowledged before the kill",
                oldest,
                100,
                "ms",
            )
        )
    return [*found, none_of(f"{how}: log verify not clean", unwhole)]


# Builds of runtime forms.


def build_form(data: BinaryIO, name: str) -> bytes:
    for number in range(200):
        data.write(hashlib.sha256(b"%d" % number).digest() * 4096)
        data.flush()
        time.sleep(0.0005)
    return name.encode()


def make_form(pipe: Connection, folder: str) -> None:
    from thisthat.engine.runtime_form import open_form

    pipe.send("begun")
    open_form({"form": "campaign"}, build_form, Path(folder))


def kill_forms(folder: Path, kills: int) -> list[Finding]:
    whole = folder / "whole"
    seconds = run_to_end(make_form, str(whole))
    expected = files_under(whole)
    return resumed(
        "runtime form",
        make_form,
        folder / "forms",
        kills,
        seconds,
        lambda at: files_under(at) != expected,
    )


# Batches, teaching, training.


def answer_batch(pipe: Connection, folder: str) -> None:
    from tests.scale.support import Stub, numbered, stub_batch

    class Slow(Stub):
        def decide_each(self, states: Any, *more: Any, **named: Any) -> list[Any]:
            time.sleep(0.002)
            return super().decide_each(states)

    place = Path(folder)
    place.mkdir(exist_ok=True)
    rows = place / "rows.jsonl"
    if not rows.exists():
        numbered(rows, 1000)
    batch = stub_batch(rows, place / "out", part_rows=5)
    batch.decider._opened = Slow()
    pipe.send("begun")
    batch.run()


def kill_batches(folder: Path, kills: int) -> list[Finding]:
    from tests.scale.support import read_parts

    def wrong(at: Path) -> bool:
        ids = [row["id"] for row in read_parts(at / "out")]
        return ids != [f"t-{number}" for number in range(1000)]

    seconds = run_to_end(answer_batch, str(folder / "whole"))
    return resumed("batch", answer_batch, folder / "batch", kills, seconds / 4, wrong)


def teach_light(pipe: Connection, folder: str) -> None:
    from tests.teach.test_light import labelled

    from thisthat.checkpoint import open_checkpoint
    from thisthat.decide.opening import open_decider
    from thisthat.teach.light import teach

    place = Path(folder)
    with open_decider(place.parent / "parent", engine="onnx", threads=1) as decider:
        pipe.send("begun")
        if not (place / "taught").exists():
            teach(decider, open_checkpoint(place.parent / "parent"), labelled(), place / "taught")


def kill_teach(folder: Path, kills: int) -> list[Finding]:
    from tests.lab.train import tiny

    from thisthat.checkpoint import open_checkpoint

    sizes = {"hidden_size": 128, "intermediate_size": 192, "head_dim": 64}
    tiny.write_checkpoint(folder / "parent", **sizes, num_attention_heads=2, num_key_value_heads=1)
    seconds = run_to_end(teach_light, str(folder / "whole"))
    expected = files_under(folder / "whole" / "taught")

    def wrong(at: Path) -> bool:
        open_checkpoint(at / "taught").weights()
        return files_under(at / "taught") != expected

    return resumed("teach", teach_light, folder, kills, seconds, wrong)


def train_small(pipe: Connection, folder: str) -> None:
    import torch
    from tests.lab.train.test_loop import run_in

    from thisthat_lab.train import saved
    from thisthat_lab.train.loop import train

    torch.set_num_threads(1)
    place = Path(folder)
    changes = {"schedule": {"steps": 60, "warm_up_steps": 2}, "watch": {"save_every": 2}}
    run = run_in(place.parent, output=place.name, **changes)
    pipe.send("begun")
    train(run, lambda line: None, resume=(place / saved.FILE).exists())


def kill_train(folder: Path, kills: int) -> list[Finding]:
    from tests.lab.train import tiny
    from tests.lab.train.test_loop import weights

    tiny.write_checkpoint(folder / "model")
    tiny.write_colours(folder / "colours.jsonl", 300)
    seconds = run_to_end(train_small, str(folder / "whole"))
    expected = weights(folder / "whole")

    def wrong(at: Path) -> bool:
        found = weights(at)
        return not all(np.array_equal(found[name], expected[name]) for name in expected)

    return resumed("train", train_small, folder, kills, seconds / 4, wrong)


def run_to_end(work: Callable[..., None], folder: str) -> float:
    """How long it takes undisturbed, from ``begun`` on."""
    with child(work, folder) as (process, pipe):
        pipe.recv()
        started = time.monotonic()
        process.join()
        assert process.exitcode == 0, f"{work.__name__} failed without a kill"
        return time.monotonic() - started


def resumed(
    what: str,
    work: Callable[..., None],
    folder: Path,
    kills: int,
    longest: float,
    wrong: Callable[[Path], bool],
) -> list[Finding]:
    """Kill it so often, each time within ``longest`` seconds; anew in a new folder when it ends."""
    rng = random.Random(2)
    killed = failed = finished = bad = 0
    for number in itertools.count():
        place = folder / str(number)
        place.parent.mkdir(parents=True, exist_ok=True)
        while True:
            with child(work, str(place)) as (process, pipe):
                with suppress(EOFError):
                    pipe.recv()
                limit = rng.uniform(0, longest) if killed < kills else None
                process.join(limit)
                ended = process.exitcode
            if ended is None:
                killed += 1
            elif ended:
                failed += 1
            else:
                break
            if failed > 3:
                break
        finished += 1
        bad += failed > 3 or wrong(place) or bool(leftovers(place))
        if killed >= kills or failed > 3:
            break
    return [
        noted(
            f"{what}: kills, in so many runs that then came to their end", f"{killed}, {finished}"
        ),
        none_of(f"{what}: could not go on after a kill", failed),
        none_of(f"{what}: results unlike an undisturbed run's, or with leftovers", bad),
    ]


def leftovers(folder: Path) -> list[Path]:
    return [path for path in folder.rglob(".*") if path.name != ".lock"]


def run(size: str) -> list[Finding]:
    kills = KILLS[size]
    found: list[Finding] = []
    with tempfile.TemporaryDirectory() as name:
        for number, part in enumerate([kill_forms, kill_batches, kill_teach, kill_train]):
            folder = Path(name) / str(number)
            folder.mkdir()
            found += part(folder, kills)
        found += kill_servers(Path(name), kills, required=False)
        found += kill_servers(Path(name), kills, required=True)
    return found
