"""The loop of a run: steps under a budget, reports, evaluations, saves, a checkpoint at the end.

One run is one folder: the settings, what the run stood on, its metrics, a state to go on from, and
the checkpoint it ends with. Losses are looked at when a report, an evaluation or a save is due,
and nothing is saved that was not looked at: a run that stops at a NaN keeps its last good state.
"""

from __future__ import annotations

import json
import math
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

import thisthat
from thisthat.checkpoint.card import Card, Loop, PathBase
from thisthat.checkpoint.model import Weights
from thisthat.checkpoint.ship import ship_whole
from thisthat.errors import ThisThatError
from thisthat.files import write_atomically
from thisthat.items.item import KINDS
from thisthat_lab.train.average import WeightMean
from thisthat_lab.train.config import Run
from thisthat_lab.train.data.stream import Fed, Position, feed
from thisthat_lab.train.evaluate import evaluate
from thisthat_lab.train.flops import flops_per_token, peak_flops
from thisthat_lab.train.memory import cap_memory, measured_peak, predict_memory
from thisthat_lab.train.model.backbone import TrainedBackbone
from thisthat_lab.train.optimiser import Stepper
from thisthat_lab.train.plot import plot_metrics
from thisthat_lab.train.prepare import Prepared, Say, prepare
from thisthat_lab.train.saved import FILE as RESUME_FILE
from thisthat_lab.train.saved import Saved, load_run, save_run
from thisthat_lab.train.schedule import Progress, rate_factor, share_done
from thisthat_lab.train.step import Trace, take_step

Watcher = Callable[[dict[str, Any]], None]

METRICS = "metrics.jsonl"
CHECKPOINT = "checkpoint"


class TrainingStoppedError(ThisThatError):
    """The run cannot go on; the message says at which row, and what was kept."""


@dataclass(frozen=True)
class Finished:
    """What a run came to. ``complete`` is False when it was stopped before its budget was used."""

    folder: Path
    progress: Progress
    evaluations: dict[str, dict[str, float]]
    complete: bool


def train(
    run: Run,
    say: Say,
    *,
    resume: bool = False,
    stop_after_minutes: float | None = None,
    watch: Watcher | None = None,
) -> Finished:
    """Run to the end of the budget, or stop early and save when asked to (or on SIGTERM).

    ``say`` gets lines for people, ``watch`` every row of the metrics as it is written.
    Raises TrainingStoppedError for a loss that is not a number, InvalidInputError for data or
    settings that cannot be used, OSError when the disk does not take a save.
    """
    _refuse_overwrite(run, resume)
    torch.manual_seed(run.seed)
    lengths = _saved_lengths(run.output) if resume else None
    prepared = prepare(run, say, lengths)
    session = Session(prepared, say, watch)
    if resume:
        session.load()
    else:
        session.write_record()
    finished = session.go(stop_after_minutes)
    if finished.complete:
        session.write_checkpoint(finished.evaluations)
        plot_metrics(run.output / METRICS, run.output / "plot.png", say)
    return finished


def dry_run(run: Run, say: Say) -> None:
    """Say what a run would do: data, shapes and predicted memory; nothing is written."""
    prepared = prepare(run, say)
    say("share of rows by stratum:")
    for name, share in sorted(prepared.maker.shares().items(), key=lambda pair: -pair[1]):
        say(f"  {share:7.2%}  {name}")
    say(f"{len(prepared.shapes)} shapes (rows x tokens):")
    say("  " + ", ".join(f"{shape.rows}x{shape.length}" for shape in prepared.shapes))
    backbone = prepared.backbone()
    count = sum(parameter.numel() for _, parameter in backbone.trained())
    say(f"trained parameters: {count / 1e6:.1f} M on {prepared.device}")
    for line in predict_memory(backbone, run, prepared.shapes).lines():
        say(f"  {line}")


