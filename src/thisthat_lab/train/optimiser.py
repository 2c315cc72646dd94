"""AdamW or Muon with float32 master weights, or AdamW with 8-bit moments, rounding at random.

Small changes must not be lost to bfloat16 rounding: either the true weights are kept in float32
beside the model's, or the rounding is random and right on average.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from thisthat.errors import InvalidInputError, MissingExtraError
from thisthat_lab.train.config import Optimiser
from thisthat_lab.train.muon import Muon

_MOMENTS = ("step", "exp_avg", "exp_avg_sq", "momentum")

LARGEST_PIECE = 1 << 25
"""Numbers that 8-bit AdamW moves at once: it works in float32, several copies of them."""


class Stepper:
    """Gathers gradients of several batches and applies them.

    ``named`` are the model's parameters. Parameters in float32 are their own masters.
    """

    def __init__(self, named: Sequence[tuple[str, nn.Parameter]], settings: Optimiser) -> None:
        if not named:
            raise InvalidInputError("model.train", "leaves no parameter to train")
        self.settings = settings
        self.names = [name for name, _ in named]
        self.parameters = [parameter for _, parameter in named]
        low = any(parameter.dtype != torch.float32 for parameter in self.parameters)
        self.eight_bit = settings.name == "adamw-8bit"
        self._apart = low and not self.eight_bit
        self.masters: list[Tensor] = (
            [nn.Parameter(p.detach().float()) for p in self.parameters]
            if self._apart
            else list(self.parameters)
        )
        self._pieces = [
            piece
            for name, master in zip(self.names, self.masters, strict=True)
            for piece in (_pieces(name, master) if self.eight_bit else [_Piece(name, master)])
        ]
        self._pulled = [m for m in self.masters if m.ndim >= 2] if settings.pull else []
        self._origins = [matrix.detach().clone() for matrix in self._pulled]
        self.optimisers = self._build()

    def _build(self) -> list[torch.optim.Optimizer]:
        made: list[torch.optim.Optimizer] = []
        left = [(piece.name, piece.tensor) for piece in self._pieces]
        if self.settings.name == "muon":
            inner = [(name, master) for name, master in left if _is_inner_matrix(name, master)]
            if inner:
                made.append(Muon(self._groups(inner), self.settings.rate))
            left = [(name, master) for name, master in left if not _is_inner_matrix(name, master)]
        if left:
            made.append(self._adamw(self._groups(left)))
        return made

    def _groups(self, named: Sequence[tuple[str, Tensor]]) -> list[dict[str, Any]]:
        """The tensors by how fast they move: ``scale`` is a group's share of the rate."""
        layers = [layer for name in self.names if (layer := _layer_of(name)) is not None]
        last = max(layers, default=0)
        by_scale: dict[float, list[Tensor]] = {}
        for name, tensor in named:
            layer = _layer_of(name)
            below = 0 if layer is None else last - layer
            by_scale.setdefault(self.settings.layer_decay**below, []).append(tensor)
        return [{"params": tensors, "scale": scale} for scale, tensors in by_scale.items()]

    def _adamw(self, groups: list[dict[str, Any]]) -> torch.optim.Optimizer:
        betas = (self.settings.beta1, self.settings.beta2)
        if self.eight_bit:
            return _eight_bit(groups, self.settings.rate, betas)
        return torch.optim.AdamW(
            groups,
            lr=self.settings.rate,
            betas=betas,
            weight_decay=0.0,
            fused=self.masters[0].is_cuda,
        )

    def gather(self) -> None:
        """Add the model's gradients of one batch to the masters' and clear them."""
        if not self._apart:
            return
        given = [
            (parameter.grad, master)
            for parameter, master in zip(self.parameters, self.masters, strict=True)
            if parameter.grad is not None
        ]
        fresh = [(gradient, master) for gradient, master in given if master.grad is None]
        more = [(gradient, master.grad) for gradient, master in given if master.grad is not None]
        if more:
            torch._foreach_add_([total for _, total in more], [gradient for gradient, _ in more])
        if fresh:
            room = [torch.empty_like(master) for _, master in fresh]
            torch._foreach_copy_(room, [gradient for gradient, _ in fresh])
            for (_, master), gradient in zip(fresh, room, strict=True):
                master.grad = gradient
        for parameter in self.parameters:
            parameter.grad = None

    def step(self, rate: float) -> Tensor:
        """Clip, update at ``rate``, clear; returns the gradient's norm without waiting for it."""
        norm = torch.nn.utils.clip_grad_norm_(self.masters, self.settings.clip)
        if self._pulled:
            with torch.no_grad():
                torch._foreach_lerp_(self._pulled, self._origins, rate * self.settings.pull)
        for piece in self._pieces:
            piece.take_gradient()
        for optimiser in self.optimisers:
            for group in optimiser.param_groups:
                scaled = rate * group["scale"]
                if isinstance(group["lr"], Tensor):
                    group["lr"].fill_(scaled)
                else:
                    group["lr"] = scaled
            optimiser.step()
            optimiser.zero_grad(set_to_none=True)
        for master in self.masters:
            master.grad = None
        if self._apart:
            with torch.no_grad():
                torch._foreach_copy_(list[Tensor](self.parameters), self.masters)
        return norm

    def _moments(self, piece: _Piece) -> dict[str, Any]:
        """What the optimiser that moves this piece remembers of it."""
        for optimiser in self.optimisers:
            moved = (one for group in optimiser.param_groups for one in group["params"])
            if any(piece.tensor is one for one in moved):
                moments: dict[str, Any] = optimiser.state[piece.tensor]
                return moments
        raise KeyError("no optimiser moves this tensor")

    def state(self) -> dict[str, Tensor]:
        """Masters, moments and counts as plain tensors by name."""
        tensors: dict[str, Tensor] = {}
        for name, master in zip(self.names, self.masters, strict=True):
            tensors[f"master/{name}"] = master.detach()
        for piece in self._pieces:
            for key, value in self._moments(piece).items():
                for part, inner in _parts(value):
                    tensors[f"moment/{piece.name}/{key}{part}"] = inner
        return tensors

    def load(self, tensors: dict[str, Tensor]) -> None:
        """Go on from what ``state`` gave. Raises InvalidInputError for tensors of another run."""
        with torch.no_grad():
            for name, parameter, master in zip(
                self.names, self.parameters, self.masters, strict=True
            ):
                saved = tensors.get(f"master/{name}")
                if saved is None or saved.shape != master.shape:
                    raise InvalidInputError("resume", f"the saved run has no fitting {name}")
                master.copy_(saved)
                parameter.copy_(saved)
        for piece in self._pieces:
            state = self._moments(piece)
            for key in _MOMENTS:
                value = _joined(tensors, f"moment/{piece.name}/{key}", piece.tensor)
                if value is not None:
                    state[key] = value


