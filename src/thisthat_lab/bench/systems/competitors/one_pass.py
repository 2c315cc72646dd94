"""(b) The same checkpoint in `transformers`: float32, one pass per question, no cache.

It reads the same tokens as our engine and the same label rows at the slot, so in float32 its
answers are ours; what is compared is the runtime.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from thisthat.engine.bidirectional import since
from thisthat.prompt.builder import PromptBuilder
from thisthat.questions import Question
from thisthat_lab.bench.systems.competitors.material import Material

if TYPE_CHECKING:
    from thisthat.checkpoint import Checkpoint


def open_competitor(material: Material) -> OnePassPerQuestion:
    """Raises MissingExtraError without torch."""
    return OnePassPerQuestion(material.trained, material.checkpoint, material.threads)


class OnePassPerQuestion:
    """See the module."""

    def __init__(self, model: Any, checkpoint: Checkpoint, threads: int) -> None:
        self._model = model
        frame = None
        if checkpoint.prompt.chat and checkpoint.chat_template is not None:
            from thisthat.prompt.chat import chat_frame

            frame = chat_frame(checkpoint.chat_template, checkpoint.encode_template)
        self._builder = PromptBuilder(checkpoint.encode, checkpoint.prompt, frame)
        self._limit = checkpoint.card.limits.row_tokens
        self.settings = (
            f"{threads} threads, scaled dot-product attention, unembedding at the slot alone"
        )

    def answer(
        self, state: str, questions: Mapping[str, Question], *, warm: bool
    ) -> dict[str, str]:
        """See Competitor."""
        return {name: self._one(state, question, warm) for name, question in questions.items()}

    def _one(self, state: str, question: Question, warm: bool) -> str:
        import torch

        from thisthat.engine.torch.tree_mask import path_mask

        rendered = self._builder.render(
            state,
            [question],
            layout="schema-first" if warm else "state-first",
            packing="apart",
            limit=self._limit,
        )
        best: list[float] = []
        for row in rendered.rows:
            for branch in row.branches:
                (slot,) = branch.slots
                path = [*row.prefix, *row.trunk, *branch.tokens[: slot.at + 1]]
                mask = None
                if row.opened:
                    sight = torch.from_numpy(since(len(path), row.opened, len(row.prefix)))
                    mask = path_mask(sight[None], self._model.dtype)
                with torch.inference_mode():
                    out = self._model(
                        input_ids=torch.tensor([path]),
                        attention_mask=mask,
                        use_cache=False,
                        logits_to_keep=1,
                    )
                logits = out.logits[0, -1, list(self._builder.label_ids[: slot.options])]
                # A score asked level by level has a slot per level: "does it fit?", no or yes.
                alone = len(rendered.places[0].at) == 1
                best += logits.tolist() if alone else [float(logits[1] - logits[0])]
        return question.declared[best.index(max(best))].name