class Session:
    """A run in progress."""

    def __init__(self, prepared: Prepared, say: Say, watch: Watcher | None = None) -> None:
        self.prepared = prepared
        self._watch = watch
        self.run = prepared.run
        self.device = prepared.device
        self.folder = prepared.run.output
        self.say = say
        self.progress = Progress()
        self.position = Position()
        cap_memory(self.device, self.run.memory.cap_gib)
        self.backbone: TrainedBackbone = prepared.backbone()
        self.backbone.train()
        self.stepper = Stepper(self.backbone.trained(), self.run.optimiser)
        self.mean = WeightMean(self.stepper.names)
        self.flops = flops_per_token(self.backbone)
        if self.run.model.compile != "off":
            self.backbone.compile_layers(dynamic=self.run.model.compile == "dynamic")
        self._traces: list[Trace] = []
        self._report_start = (time.perf_counter(), 0)
        self._too_long = self._protected = 0
        self._evaluated: tuple[int, dict[str, dict[str, float]]] = (-1, {})

    def load(self) -> None:
        """Go on from the saved state."""
        saved = load_run(self.folder, self.prepared.run_hash)
        self.stepper.load(saved.tensors)
        self.mean.load(saved.tensors, self.device)
        self.progress, self.position = saved.progress, saved.position
        _truncate_metrics(self.folder / METRICS, self.progress.steps)
        self.say(f"resumed after step {self.progress.steps}")

    def write_record(self) -> None:
        """The run folder with the settings and what the run stands on."""
        plan = predict_memory(self.backbone, self.run, self.prepared.shapes)
        record = {
            "settings": self.run.model_dump(mode="json"),
            "version": thisthat.__version__,
            "code": _code_version(),
            "torch": torch.__version__,
            "device": _device_name(self.device),
            "data_sha256": self.prepared.data_hashes,
            "base_sha256": self.prepared.checkpoint.base_sha256,
            "run_hash": self.prepared.run_hash,
            "shares": self.prepared.maker.shares(),
            "shapes": [[shape.rows, shape.length] for shape in self.prepared.shapes],
            "predicted_peak_bytes": plan.peak,
        }
        write_atomically(self.folder / "run.json", json.dumps(record, indent=2) + "\n")
        write_atomically(self.folder / METRICS, b"")

    def go(self, stop_after_minutes: float | None) -> Finished:
        """Step until the budget is used or someone asks to stop."""
        run = self.run
        started, before = time.perf_counter(), self.progress.seconds
        self._report_start = (started, self.progress.tokens)
        batches = feed(
            self.prepared.maker,
            self.prepared.shapes,
            self.position,
            run.data.workers,
            pin=self.device.type == "cuda",
        )
        complete = True
        with _stop_signal() as asked, closing(batches):
            while share_done(run.schedule, self.progress) < 1:
                self._step([next(batches) for _ in range(run.optimiser.accumulate)])
                elapsed = time.perf_counter() - started
                self.progress.seconds = before + elapsed
                step = self.progress.steps
                if step % run.watch.report_every == 0:
                    self.report()
                if run.watch.evaluate_every and step % run.watch.evaluate_every == 0:
                    self.evaluate()
                out_of_time = stop_after_minutes is not None and elapsed > 60 * stop_after_minutes
                if asked() or out_of_time:
                    complete = share_done(run.schedule, self.progress) >= 1
                    break
                if run.watch.save_every and step % run.watch.save_every == 0:
                    self.save()
        self.report()
        self.save()
        if not complete:
            self.say(f"stopped after step {self.progress.steps}; go on with --resume")
            return Finished(self.folder, self.progress, {}, complete=False)
        self._settle()
        return Finished(self.folder, self.progress, self.evaluate(), complete=True)

    def _settle(self) -> None:
        """Take the mean of the last weights where there is one; what was saved has the last."""
        if self.mean.count:
            self.mean.put_into(self.stepper.masters)
            self.mean.put_into(self.stepper.parameters)
            self._evaluated = (-1, {})
            self.say(f"the checkpoint is the mean of the weights after {self.mean.count} steps")

    def _step(self, feds: list[Fed]) -> None:
        schedule = self.run.schedule
        rate = self.run.optimiser.rate * rate_factor(schedule, self.progress)
        averaged = share_done(schedule, self.progress) >= 1 - schedule.average
        trace = take_step(
            self.backbone,
            self.stepper,
            feds,
            rate,
            self.run.objective,
            self.progress.steps + 1,
            self.device,
        )
        if schedule.average and averaged:
            self.mean.add(self.stepper.masters)
        self._traces.append(trace)
        self.progress.steps += 1
        self.progress.tokens += sum(fed.batch.tokens_used for fed in feds)
        self.position = feds[-1].position
        self._too_long += sum(fed.too_long for fed in feds)
        self._protected += sum(fed.protected for fed in feds)
        self._rate = rate

    def report(self) -> None:
        """Look at the steps since the last report; raises when one of them went wrong."""
        if not self._traces:
            return
        losses = torch.cat([loss for trace in self._traces for loss in trace.losses]).cpu().numpy()
        norms = torch.stack([trace.norm for trace in self._traces]).float().cpu().numpy()
        self._check(losses, norms)
        hits = torch.cat([hit for trace in self._traces for hit in trace.hits]).cpu().numpy()
        tags = np.array([t for trace in self._traces for fed in trace.feds for t in fed.batch.tags])
        now = time.perf_counter()
        since, tokens_then = self._report_start
        speed = (self.progress.tokens - tokens_then) / max(now - since, 1e-9)
        families = np.array([tag.rsplit("/", 1)[0] for tag in tags.tolist()])
        kinds = np.array([tag.rsplit("/", 1)[1] for tag in tags.tolist()])
        done = share_done(self.run.schedule, self.progress)
        row: dict[str, Any] = {
            "event": "train",
            "step": self.progress.steps,
            "tokens": self.progress.tokens,
            "seconds": self.progress.seconds,
            "done": done,
            "seconds_left": self.progress.seconds / max(done, 1e-9) * max(0.0, 1 - done),
            "rate": self._rate,
            "loss": float(losses.mean()),
            "accuracy": float(hits.mean()),
            "gradient_norm": float(norms.mean()),
            "tokens_per_second": speed,
            "too_long": self._too_long,
            "protected": self._protected,
            "by_family": {f: float(hits[families == f].mean()) for f in sorted(set(families))},
            "by_kind": {k: float(hits[kinds == k].mean()) for k in sorted(set(kinds))},
        }
        peak = peak_flops(self.device)
        if peak is not None:
            row["flop_utilisation"] = speed * self.flops / peak
        memory = measured_peak(self.device)
        if memory is not None:
            row["peak_bytes"] = memory
        self._write(row)
        kinds_text = " ".join(f"{kind} {value:.3f}" for kind, value in row["by_kind"].items())
        self.say(
            f"step {row['step']} {min(done, 1):.1%} loss {row['loss']:.4f} "
            f"accuracy {row['accuracy']:.3f} ({kinds_text}) {speed / 1e3:.1f} k tokens/s, "
            f"{row['seconds_left'] / 60:.1f} min left"
        )
        self._traces = []
        self._report_start = (now, self.progress.tokens)
        self._too_long = self._protected = 0

    def _check(self, losses: np.ndarray[Any, Any], norms: np.ndarray[Any, Any]) -> None:
        if np.isfinite(losses).all() and np.isfinite(norms).all():
            return
        kept = self.folder / RESUME_FILE
        keeps = (
            f"the last good state is {kept}" if kept.exists() else "no state had been saved before"
        )
        start = 0
        for trace, norm in zip(self._traces, norms, strict=True):
            for fed, step_losses in zip(trace.feds, trace.losses, strict=True):
                part = losses[start : start + len(step_losses)]
                start += len(step_losses)
                bad = np.flatnonzero(~np.isfinite(part))
                if len(bad):
                    where = fed.batch.wheres[int(fed.batch.row[bad[0]])]
                    raise TrainingStoppedError(
                        f"step {trace.step}: the loss is {part[bad[0]]} at {where}; {keeps}"
                    )
            if not math.isfinite(norm):
                first = trace.feds[0].batch.wheres[0]
                raise TrainingStoppedError(
                    f"step {trace.step}: the gradient is {norm}, in the batch that begins with "
                    f"{first}; {keeps}"
                )

    def evaluate(self) -> dict[str, dict[str, float]]:
        """Answer the held-out rows and write down how well."""
        self.report()
        step, results = self._evaluated
        if step == self.progress.steps:
            return results
        results = {}
        for name, batches in self.prepared.evaluations.items():
            summary = evaluate(self.backbone, batches, self.device).summary()
            results[name] = summary
            row = {"event": "evaluation", "name": name, "step": self.progress.steps, **summary}
            self._write(row)
            parts = [
                f"{kind} {summary[f'accuracy/{kind}']:.3f}"
                for kind in KINDS
                if f"accuracy/{kind}" in summary
            ]
            self.say(
                f"  held out, {name}: accuracy {summary['accuracy']:.3f} ({' '.join(parts)}) "
                f"macro {summary['macro']:.3f} nll {summary['nll']:.3f} ece {summary['ece']:.3f}"
            )
        self._report_start = (time.perf_counter(), self.progress.tokens)
        self._evaluated = (self.progress.steps, results)
        return results

    def save(self) -> None:
        """Save the state after looking at every step up to now."""
        self.report()
        save_run(
            self.folder,
            Saved(
                tensors={**self.stepper.state(), **self.mean.state()},
                progress=self.progress,
                position=self.position,
                run_hash=self.prepared.run_hash,
                lengths=tuple(shape.length for shape in self.prepared.shapes),
            ),
        )

    def weights(self) -> Weights:
        """All tensors of the model as they are now, in float32."""
        weights = self.prepared.checkpoint.weights()
        masters = dict(zip(self.stepper.names, self.stepper.masters, strict=True))
        for name, tensor in self.backbone.tensors().items():
            master = masters.get(f"trunk.{name.removeprefix(self.backbone.prefix)}", tensor)
            weights[name] = master.detach().float().cpu().numpy()
        for name, added in self.backbone.adapted():
            weights[name] = weights[name] + added.cpu().numpy()
        if self.backbone.label_rows is not None and self.backbone.label_rows.requires_grad:
            rows = masters["label_rows"].detach().float().cpu().numpy()
            weights["lm_head.weight"][list(self.prepared.maker.builder.label_ids)] = rows
        return weights

    def card(self, results: dict[str, dict[str, float]]) -> Card:
        """What the trained checkpoint says about itself."""
        checkpoint = self.prepared.checkpoint
        read, loop = checkpoint.in_force, self.run.model.loop
        return Card(
            name=self.run.name,
            version=checkpoint.card.version,
            base=PathBase("."),
            limits=read.limits,
            prompt=self.prepared.form,
            layout=read.layout,
            layouts=read.layouts,
            loop=None if loop is None else Loop(loop.first, loop.last, loop.times),
            byte_weights=self.run.model.eight_bit,
            byte_activations=self.run.model.eight_bit,
            provenance={
                "trained_from": checkpoint.card.name,
                "base_sha256": checkpoint.base_sha256,
                "data_sha256": {
                    Path(file).name: digest for file, digest in self.prepared.data_hashes.items()
                },
                "suites": [source.suite for source in self.run.sources if source.suite],
                "steps": self.progress.steps,
                "tokens": self.progress.tokens,
                "longest_row": self.run.data.longest,
                "held_out": {
                    name: {key: result[key] for key in ("accuracy", "macro", "nll", "ece")}
                    for name, result in results.items()
                },
            },
        )

    def write_checkpoint(self, results: dict[str, dict[str, float]]) -> Path:
        """The trained model as a folder that opens anywhere; returns the folder."""
        folder = self.folder / CHECKPOINT
        ship_whole(self.prepared.checkpoint, self.weights(), folder, self.card(results))
        self.say(f"checkpoint in {folder}")
        return folder

    def _write(self, row: dict[str, Any]) -> None:
        with (self.folder / METRICS).open("a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")
        if self._watch is not None:
            self._watch(row)