@dataclass(frozen=True, eq=False, slots=True)
class _Piece:
    """What an optimiser moves at once: a master, or some rows of one that is very large."""

    name: str
    tensor: Tensor
    master: Tensor | None = None
    start: int = 0

    def take_gradient(self) -> None:
        """See this piece's rows of the master's gradient as its own."""
        if self.master is not None and self.master.grad is not None:
            self.tensor.grad = self.master.grad[self.start : self.start + len(self.tensor)]


def _pieces(name: str, master: Tensor) -> list[_Piece]:
    """The master, or its rows in pieces that share its memory."""
    if master.ndim < 2 or master.numel() <= LARGEST_PIECE:
        return [_Piece(name, master)]
    rows = max(1, LARGEST_PIECE // (master.numel() // len(master)))
    return [
        _Piece(
            f"{name}[{start}:]", nn.Parameter(master.detach()[start : start + rows]), master, start
        )
        for start in range(0, len(master), rows)
    ]


def _layer_of(name: str) -> int | None:
    """The number of the layer a tensor belongs to, None for embedding, norm and label rows."""
    found = re.search(r"\blayers\.(\d+)\.", name)
    return None if found is None else int(found[1])


def _is_inner_matrix(name: str, master: Tensor) -> bool:
    """Embeddings and label rows are tables of vectors, not maps: Muon is not for them."""
    return master.ndim == 2 and "embed_tokens" not in name and name != "label_rows"


def _eight_bit(
    groups: list[dict[str, Any]], rate: float, betas: tuple[float, float]
) -> torch.optim.Optimizer:
    try:
        from torchao.optim import AdamW8bit
    except ImportError:
        raise MissingExtraError("optimiser.name = 'adamw-8bit'", "train") from None
    optimiser: torch.optim.Optimizer = AdamW8bit(
        groups, lr=rate, betas=betas, weight_decay=0.0, bf16_stochastic_round=True
    )
    return optimiser


def _parts(value: Any) -> list[tuple[str, Tensor]]:
    if hasattr(value, "codes"):
        return [(".codes", value.codes), (".scale", value.scale), (".qmap", value.qmap)]
    return [("", torch.as_tensor(value))]


def _joined(tensors: dict[str, Tensor], prefix: str, master: Tensor) -> Tensor | None:
    if f"{prefix}.codes" in tensors:
        from torchao.optim.subclass_8bit import OptimState8bit

        parts = [
            tensors[f"{prefix}.{part}"].to(master.device) for part in ("codes", "scale", "qmap")
        ]
        joined: Tensor = OptimState8bit(*parts, prefix.endswith("exp_avg"), master.dtype)
        return joined
    value = tensors.get(prefix)
    if value is None:
        return None
    # The fused optimiser counts on the device, the others on the host.
    moved = value.to(master.device) if value.ndim or master.is_cuda else value
    return moved.clone()
