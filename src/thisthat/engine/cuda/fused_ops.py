"""``Ops`` through the Triton kernels. Knows launch shapes, not what they are for."""

from __future__ import annotations

from thisthat.engine.cuda.attention_ops import AttentionOps
from thisthat.engine.cuda.delta_ops import DeltaOps
from thisthat.engine.cuda.token_ops import TokenOps


class FusedOps(TokenOps, AttentionOps, DeltaOps):
    """``Ops`` for CUDA. Head sizes must be powers of two from 16 to 256."""
