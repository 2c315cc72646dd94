"""From logits to the probabilities a caller sees: softmax at a temperature, quantised exactly.

Most questions have a handful of options, for which array arithmetic costs more than it saves.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from thisthat.decide.exact_probabilities import DENOMINATOR, quantized
from thisthat.temperature import softmax

_FEW = 16


def distribution(logits: NDArray[np.floating], temperature: float) -> list[float]:
    """``quantized(softmax(logits, temperature))`` as a list; the same to within a part."""
    scaled = [logit / temperature for logit in logits.tolist()]
    if len(scaled) > _FEW or not math.isfinite(sum(scaled)):
        spread: list[float] = quantized(softmax(logits, temperature)).tolist()
        return spread
    most = max(scaled)
    weights = [math.exp(each - most) for each in scaled]
    share = DENOMINATOR / sum(weights)
    parts = [max(round(weight * share), 1) for weight in weights]
    parts[parts.index(max(parts))] += DENOMINATOR - sum(parts)
    return [part / DENOMINATOR for part in parts]