def _refuse_overwrite(run: Run, resume: bool) -> None:
    if not resume and (run.output / METRICS).exists():
        raise TrainingStoppedError(
            f"{run.output} already holds a run; resume it with --resume or name another output"
        )


def _saved_lengths(folder: Path) -> tuple[int, ...] | None:
    from safetensors import safe_open

    path = folder / RESUME_FILE
    if not path.is_file():
        return None
    with safe_open(path, framework="pt") as file:
        return tuple(json.loads(file.metadata()["facts"])["lengths"])


def _truncate_metrics(path: Path, steps: int) -> None:
    """Forget what was written down after the saved step."""
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    kept = [line for line in lines if json.loads(line)["step"] <= steps]
    write_atomically(path, "".join(f"{line}\n" for line in kept))


def _code_version() -> str | None:
    """The commit of a source checkout, where the package is run from one."""
    import subprocess

    folder = Path(__file__).parent
    try:
        found = subprocess.run(
            ["git", "-C", str(folder), "rev-parse", "HEAD"],
            capture_output=True,
            text=True,
            timeout=10,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return found.stdout.strip() or None


def _device_name(device: torch.device) -> str:
    return torch.cuda.get_device_name(device) if device.type == "cuda" else device.type


@contextmanager
def _stop_signal() -> Iterator[Any]:
    """A function that says whether SIGTERM or SIGINT came; a second one acts as usual."""
    came: list[int] = []
    previous: dict[signal.Signals, Any] = {}

    def note(number: int, _: Any) -> None:
        came.append(number)
        signal.signal(number, previous[signal.Signals(number)])

    try:
        for which in (signal.SIGTERM, signal.SIGINT):
            previous[which] = signal.signal(which, note)
    except ValueError:  # not in the main thread: signals are someone else's
        previous.clear()
    try:
        yield lambda: bool(came)
    finally:
        for which, handler in previous.items():
            signal.signal(which, handler)
