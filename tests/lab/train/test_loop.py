from __future__ import annotations

import itertools
import json
import os
import shutil
import signal
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pytest
import torch

from tests.lab.train import tiny
from thisthat.checkpoint import open_checkpoint
from thisthat.checkpoint.ship import ship_delta
from thisthat.errors import InvalidInputError
from thisthat.items.files import write_items
from thisthat_lab.suites.contamination import ContaminationError
from thisthat_lab.train import loop, saved
from thisthat_lab.train.config import Run, Schedule, parse_run
from thisthat_lab.train.loop import TrainingStoppedError, dry_run, train
from thisthat_lab.train.model.attention import CAUSAL
from thisthat_lab.train.schedule import Progress, rate_factor, share_done
from thisthat_lab.train.step import take_step


def run_in(folder: Path, **changes: Any) -> Run:
    return parse_run(tiny.run_table(folder, **changes), folder, "run.toml")


def quietly(_: str) -> None:
    pass


def metrics(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]


def weights(folder: Path) -> dict[str, np.ndarray[Any, Any]]:
    return open_checkpoint(folder / "checkpoint").weights()


def assert_same_weights(one: Path, other: Path) -> None:
    first, second = weights(one), weights(other)
    assert first.keys() == second.keys()
    for name, tensor in first.items():
        np.testing.assert_array_equal(tensor, second[name], err_msg=name)


def test_a_run_learns_and_leaves_a_checkpoint_that_opens(workplace: Path) -> None:
    lines: list[str] = []
    run = run_in(
        workplace,
        schedule={"steps": 400, "warm_up_steps": 5},
        watch={"report_every": 100, "evaluate_every": 200},
        evaluations=[{"name": "held", "file": "held_out.jsonl"}],
        augment={"schema_first": 0, "distractors": 0, "abstain_offer": 0},
    )
    finished = train(run, lines.append)
    rows = metrics(workplace / "run")
    training = [row for row in rows if row["event"] == "train"]
    held = [row for row in rows if row["event"] == "evaluation"]
    assert finished.complete
    assert [row["step"] for row in training] == [100, 200, 300, 400]
    assert [row["step"] for row in held] == [200, 400]
    assert training[-1]["loss"] < 0.5 * training[0]["loss"]
    assert held[-1]["accuracy/boolean"] > 0.9
    assert finished.evaluations["held"]["accuracy"] == held[-1]["accuracy"]
    assert set(training[0]["by_family"]) == {"colour", "red", "size"}
    assert (workplace / "run" / "plot.png").stat().st_size > 1000

    checkpoint = open_checkpoint(workplace / "run" / "checkpoint")
    assert checkpoint.card.name == "tiny"
    assert checkpoint.card.provenance["steps"] == 400
    assert list(checkpoint.card.provenance["data_sha256"]) == ["colours.jsonl", "held_out.jsonl"]
    before = open_checkpoint(workplace / "model").weights()
    assert all(
        (before[name] != tensor).any() for name, tensor in weights(workplace / "run").items()
    )
    record = json.loads((workplace / "run" / "run.json").read_text())
    assert record["settings"]["seed"] == 7
    assert record["predicted_peak_bytes"] > 0
    assert len(record["shapes"]) <= 4


@pytest.mark.parametrize("workers", [0, 2])
def test_a_stopped_and_resumed_run_is_bit_identical(workplace: Path, workers: int) -> None:
    data = {"longest": 160, "tokens_per_batch": 960, "chunk_rows": 16, "shapes": 4}
    run = run_in(
        workplace,
        schedule={"steps": 12, "warm_up_steps": 2},
        data={**data, "workers": workers},
        optimiser={"rate": 3e-3, "accumulate": 2},
        sources=[{"name": "colours", "file": "colours.jsonl", "outcomes": ["red"]}],
    )
    train(run, quietly)
    parts = run.model_copy(update={"output": workplace / "parts"})
    first = train(parts, quietly, stop_after_minutes=0)
    assert not first.complete
    assert first.progress.steps == 1
    while not train(parts, quietly, resume=True, stop_after_minutes=1e-3).complete:
        pass
    assert_same_weights(workplace / "run", workplace / "parts")
    one, other = metrics(workplace / "run")[-1], metrics(workplace / "parts")[-1]
    assert (one["step"], one["tokens"]) == (other["step"], other["tokens"])


def test_how_many_workers_there_are_changes_nothing(workplace: Path) -> None:
    data = {"longest": 160, "tokens_per_batch": 960, "chunk_rows": 16, "shapes": 4}
    for workers in (0, 3):
        train(run_in(workplace, output=f"run{workers}", data={**data, "workers": workers}), quietly)
    assert_same_weights(workplace / "run0", workplace / "run3")


