"""The teaching process as its server sees it: one at a time, bounded, never left behind."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import tempfile
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest

from tests.serve.support import run, until
from thisthat.serve.problems import Problem
from thisthat.serve.teaching.teacher import Teacher
from thisthat.serve.teaching.worker import Order

ORDER = Order("teach", "default", 1.0, {}, {"q": "Is it so?"}, 1 << 30, ".")
TELL = "import json, os, sys, time\ndef tell(x): print(json.dumps(x), flush=True)\n"


def teacher(script: str) -> Teacher:
    return Teacher({}, (sys.executable, "-c", TELL + script))


async def told(given: Teacher, seconds: float = 60, rows: Any = ()) -> list[dict[str, Any]]:
    return [line async for line in given.lines(ORDER, seconds, rows)]


def alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


def test_the_process_gets_its_order_and_its_rows() -> None:
    script = (
        "order = json.load(sys.stdin)\n"
        "tell({'do': order['do'], 'rows': open('labels.jsonl', encoding='utf-8').read()})"
    )
    lines = run(told(teacher(script), rows=[{"state": "ä", "answers": {}}, {"state": 2}]))
    assert lines[0]["do"] == "teach"
    assert [json.loads(row) for row in lines[0]["rows"].splitlines()] == [
        {"state": "ä", "answers": {}},
        {"state": 2},
    ]


def test_one_that_takes_too_long_is_ended() -> None:
    found: list[int] = []

    async def work() -> None:
        lines = teacher("tell({'process': os.getpid()}); time.sleep(600)").lines(ORDER, 3)
        found.append((await anext(lines))["process"])
        await anext(lines)

    with pytest.raises(Problem, match="took longer than 3 seconds") as caught:
        run(work())
    assert caught.value.status == 504
    assert not any(map(alive, found))


def test_one_that_crashes_is_told_with_its_last_words() -> None:
    script = "tell({'a': 1}); os.write(2, b'first\\nValueError: no such thing\\n'); os._exit(9)"
    with pytest.raises(Problem, match="ended: ValueError: no such thing") as caught:
        run(told(teacher(script)))
    assert caught.value.status == 500


def test_a_second_one_is_refused_while_the_first_runs() -> None:
    async def work() -> None:
        given = teacher("tell({'process': os.getpid()}); time.sleep(600)")
        async with aclosing(given.lines(ORDER, 60)) as first:
            line = await anext(first)
            with pytest.raises(Problem, match="another teach is running") as caught:
                await anext(given.lines(ORDER, 60))
            assert caught.value.status == 409
        # Whoever stops listening ends the process, and the next one may begin.
        until(lambda: not alive(line["process"]))
        async with aclosing(given.lines(ORDER, 60)) as next_one:
            assert "process" in await anext(next_one)

    run(work())


def test_close_ends_the_process_and_removes_what_was_taught() -> None:
    async def work() -> tuple[int, Path]:
        given = teacher("tell({'process': os.getpid()}); time.sleep(600)")
        folder = given.folder
        lines = given.lines(ORDER, 60)
        line = await anext(lines)
        await asyncio.to_thread(given.close)
        await lines.aclose()
        return line["process"], folder

    process, folder = run(work())
    assert not alive(process)
    assert not folder.exists()


def test_names_are_never_given_twice() -> None:
    given = teacher("")
    assert given.free_name([]) == "taught-1"
    assert given.free_name(["taught-2"]) == "taught-3"
    given.close()


def test_a_disk_that_is_full_frees_the_place(monkeypatch: pytest.MonkeyPatch) -> None:
    given = teacher("tell({'process': os.getpid()})")

    def full(*_: Any, **__: Any) -> None:
        raise OSError("no space left on device")

    with monkeypatch.context() as change:
        change.setattr(tempfile, "TemporaryDirectory", full)
        with pytest.raises(OSError, match="no space"):
            run(told(given))
    assert len(run(told(given))) == 1


def test_what_is_not_kept_is_removed_and_its_name_stays_taken() -> None:
    given = teacher("")
    for name in ("old", "new"):
        (given.folder / name).mkdir()
        (given.folder / name / "heads").write_text(name, encoding="utf-8")
    given.keep({"new"})
    assert not list((given.folder / "old").iterdir())
    assert (given.folder / "new" / "heads").is_file()
    given.close()
