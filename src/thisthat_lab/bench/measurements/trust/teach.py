"""The light teach beside classical ones: how often is each right after so many labels?

Rows are read once, by the checkpoint and by the embedder, and kept beside the results; draws of
labels are then fitted and scored on the rows that are left. SetFit, where it is installed, tunes
the embedder on each draw.
"""

from __future__ import annotations

import os
import warnings
from collections import defaultdict
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cache, partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from thisthat.decide.decider import Decider
from thisthat.environment import THREADS
from thisthat.errors import InvalidInputError, MissingExtraError
from thisthat.identity import state_hash
from thisthat.items.item import render_state
from thisthat.items.metrics import Interval, chance, expected_calibration_error
from thisthat.rng import Rng
from thisthat.teach.collect import Again, Collected, collect_lessons, collect_options
from thisthat.teach.fit_head import fit_head, taught_logs
from thisthat_lab.bench.kept import kept
from thisthat_lab.bench.measure import Context, Findings, Measurement, registered
from thisthat_lab.bench.measurements.questions.decisions import DEV_FILES, dev_file
from thisthat_lab.bench.measurements.questions.written import tasks_folder
from thisthat_lab.bench.result import Bar, Line
from thisthat_lab.bench.systems.embedder import WHEEL, Embedder
from thisthat_lab.bench.systems.setfit import PAIRS, Lesson, SetFit, Tuned
from thisthat_lab.bench.teachable import CORPORA, FROM_DEV, Teachable, teachable, wheel_in

COUNTS = (30, 100, 200, 500)
DRAWS = 5
QUICK_ROWS = 200
LEAST_SCORED = 100
"""Rows that must be left to score; a task too small for a count is left out there."""

SYSTEMS = ("zero-shot", "light teach", "TF-IDF", "MiniLM", "SetFit")
_STRENGTH = 10.0
_BAR_COUNT = 200
_MARGINS = {"TF-IDF": 0.06, "MiniLM": 0.02, "zero-shot": 0.0}
_ABSOLUTE = {"hate posts": 0.88, "prompt injections": 0.94}

Floats: TypeAlias = NDArray[np.float64]
Integers: TypeAlias = NDArray[np.int64]
_Scores: TypeAlias = dict[tuple[str, int, str], list[float]]
_Means: TypeAlias = dict[tuple[str, int, str], float]
_Errors: TypeAlias = dict[int, list[float]]
_Tunings: TypeAlias = dict[int, list[Tuned]]


@dataclass(frozen=True)
class _Read:
    """What the checkpoint and the embedder make of a task's rows."""

    collected: Collected
    again: Again | None
    shown: Collected | None
    vectors: NDArray[np.float32]


@dataclass(frozen=True)
class Plan:
    """Names of the tasks to teach, without any all of them; how many draws SetFit learns too."""

    tasks: Sequence[str] = ()
    setfit_draws: int = DRAWS

    def __post_init__(self) -> None:
        if not 0 <= self.setfit_draws <= DRAWS:
            raise InvalidInputError(
                "--setfit-draws", f"is {self.setfit_draws}; it must lie between 0 and {DRAWS}"
            )

    def chosen(self, tasks: Sequence[Teachable]) -> list[Teachable]:
        """The tasks to teach. Raises InvalidInputError for a name that none has."""
        names = [task.name for task in tasks]
        for name in self.tasks:
            if name not in names:
                raise InvalidInputError("--task", f"{name!r} is not one of {', '.join(names)}")
        return [task for task in tasks if not self.tasks or task.name in self.tasks]


_EVERYTHING = Plan()


def measurement_of(plan: Plan) -> Measurement:
    """The measurement for one plan."""
    return registered("teach", partial(run, plan=plan))


