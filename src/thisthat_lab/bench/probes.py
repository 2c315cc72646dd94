"""Linear probes: what a plain classifier can read off a model's hidden states.

Texts in, features of several layers out (the mean over a state, its last token, the slot after a
question), and how well logistic regression tells labels from them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from thisthat.checkpoint import Checkpoint
from thisthat.prompt.builder import PromptBuilder
from thisthat.questions import Question, Text
from thisthat.rng import Rng

if TYPE_CHECKING:
    import torch

Reading = Literal["mean", "last", "slot"]
READINGS: tuple[Reading, ...] = get_args(Reading)
SPLITS = 5
_TOKENS = 16384
_LONGEST = 512
_STRENGTH = 0.05


@dataclass(frozen=True)
class ProbeTask:
    """Texts with a label each, and the question that stands before the slot."""

    name: str
    texts: Sequence[Text]
    labels: Sequence[str]
    question: Question


Features = dict[tuple[int, Reading], NDArray[np.float32]]


class Reader:
    """A checkpoint's decoder, read layer by layer; states are open where its card says so."""

    def __init__(self, checkpoint: Checkpoint, layers: int = 5) -> None:
        import torch

        from thisthat_lab.train.config import Model
        from thisthat_lab.train.model.backbone import build_backbone

        cuda = torch.cuda.is_available()
        self.device = torch.device("cuda" if cuda else "cpu")
        self.builder = PromptBuilder(checkpoint.encode, checkpoint.prompt)
        self.backbone = build_backbone(
            checkpoint.config,
            checkpoint.weights(),
            self.builder.label_ids,
            Model(dtype="bfloat16" if cuda else "float32"),
            self.device,
        ).eval()
        count = len(self.backbone.trunk.layers)
        self.layers = sorted({round(count * (n + 1) / layers) for n in range(layers)})

    def features(
        self, texts: Sequence[Text], question: Question, advance: Callable[[int], None]
    ) -> Features:
        """Features of every text, one row each, by layer and reading."""
        rows = [self._row(text, question) for text in texts]
        made: dict[tuple[int, Reading], list[Any]] = {
            (layer, reading): [None] * len(rows) for layer in self.layers for reading in READINGS
        }
        for numbers in _batches([len(tokens) for tokens, _, _ in rows]):
            for key, found in self._read([rows[n] for n in numbers]).items():
                for number, vector in zip(numbers, found, strict=True):
                    made[key][number] = vector
            advance(len(numbers))
        return {key: np.stack(vectors) for key, vectors in made.items()}

    def _row(self, text: Text, question: Question) -> tuple[list[int], int, int]:
        """Tokens, and where the state begins and ends in them."""
        rendered = self.builder.render(text, [question], limit=_LONGEST, keep="head")
        (row,) = rendered.rows
        (branch,) = row.branches
        start = len(row.prefix)
        tokens = [*row.prefix, *row.trunk, *branch.tokens]
        return tokens, start, start + len(row.trunk)

    def _read(self, rows: Sequence[tuple[list[int], int, int]]) -> Features:
        import torch

        from thisthat.engine.bidirectional import since
        from thisthat_lab.train.model.attention import padded_mask

        length = max(len(tokens) for tokens, _, _ in rows)
        tokens = torch.zeros(len(rows), length, dtype=torch.long)
        inside = torch.zeros(len(rows), length)
        seen = np.tile(np.arange(length, dtype=np.int32), (len(rows), 1))
        for number, (ids, start, end) in enumerate(rows):
            tokens[number, : len(ids)] = torch.tensor(ids)
            inside[number, start:end] = 1 / (end - start)
            if self.builder.form.open_state:
                seen[number, : len(ids)] = since(len(ids), end - start, start)
        ends = [end - 1 for _, _, end in rows]
        slots = [len(ids) - 1 for ids, _, _ in rows]
        mask = None
        if self.builder.form.open_state:
            mask = padded_mask(torch.from_numpy(seen).to(self.device))
        return self._layers(tokens, mask, inside, ends, slots)

    def _layers(
        self,
        tokens: torch.Tensor,
        mask: torch.Tensor | None,
        inside: torch.Tensor,
        ends: Sequence[int],
        slots: Sequence[int],
    ) -> Features:
        import torch

        trunk = self.backbone.trunk
        every = torch.arange(len(tokens), device=self.device)
        features: Features = {}
        with torch.inference_mode():
            hidden = trunk.embed_tokens(tokens.to(self.device))
            positions = torch.arange(tokens.shape[1], device=self.device).unsqueeze(0)
            angles = trunk.rotary_emb(hidden, position_ids=positions)
            weights = inside.to(self.device)
            for number, index in enumerate(self.backbone.order, 1):
                hidden = trunk.layers[index](
                    hidden, position_embeddings=angles, attention_mask=mask
                )
                if number not in self.layers:
                    continue
                wide = hidden.float()
                found: dict[Reading, torch.Tensor] = {
                    "mean": (wide * weights.unsqueeze(-1)).sum(1),
                    "last": wide[every, torch.tensor(ends, device=self.device)],
                    "slot": wide[every, torch.tensor(slots, device=self.device)],
                }
                for reading, vectors in found.items():
                    features[number, reading] = vectors.cpu().numpy()
        return features


def probe_accuracy(
    features: NDArray[np.float32], labels: Sequence[str], trained: int, name: str
) -> float:
    """Mean accuracy of logistic regression on rows it was not fitted on, over several splits."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.preprocessing import StandardScaler

    answers = np.asarray(labels)
    scores = []
    for split in range(SPLITS):
        order = np.array(Rng("probe", name, split).shuffled(range(len(answers))))
        fitted, other = order[:trained], order[trained:]
        scaler = StandardScaler().fit(features[fitted])
        model = LogisticRegression(C=_STRENGTH, max_iter=500)
        model.fit(scaler.transform(features[fitted]), answers[fitted])
        scores.append(model.score(scaler.transform(features[other]), answers[other]))
    return float(np.mean(scores))


def _batches(lengths: Sequence[int]) -> list[list[int]]:
    """Numbers of rows, those of like length together, a bounded number of tokens at once."""
    batches: list[list[int]] = []
    for number in sorted(range(len(lengths)), key=lengths.__getitem__):
        last = batches[-1] if batches else None
        if last is None or (len(last) + 1) * lengths[number] > _TOKENS:
            batches.append([number])
        else:
            last.append(number)
    return batches
