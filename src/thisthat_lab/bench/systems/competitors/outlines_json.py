"""(c2) The same base in `transformers`, writing JSON token by token under outlines' schema."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from tokenizers import Tokenizer

from thisthat.errors import CheckpointError, MissingExtraError
from thisthat.questions import Question
from thisthat_lab.bench.systems.competitors import json_task
from thisthat_lab.bench.systems.competitors.material import Material

if TYPE_CHECKING:
    from thisthat.checkpoint import Checkpoint


def open_competitor(material: Material) -> OutlinesJson:
    """Raises MissingExtraError without outlines or torch."""
    try:
        import outlines  # noqa: F401
    except ImportError:
        raise MissingExtraError("a comparison with outlines", "compare") from None
    return OutlinesJson(material.base, material.checkpoint, material.threads)


class OutlinesJson:
    """See the module."""

    def __init__(self, model: Any, checkpoint: Checkpoint, threads: int) -> None:
        import outlines
        from transformers import PreTrainedTokenizerFast

        end = checkpoint.config.get("eos_token_id")
        if not isinstance(end, int):
            raise CheckpointError("config.json: eos_token_id names no token that ends a reply")
        # A copy, because the checkpoint's own reads special tokens as plain text.
        copy = Tokenizer.from_str(checkpoint.tokenizer.to_str())
        copy.encode_special_tokens = False
        ends = copy.id_to_token(end)
        tokenizer = PreTrainedTokenizerFast(tokenizer_object=copy, eos_token=ends, pad_token=ends)
        tokenizer.chat_template = checkpoint.chat_template
        self._model = outlines.from_transformers(model, tokenizer)
        self._generators: dict[str, Any] = {}
        self.settings = (
            f"transformers float32, {threads} threads, greedy, key-value cache within a reply, "
            "schema compiled before the clock starts, no white space; it keeps nothing of the "
            "questions from call to call"
        )

    def answer(
        self, state: str, questions: Mapping[str, Question], *, warm: bool
    ) -> dict[str, str]:
        """See Competitor."""
        text = json_task.request(state, questions, questions_first=warm)
        most = len(json_task.longest_reply(questions))
        reply = self._generator(questions)(text, max_new_tokens=most, do_sample=False)
        return json_task.chosen(reply, questions)

    def _generator(self, questions: Mapping[str, Question]) -> Any:
        import outlines

        schema = json.dumps(json_task.json_schema(questions))
        if schema not in self._generators:
            kind = outlines.types.JsonSchema(schema, whitespace_pattern="")
            self._generators[schema] = outlines.Generator(self._model, kind)
        return self._generators[schema]
