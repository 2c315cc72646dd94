"""Accuracy and calibration of a backbone on held-out rows, by family and kind."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from thisthat.items.metrics import expected_calibration_error
from thisthat.temperature import softmax
from thisthat_lab.train.data.stream import Fed
from thisthat_lab.train.model.backbone import TrainedBackbone


@dataclass(frozen=True)
class Evaluated:
    """Logits over each slot's own options, the right answers and the slots' tags."""

    logits: tuple[NDArray[np.float32], ...]
    answers: tuple[int, ...]
    tags: tuple[str, ...]
    wheres: tuple[str, ...]

    @property
    def hits(self) -> NDArray[np.bool_]:
        """Which slots are answered rightly."""
        pairs = zip(self.logits, self.answers, strict=True)
        return np.array([logits.argmax() == answer for logits, answer in pairs], dtype=bool)

    def summary(self) -> dict[str, float]:
        """Accuracy by tag and kind, over tags (macro), in all; NLL and ECE at temperature 1."""
        hits = self.hits
        tags = np.array(self.tags)
        result = {
            f"accuracy/{tag}": float(hits[tags == tag].mean()) for tag in sorted(set(self.tags))
        }
        macro = float(np.mean(list(result.values())))
        kinds = np.array([tag.rsplit("/", 1)[-1] for tag in self.tags])
        for kind in sorted(set(kinds.tolist())):
            result[f"accuracy/{kind}"] = float(hits[kinds == kind].mean())
        probabilities = [softmax(logits) for logits in self.logits]
        chosen = [p[answer] for p, answer in zip(probabilities, self.answers, strict=True)]
        top = [float(p.max()) for p in probabilities]
        result["accuracy"] = float(hits.mean())
        result["macro"] = macro
        result["nll"] = float(-np.log(np.maximum(chosen, 1e-300)).mean())
        result["ece"] = expected_calibration_error(top, hits)
        return result


def evaluate(backbone: TrainedBackbone, batches: Sequence[Fed], device: torch.device) -> Evaluated:
    """The backbone's answers to all slots of the batches."""
    logits: list[NDArray[np.float32]] = []
    answers: list[int] = []
    tags: list[str] = []
    wheres: list[str] = []
    backbone.eval()
    # Compiled layers would be compiled once more without gradients; eager is fast enough here.
    with torch.no_grad(), torch.compiler.set_stance("force_eager"):
        for fed in batches:
            tokens, row, at, *_ = fed.to(device)
            found = backbone(tokens, row, at, fed.sight(device)).float().cpu().numpy()
            for slot, count in enumerate(fed.batch.counts):
                logits.append(found[slot, :count])
            answers += fed.batch.targets.argmax(-1).tolist()
            tags += fed.batch.tags
            wheres += [fed.batch.wheres[number] for number in fed.batch.row]
    backbone.train()
    return Evaluated(tuple(logits), tuple(answers), tuple(tags), tuple(wheres))
