"""One optimiser step: losses at slots, gradients, and what is worth remembering of it.

Nothing here waits for the device: losses and hits stay on it until a report asks for them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from thisthat_lab.train.config import Objective
from thisthat_lab.train.data.stream import Fed
from thisthat_lab.train.model.backbone import TrainedBackbone
from thisthat_lab.train.objective import option_log_probabilities, slot_losses
from thisthat_lab.train.optimiser import Stepper
from thisthat_lab.train.outcomes import draw, exact_losses, outcome_losses
from thisthat_lab.train.rehearsal import places_to_rehearse


@dataclass(frozen=True, slots=True)
class Trace:
    """What a step leaves on the device: losses and hits per slot, and the gradient's norm."""

    step: int
    losses: tuple[Tensor, ...]
    hits: tuple[Tensor, ...]
    norm: Tensor
    feds: tuple[Fed, ...]


def losses_of(
    logits: Tensor, counts: Tensor, targets: Tensor, outcomes: Tensor | None, settings: Objective
) -> tuple[Tensor, Tensor, Tensor]:
    """(losses to minimise, losses to report, hits) per slot.

    ``outcomes`` holds the option that happened, or -1 for slots with a target; None when the batch
    has no outcomes at all. The two kinds of losses differ only where draws are taken.
    """
    log_probabilities = option_log_probabilities(logits, counts)
    losses = slot_losses(log_probabilities, targets, settings.cross_entropy)
    hits = log_probabilities.argmax(-1) == targets.argmax(-1)
    reported = losses.detach()
    if outcomes is not None:
        happened = outcomes >= 0
        observed = outcomes.clamp_min(0)
        exact = exact_losses(log_probabilities, observed)
        if settings.exact:
            learned = exact
        else:
            drawn = draw(log_probabilities.detach().exp(), settings.draws)
            learned = outcome_losses(log_probabilities, observed, drawn)
        losses = torch.where(happened, learned, losses)
        reported = torch.where(happened, exact.detach() + 1, reported)
    return losses, reported, hits


def take_step(
    backbone: TrainedBackbone,
    stepper: Stepper,
    feds: Sequence[Fed],
    rate: float,
    settings: Objective,
    step: int,
    device: torch.device,
) -> Trace:
    """Learn from the batches together, every slot counted by its weight."""
    total = sum(float(fed.batch.weights.sum()) for fed in feds)
    all_losses, all_hits = [], []
    for fed in feds:
        tokens, row, at, counts, targets, weights, outcomes = fed.to(device)
        some_happened = bool((fed.batch.outcomes >= 0).any())
        rehearsed = None
        if settings.rehearsal:
            places = places_to_rehearse(fed.batch, settings.rehearsed, step)
            rehearsed = torch.from_numpy(places).to(device, non_blocking=True)
            length = tokens.shape[1]
            row = torch.cat((row, rehearsed // length))
            at = torch.cat((at, rehearsed % length))
        states = backbone.states_at(tokens, row, at, fed.sight(device))
        slots = len(counts)
        losses, reported, hits = losses_of(
            backbone.label_logits(states[:slots]),
            counts,
            targets,
            outcomes if some_happened else None,
            settings,
        )
        loss = (losses * weights).sum() / total
        if rehearsed is not None:
            following = tokens.flatten()[rehearsed + 1]
            language = backbone.next_token_losses(states[slots:], following).mean()
            loss = loss + settings.rehearsal / len(feds) * language
        loss.backward()  # type: ignore[no-untyped-call]
        stepper.gather()
        all_losses.append(reported)
        all_hits.append(hits)
    norm = stepper.step(rate)
    return Trace(step, tuple(all_losses), tuple(all_hits), norm.detach(), tuple(feds))