def test_a_killed_run_goes_on_from_its_last_save(
    workplace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = run_in(workplace, schedule={"steps": 9, "warm_up_steps": 2}, watch={"save_every": 3})
    train(run, quietly)
    killed = run.model_copy(update={"output": workplace / "killed"})

    def die_at_step_8(*arguments: Any) -> Any:
        if arguments[5] == 8:
            raise KeyboardInterrupt
        return take_step(*arguments)

    monkeypatch.setattr(loop, "take_step", die_at_step_8)
    with pytest.raises(KeyboardInterrupt):
        train(killed, quietly)
    monkeypatch.undo()
    assert train(killed, quietly, resume=True).complete
    assert_same_weights(workplace / "run", workplace / "killed")


def test_a_term_signal_saves_and_stops(workplace: Path) -> None:
    run = run_in(workplace, schedule={"steps": 1000})

    def terminate(line: str) -> None:
        if line.startswith("step 4 "):
            os.kill(os.getpid(), signal.SIGTERM)

    finished = train(run, terminate)
    assert not finished.complete
    assert finished.progress.steps == 4
    assert (workplace / "run" / saved.FILE).exists()


def test_resume_refuses_other_settings_data_or_base(workplace: Path) -> None:
    run = run_in(workplace)
    with pytest.raises(InvalidInputError, match="nothing was saved yet"):
        train(run, quietly, resume=True)
    train(run, quietly)
    with pytest.raises(TrainingStoppedError, match="already holds a run"):
        train(run, quietly)
    for change in ({"seed": 8}, {"optimiser": {"rate": 1e-3}}):
        with pytest.raises(InvalidInputError, match="other settings, data or base"):
            train(run_in(workplace, **change), quietly, resume=True)
    other = tiny.write_checkpoint(workplace / "other", rope_theta=500.0, intermediate_size=96)
    (workplace / "model").unlink()
    (workplace / "model").symlink_to(other)
    with pytest.raises(InvalidInputError, match="other settings, data or base"):
        train(run, quietly, resume=True)


def test_resume_refuses_another_delta_on_the_same_base(workplace: Path) -> None:
    base = open_checkpoint(workplace / "model")
    for number in (1, 2):
        moved = {name: tensor * (1 + number / 100) for name, tensor in base.weights().items()}
        ship_delta(base, moved, workplace / f"delta {number}", base.card, bits=8.0)
    (workplace / "model").unlink()
    (workplace / "model").symlink_to(workplace / "delta 1")
    run = run_in(workplace, schedule={"steps": 2})
    train(run, quietly)
    (workplace / "model").unlink()
    (workplace / "model").symlink_to(workplace / "delta 2")
    with pytest.raises(InvalidInputError, match="other settings, data or base"):
        train(run, quietly, resume=True)


def test_a_loss_that_is_no_number_stops_at_its_row(
    workplace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = run_in(workplace, schedule={"steps": 20}, watch={"report_every": 1, "save_every": 1})

    def poisoned(backbone: Any, stepper: Any, feds: Any, *rest: Any) -> Any:
        if rest[2] == 4:
            feds[0].weights[5:] *= 1.0
            feds[0].targets[5] = float("nan")
        return take_step(backbone, stepper, feds, *rest)

    monkeypatch.setattr(loop, "take_step", poisoned)
    with pytest.raises(TrainingStoppedError) as caught:
        train(run, quietly)
    message = str(caught.value)
    assert message.startswith("step 4: the loss is nan at colours, row ")
    assert "the last good state is" in message
    state = saved.load_run(workplace / "run", _hash_of(workplace))
    assert state.progress.steps == 3
    assert all(t.isfinite().all() for t in state.tensors.values() if t.is_floating_point())


def _hash_of(folder: Path) -> str:
    record = json.loads((folder / "run" / "run.json").read_text())
    return str(record["run_hash"])


def test_a_full_disk_leaves_the_old_state(workplace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = run_in(workplace, watch={"save_every": 2, "report_every": 1})
    real = saved.write_atomically
    writes = 0

    def full(path: Path, content: Any) -> None:
        nonlocal writes
        writes += 1
        if writes < 2:
            real(path, content)
            return

        def fail(file: BinaryIO) -> None:
            file.write(content[: len(content) // 2])
            raise OSError(28, "No space left on device")

        real(path, fail)

    monkeypatch.setattr(saved, "write_atomically", full)
    with pytest.raises(OSError, match="No space left"):
        train(run, quietly)
    assert saved.load_run(workplace / "run", _hash_of(workplace)).progress.steps == 2
    assert not list((workplace / "run").glob(".*"))


def test_a_training_row_that_is_evaluated_stops_the_run(workplace: Path) -> None:
    shared = tiny.colour_items(30, seed=1)[3:6] + tiny.colour_items(60, seed=4)
    write_items(workplace / "colours.jsonl", shared)
    evaluations = [{"name": "held", "file": "held_out.jsonl"}]
    with pytest.raises(ContaminationError, match="3 of 63 training items"):
        train(run_in(workplace, evaluations=evaluations), quietly)
    lines: list[str] = []
    run = run_in(workplace, evaluations=evaluations, contamination="leave out")
    train(run, lines.append)
    assert "colours.jsonl: 3 rows show an evaluated state and are left out" in lines
    assert not any("checked against no file" in line for line in lines)


def test_a_dry_run_prints_shapes_and_memory_and_writes_nothing(workplace: Path) -> None:
    lines: list[str] = []
    dry_run(run_in(workplace), lines.append)
    text = "\n".join(lines)
    assert "shapes (rows x tokens):" in text
    assert "peak" in text
    assert "colours/tiny/colour/choice" in text
    assert "colours.jsonl: checked against no file" in text
    assert not (workplace / "run").exists()


@pytest.mark.parametrize("budget", [{"steps": 200}, {"tokens": 200}, {"minutes": 200 / 60}])
@pytest.mark.parametrize("shape", ["linear", "cosine"])
def test_the_rate_always_ends_cool(budget: dict[str, Any], shape: str) -> None:
    schedule = Schedule.model_validate(
        {**budget, "shape": shape, "cool_down": 0.5, "warm_up_steps": 9}
    )
    factors = [rate_factor(schedule, Progress(i, i, float(i))) for i in range(201)]
    assert factors[0] == 0.1
    assert max(factors) == 1
    assert factors[9:101] == [1] * 92
    assert all(a >= b for a, b in itertools.pairwise(factors[100:]))
    assert factors[199] < 0.02
    assert factors[200] == 0
    assert share_done(schedule, Progress(200, 200, 200.0)) == pytest.approx(1)


def test_bfloat16_weights_learn_through_float32_masters(workplace: Path) -> None:
    run = run_in(
        workplace,
        model={"initial": "model", "dtype": "bfloat16"},
        data={"longest": 160, "tokens_per_batch": 320, "chunk_rows": 32, "shapes": 4},
        schedule={"steps": 6},
        optimiser={"rate": 1e-5, "accumulate": 2},
    )
    train(run, quietly)
    before = open_checkpoint(workplace / "model").weights()
    after = weights(workplace / "run")
    moved = np.abs(
        after["model.layers.0.mlp.up_proj.weight"] - before["model.layers.0.mlp.up_proj.weight"]
    )
    # Far below the spacing of bfloat16 numbers of this size, yet not lost.
    assert 0 < np.median(moved) < 3e-4


def test_adapters_train_and_resume(workplace: Path) -> None:
    run = run_in(workplace, model={"initial": "model", "train": "lora", "rank": 2})
    train(run, quietly)
    parts = run.model_copy(update={"output": workplace / "parts"})
    train(parts, quietly, stop_after_minutes=0)
    assert train(parts, quietly, resume=True).complete
    assert_same_weights(workplace / "run", workplace / "parts")


def test_a_looped_run_says_so_on_its_card(workplace: Path) -> None:
    model = {"initial": "model", "loop": {"first": 0, "last": 1, "times": 2}}
    train(run_in(workplace, model=model), quietly)
    card = open_checkpoint(workplace / "run" / "checkpoint").card
    assert card.loop is not None
    assert (card.loop.first, card.loop.last, card.loop.times) == (0, 1, 2)
    again = run_in(workplace, output="again", model={"initial": "run/checkpoint"})
    train(again, quietly)
    assert open_checkpoint(workplace / "again" / "checkpoint").card.loop == card.loop


def test_cuda_is_refused_where_there_is_none(workplace: Path) -> None:
    if torch.cuda.is_available():
        pytest.skip("there is a CUDA device")
    with pytest.raises(InvalidInputError, match="there is no CUDA device"):
        train(run_in(workplace, device="cuda"), quietly)
    with pytest.raises(InvalidInputError, match="a cpu device cannot be capped"):
        train(run_in(workplace, memory={"cap_gib": 16}), quietly)


def test_rehearsal_keeps_the_next_token_more_likely(workplace: Path) -> None:
    lost = {}
    for rehearsal in (0.0, 1.0):
        run = run_in(
            workplace,
            output=f"run-{rehearsal:g}",
            schedule={"steps": 60, "warm_up_steps": 0},
            objective={"rehearsal": rehearsal, "rehearsed": 64},
        )
        prepared = loop.prepare(run, quietly)
        session = loop.Session(prepared, quietly)
        session.write_record()
        session.go(None)
        tokens = torch.tensor([prepared.checkpoint.encode("red 1 n0-3\n\nQuestion: Which colour?")])
        places = torch.arange(tokens.shape[1] - 1)
        states = session.backbone.states_at(tokens, torch.zeros_like(places), places, CAUSAL)
        losses = session.backbone.next_token_losses(states, tokens[0, 1:])
        lost[rehearsal] = losses.mean().item()
    assert lost[1.0] < lost[0.0] - 0.5


def test_a_plain_instruction_model_is_trained_without_its_template(workplace: Path) -> None:
    folder = workplace / "model"
    shared = folder.resolve()
    folder.unlink()
    shutil.copytree(shared, folder)
    (folder / "chat_template.jinja").write_text("{{ messages[0].content }}")
    assert open_checkpoint(folder).card.prompt.chat
    train(run_in(workplace), quietly)
    assert not open_checkpoint(workplace / "run" / "checkpoint").card.prompt.chat
