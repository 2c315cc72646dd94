"""The usual way, with the same backbone: write JSON that names a letter, one token at a time.

The decoding is constrained to ``{"answer": "LETTER"}`` with a letter that stands for an option, so
every reply can be parsed; what is compared is the loop against the single pass, not parsing luck.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from thisthat.errors import MissingExtraError
from thisthat.items.item import Item, render_state
from thisthat.prompt.letters import CLOSING, OPENING, letter_prompt
from thisthat_lab.bench.systems.protocol import Done, Identity
from thisthat_lab.bench.systems.replies import Reply, unanswered

if TYPE_CHECKING:
    from thisthat.checkpoint import Checkpoint


class LetterSystem:
    """Constrained greedy decoding, one question at a time, with a key-value cache."""

    independent: ClassVar[bool] = True

    def __init__(self, checkpoint: Checkpoint, model: Any) -> None:
        from thisthat.prompt.chat import chat_frame
        from thisthat.prompt.labels import label_table

        self._encode = checkpoint.encode
        self._model = model
        self._labels = list(label_table(checkpoint.encode).items())
        template = checkpoint.chat_template
        self._frame = chat_frame(template, checkpoint.encode_template) if template else None
        self._longest = int(checkpoint.config.get("max_position_embeddings", 2048))
        card = checkpoint.card
        self.identity = Identity(
            f"{card.name} (letters)",
            "baseline",
            card.version,
            checkpoint.lam,
            f"torch, {model.device.type}, constrained decoding",
        )

    @classmethod
    def open(cls, ref: str, lam: float | None, device: str = "auto") -> LetterSystem:
        """Open a checkpoint's backbone in torch. Raises MissingExtraError without torch."""
        try:
            import torch  # noqa: F401
            import transformers  # noqa: F401
        except ImportError:
            raise MissingExtraError("the letters baseline", "torch") from None
        from thisthat.checkpoint import open_checkpoint
        from thisthat.engine.torch.load_model import choose_device, choose_dtype, load_model

        checkpoint = open_checkpoint(ref, lam)
        place = choose_device(device)
        return cls(checkpoint, load_model(checkpoint, place, choose_dtype("auto", place)))

    def answer(self, items: Sequence[Item], done: Done) -> None:
        """See System."""
        for number, item in enumerate(items):
            done(number, self._decode(item))

    def _prompt(self, item: Item) -> list[int]:
        letters = [label for label, _ in self._labels]
        text = letter_prompt(render_state(item.state), item.question, item.options, letters)
        body = self._encode(text)
        if self._frame is None:
            return [*body, *self._encode("\n")]
        return [*self._frame.head, *body, *self._frame.tail]

    def _decode(self, item: Item) -> Reply:
        import torch

        started = time.perf_counter()
        prompt = self._prompt(item)
        letters = [token for _, token in self._labels[: len(item.options)]]
        opening, closing = self._encode(OPENING), self._encode(CLOSING)
        plan = [[token] for token in opening] + [letters] + [[token] for token in closing]
        if len(prompt) + len(plan) > self._longest:
            return unanswered("too long")
        chosen, probabilities = 0, (1.0,)
        step, kept = torch.tensor([prompt], device=self._model.device), None
        with torch.inference_mode():
            for allowed in plan:
                out = self._model(input_ids=step, past_key_values=kept, use_cache=True)
                kept = out.past_key_values
                logits = out.logits[0, -1, allowed].double()
                best = int(logits.argmax())
                if allowed is letters:
                    chosen = best
                    probabilities = tuple(torch.softmax(logits, 0).tolist())
                step = torch.tensor([[allowed[best]]], device=self._model.device)
        return Reply(
            chosen, probabilities, None, time.perf_counter() - started, len(prompt), len(plan)
        )
