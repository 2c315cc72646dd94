"""What competitors are made of: the checkpoint, and its backbone in torch, loaded once for all."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

from thisthat.errors import MissingExtraError

if TYPE_CHECKING:
    from thisthat.checkpoint import Checkpoint


class Material:
    """A checkpoint, and the number of threads that every competitor gets."""

    def __init__(self, checkpoint: Checkpoint, threads: int) -> None:
        self.checkpoint = checkpoint
        self.threads = threads

    @cached_property
    def trained(self) -> Any:
        """The checkpoint as a `transformers` model in float32 on the CPU.

        Raises MissingExtraError without torch.
        """
        return self._loaded(self.checkpoint)

    @cached_property
    def base(self) -> Any:
        """The same of the base alone."""
        if self.checkpoint.lam == 0 and self.checkpoint.loop is None:
            return self.trained
        return self._loaded(self.checkpoint.base_alone())

    def _loaded(self, checkpoint: Checkpoint) -> Any:
        try:
            import torch
            import transformers  # noqa: F401
        except ImportError:
            raise MissingExtraError("a comparison with transformers", "torch") from None
        from thisthat.engine.torch.load_model import load_model

        torch.set_num_threads(self.threads)
        return load_model(checkpoint, torch.device("cpu"), torch.float32).eval()
