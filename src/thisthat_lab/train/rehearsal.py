"""Where a batch rehearses language: places whose next token the model predicts, as its base did.

Places are spread evenly over the batch, begin elsewhere at every step, and never see the token
they predict.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from thisthat.rng import Rng
from thisthat_lab.train.data.buckets import TrainingBatch


def places_to_rehearse(batch: TrainingBatch, count: int, step: int) -> NDArray[np.int64]:
    """Up to ``count`` places, counted through all tokens of the batch, that predict the next one.

    Padding, slots, ends of rows and tokens of an open state, which see what follows, are left out.
    """
    usable = _usable(batch)
    places = np.flatnonzero(usable)
    stride = max(1, len(places) // count)
    return places[Rng("rehearsal", step).below(stride) :: stride][:count]


def _usable(batch: TrainingBatch) -> NDArray[np.bool_]:
    rows, length = batch.tokens.shape
    numbers = np.arange(rows * length)
    # Padding is token 0, which no prompt has: special tokens are never encoded.
    usable: NDArray[np.bool_] = batch.tokens.ravel() != 0
    usable[:-1] &= usable[1:]
    if batch.bounds is None:
        usable[length - 1 :: length] = False
        slots = batch.row * length + batch.at
    else:
        usable[np.maximum(batch.bounds[1:] - 1, 0)] = False
        slots = batch.at
    usable[-1] = False
    usable[slots] = False
    if batch.since is not None:
        since = batch.since.reshape(rows, length)
        starts = 0 if batch.bounds is not None else (np.arange(rows) * length)[:, None]
        usable[:-1] &= (since + starts).ravel()[1:] > numbers[:-1]
    return usable
