"""(d) Zero-shot classification: the likelihood of every option's text after the question.

One pass per option over state, question and that option, as the usual pipelines do it; the option
whose text the base finds most likely is chosen.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from thisthat.prompt.wording import asks, state_text
from thisthat.questions import Question
from thisthat_lab.bench.systems.competitors.material import Material

if TYPE_CHECKING:
    from thisthat.checkpoint import Checkpoint


def open_competitor(material: Material) -> OnePassPerOption:
    """Raises MissingExtraError without torch."""
    return OnePassPerOption(material.base, material.checkpoint, material.threads)


class OnePassPerOption:
    """See the module."""

    def __init__(self, model: Any, checkpoint: Checkpoint, threads: int) -> None:
        self._model = model
        self._encode = checkpoint.encode
        self._form = checkpoint.prompt
        self.settings = (
            f"transformers float32, {threads} threads, one pass per option, unembedding at the "
            "option's tokens alone; the options are not listed in the prompt, so that it is short"
        )

    def answer(
        self, state: str, questions: Mapping[str, Question], *, warm: bool
    ) -> dict[str, str]:
        """See Competitor. Nothing is kept between passes, so ``warm`` changes nothing."""
        return {name: self._one(state, question) for name, question in questions.items()}

    def _one(self, state: str, question: Question) -> str:
        options = question.declared
        (ask, *_) = asks(question, self._form)
        texts = ask.options if len(ask.options) == len(options) else [o.name for o in options]
        context = state_text(state, self._form)
        prompt = self._encode(f"Context:\n{context}\n\nQuestion: {ask.text}\nAnswer:")
        scores = [self._likelihood(prompt, self._encode(f" {text}")) for text in texts]
        return options[scores.index(max(scores))].name

    def _likelihood(self, prompt: list[int], option: list[int]) -> float:
        import torch

        with torch.inference_mode():
            out = self._model(
                input_ids=torch.tensor([prompt + option]),
                use_cache=False,
                logits_to_keep=len(option) + 1,
            )
            told = torch.log_softmax(out.logits[0, :-1], -1)
        return float(told[range(len(option)), option].sum())