def run(context: Context, plan: Plan = _EVERYTHING) -> Findings:
    """Teach every task from every draw, and score each system on the same other rows."""
    written = tasks_folder(context.setting.data)
    data = written.parent
    dev = dev_file(data)
    wheel = wheel_in(data, WHEEL)
    tasks = plan.chosen(teachable(dev, written, wheel_in(data, CORPORA)))
    if context.setting.quick:
        tasks = [task.first(QUICK_ROWS) for task in tasks]
    folder = context.setting.out / "features"
    folder.mkdir(parents=True, exist_ok=True)
    setfit = _setfit(plan, wheel, folder)
    read = _read(context, tasks, wheel, folder)
    scores: _Scores = defaultdict(list)
    errors: dict[int, list[float]] = defaultdict(list)
    tuned: dict[int, list[Tuned]] = defaultdict(list)
    cells = [(task, count) for task in tasks for count in COUNTS if _fits(task, count)]
    drawn = [(task, count, draw) for task, count in cells for draw in range(DRAWS)]
    with (
        context.progress("teaching", len(drawn)) as advance,
        ProcessPoolExecutor(os.cpu_count(), get_context("spawn"), _one_thread) as pool,
    ):
        taught = [
            pool.submit(_taught, task, read[task.name], count, draw, _at(draw, setfit, plan))
            for task, count, draw in drawn
        ]
        for (task, count, _), one in zip(drawn, taught, strict=True):
            for system, accuracy in one.result().accuracies.items():
                scores[task.name, count, system].append(accuracy)
            errors[count].append(one.result().calibration_error)
            tuned[count] += one.result().tuned
            advance(1)
    means = {key: float(np.mean(values)) for key, values in scores.items()}
    gains = list(_gains(scores))
    return Findings(
        [*_lines(tasks, means, errors), *gains, *_beside_setfit(tasks, scores, tuned)],
        series={"teach": _points(scores)},
        bars=[*_bars(tasks, means, errors), _never_below(gains)],
        caveats=[_about(setfit, plan, tuned), *_left_out(dev)],
    )


@dataclass(frozen=True)
class Draw:
    """One draw of labels: how often each system is right, and how wrongly sure the light teach.

    ``tuned`` holds what SetFit made of it, where it did.
    """

    accuracies: dict[str, float]
    calibration_error: float
    tuned: Sequence[Tuned] = ()


def _one_thread() -> None:
    """As many processes as cores: each needs one thread for its matrices."""
    from threadpoolctl import threadpool_limits

    threadpool_limits(1)
    os.environ[THREADS] = "1"  # Of torch, which is not loaded yet.


def _setfit(plan: Plan, wheel: Path, folder: Path) -> SetFit | str:
    """SetFit, or why it is not measured."""
    if not plan.setfit_draws:
        return "--setfit-draws is 0"
    try:
        return SetFit.open(wheel, folder)
    except MissingExtraError as error:
        return str(error)


def _at(draw: int, setfit: SetFit | str, plan: Plan) -> SetFit | None:
    return setfit if isinstance(setfit, SetFit) and draw < plan.setfit_draws else None


def _fits(task: Teachable, count: int) -> bool:
    return len(task.states) - count >= LEAST_SCORED


def _taught(
    task: Teachable,
    read: _Read,
    count: int,
    draw: int,
    setfit: SetFit | None,
) -> Draw:
    """Teach every system ``count`` rows and score it on those that are left."""
    labels = np.array(task.labels)
    order = np.array(Rng("draw", task.name, count, draw).shuffled(range(len(labels))))
    own, rest = order[:count], order[count:]
    texts = [render_state(state) for state in task.states]
    options = len(task.question.declared)
    again = None if read.again is None else read.again.part(own)
    learned = read.collected.part(own)
    light = fit_head(task.question, learned, labels[own], shown=read.shown, again=again).head
    moved = taught_logs(light, read.collected.part(rest))
    own_texts, other_texts = ([texts[at] for at in part] for part in (own, rest))
    words = _words(own_texts, other_texts)
    probabilities = {
        "zero-shot": np.exp(read.collected.logs[rest]),
        "light teach": np.exp(moved - moved.max(axis=1, keepdims=True)),
        "TF-IDF": _regressed(*words, labels[own], options),
        "MiniLM": _regressed(read.vectors[own], read.vectors[rest], labels[own], options),
    }
    tuned = []
    if setfit is not None:
        lesson = Lesson(own_texts, labels[own].tolist(), other_texts, options, draw)
        tuned = [setfit.tune(lesson)]
        probabilities["SetFit"] = tuned[0].probabilities
    hits = {name: found.argmax(axis=1) == labels[rest] for name, found in probabilities.items()}
    sums = probabilities["light teach"].sum(axis=1)
    sure = probabilities["light teach"].max(axis=1) / sums
    return Draw(
        {name: float(right.mean()) for name, right in hits.items()},
        expected_calibration_error(sure, hits["light teach"], 10),
        tuned,
    )


def _words(own: Sequence[str], other: Sequence[str]) -> tuple[Any, Any]:
    from sklearn.feature_extraction.text import TfidfVectorizer

    vectoriser = TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True)
    return vectoriser.fit_transform(own), vectoriser.transform(other)


def _regressed(own: Any, other: Any, labels: Integers, options: int) -> Floats:
    """Logistic regression; options without a label get nothing."""
    from sklearn.linear_model import LogisticRegression

    found = np.zeros((other.shape[0], options))
    if len(set(labels)) == 1:
        found[:, labels[0]] = 1
        return found
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = LogisticRegression(C=_STRENGTH, max_iter=300).fit(own, labels)
    found[:, model.classes_] = model.predict_proba(other)
    return found


def _read(
    context: Context, tasks: Sequence[Teachable], wheel: Path, folder: Path
) -> dict[str, _Read]:
    """What the checkpoint and the embedder make of every row; kept beside the results."""
    decider = context.engine.decider
    embedder = cache(lambda: Embedder(wheel))
    found: dict[str, _Read] = {}
    with context.progress("reading", sum(len(task.states) for task in tasks)) as advance:
        for task in tasks:
            texts = [render_state(state) for state in task.states]
            said = [str(decider.source.weights), repr(task.question), "twice", *texts]
            arrays = kept(
                folder / f"{state_hash(chr(10).join(said))[:16]}.npz",
                partial(_collected, decider, task),
            )
            vectors = kept(
                folder / f"minilm-{state_hash(chr(10).join(texts))[:16]}.npz",
                lambda texts=texts: {"vectors": embedder().embed(texts)},  # type: ignore[misc]
            )["vectors"]
            layers = tuple(int(layer) for layer in arrays["layers"])
            rows = Collected(arrays["logs"], arrays["features"].astype(np.float32), texts, layers)
            again, shown = None, None
            if "again_rows" in arrays:
                twice = arrays["again_rows"]
                features = arrays["again_features"].astype(np.float32)
                read = [texts[row] for row in twice]
                again = Again(Collected(arrays["again_logs"], features, read, layers), twice)
            if "options" in arrays:
                options = [str(text) for text in arrays["option_texts"]]
                shown = Collected(arrays["logs"][:0], arrays["options"], options, layers)
            found[task.name] = _Read(rows, again, shown, vectors)
            advance(len(texts))
    return found


def _collected(decider: Decider, task: Teachable) -> dict[str, Any]:
    found, again = collect_lessons(decider, task.question, task.states)
    arrays: dict[str, Any] = {
        "logs": found.logs,
        "features": found.features.astype(np.float16),
        "layers": np.array(found.layers),
    }
    if again is not None:
        halves = again.collected.features.astype(np.float16)
        arrays |= {"again_logs": again.collected.logs, "again_features": halves}
        arrays["again_rows"] = again.rows
    shown = collect_options(decider, task.question)
    if shown is not None:
        arrays |= {"options": shown.features, "option_texts": np.array(shown.texts)}
    return arrays


def _lines(tasks: Sequence[Teachable], means: _Means, errors: _Errors) -> list[Line]:
    lines = []
    options = {task.name: len(task.question.declared) for task in tasks}
    for count, taken in _counts(tasks):
        for system in SYSTEMS:
            found = [means[name, count, system] for name in taken if (name, count, system) in means]
            if found:
                mean = float(np.mean(found))
                over = f"{len(found)} task{'s' if len(found) > 1 else ''}"
                lines.append(Line(f"{count} labels, {over}: {system}", mean))
        guessed = chance([options[name] for name in taken])
        lines.append(Line(f"{count} labels: chance", guessed))
        error = float(np.mean(errors[count]))
        lines.append(Line(f"{count} labels: calibration error of the light teach", error))
    for (name, count, system), mean in means.items():
        lines.append(Line(f"{name}, {count} labels: {system}", mean))
    return lines


def _gains(scores: _Scores) -> Iterator[Line]:
    """By how much the light teach is right more often than the checkpoint alone, draw by draw."""
    for (name, count, system), taught in scores.items():
        if system == "light teach":
            gains = np.subtract(taught, scores[name, count, "zero-shot"])
            label = f"{name}, {count} labels: light teach over zero-shot"
            yield Line.of(label, mean_of_draws(gains), unit="score")


def mean_of_draws(values: Floats) -> Interval:
    """Student's interval of their mean."""
    from scipy.stats import t

    mean = float(values.mean())
    half = float(t.ppf(0.975, len(values) - 1) * values.std(ddof=1) / np.sqrt(len(values)))
    return Interval(mean, mean - half, mean + half, "Student's t, draws of labels")


def _never_below(gains: Sequence[Line]) -> Bar:
    """How many tasks lost by being taught, at some number of labels: the whole interval says so."""
    lost = [
        line.label.partition(":")[0] for line in gains if line.high is not None and line.high < 0
    ]
    label = "light teach below zero-shot on a task by more than its interval"
    return Bar(label, len(lost), 0, at_least=False, note="; ".join(lost))


def _beside_setfit(tasks: Sequence[Teachable], scores: _Scores, tuned: _Tunings) -> Iterator[Line]:
    """The light teach and SetFit on the draws that both learned, and what SetFit took for one."""
    for count, taken in _counts(tasks):
        if not tuned[count]:
            continue
        gaps = [
            light - other
            for name in taken
            for light, other in zip(
                scores[name, count, "light teach"], scores[name, count, "SetFit"], strict=False
            )
        ]
        label = f"{count} labels: light teach over SetFit, same draws"
        yield Line(label, float(np.mean(gaps)), unit="score")
        seconds = float(np.mean([one.seconds for one in tuned[count]]))
        yield Line(f"{count} labels: seconds of SetFit, one draw", seconds, unit="number")


def _about(setfit: SetFit | str, plan: Plan, tuned: _Tunings) -> str:
    """What SetFit was measured with, or why it was not."""
    if isinstance(setfit, str):
        return f"SetFit was not measured: {setfit}."
    devices = sorted({one.device for found in tuned.values() for one in found if one.device})
    told = ", ".join(f"{name} {value}" for name, value in setfit.settings.items())
    return (
        f"SetFit ({told}) tunes all-MiniLM-L6-v2 on {PAIRS} pairs a label, then fits its own "
        f"logistic regression; {plan.setfit_draws} of {DRAWS} draws, on {', '.join(devices)}."
    )


def _left_out(dev: Path | None) -> list[str]:
    """Which tasks cannot be taught without the development file."""
    missing = f"Without {', '.join(FROM_DEV)}: no {DEV_FILES[0]} was named with --data."
    return [missing] if dev is None else []


def _bars(tasks: Sequence[Teachable], means: _Means, errors: _Errors) -> list[Bar]:
    bars = []
    for count, taken in _counts(tasks):
        for other, margin in _MARGINS.items():
            gaps = [means[name, count, "light teach"] - means[name, count, other] for name in taken]
            label = f"{count} labels: light teach over {other}, mean"
            bars.append(Bar(label, float(np.mean(gaps)), margin, True, "score"))
    if errors.get(_BAR_COUNT):
        error = float(np.mean(errors[_BAR_COUNT]))
        bars.append(Bar(f"calibration error, {_BAR_COUNT} labels", error, 0.06, False, "score"))
        for name, limit in _ABSOLUTE.items():
            reached = means.get((name, _BAR_COUNT, "light teach"))
            bars.append(Bar(f"{name}, {_BAR_COUNT} labels", reached, limit, True, "share"))
    return bars


def _counts(tasks: Sequence[Teachable]) -> Iterator[tuple[int, list[str]]]:
    """Numbers of labels, and the tasks that are large enough for each."""
    for count in COUNTS:
        taken = [task.name for task in tasks if _fits(task, count)]
        if taken:
            yield count, taken


def _points(scores: _Scores) -> list[dict[str, Any]]:
    return [
        {"task": task, "labels": count, "system": system, "draws": values}
        for (task, count, system), values in scores.items()
    ]
