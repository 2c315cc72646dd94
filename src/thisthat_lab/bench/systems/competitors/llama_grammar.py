"""(c1) The same base in llama.cpp, Q8_0, writing JSON token by token under a grammar.

The base is quantised once with llama.cpp's own quantiser and kept in the store.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from thisthat.checkpoint.locks import locked
from thisthat.checkpoint.store import home
from thisthat.errors import CheckpointError, MissingExtraError
from thisthat.questions import Question
from thisthat_lab.bench.systems.competitors import json_task
from thisthat_lab.bench.systems.competitors.material import Material
from thisthat_lab.bench.systems.competitors.running import try_out

if TYPE_CHECKING:
    from thisthat.checkpoint import Checkpoint


# Some builds use instructions that a virtual machine announces and does not have.
_TRIAL = """
import sys
import llama_cpp
llama = llama_cpp.Llama(sys.argv[1], n_ctx=64, n_threads=1, verbose=False)
llama.eval([1] * 40)
llama.eval([1])
"""


def open_competitor(material: Material) -> LlamaGrammar:
    """Raises MissingExtraError, CheckpointError without a GGUF base, or CannotRunError."""
    try:
        import llama_cpp
    except ImportError:
        raise MissingExtraError("a comparison with llama.cpp", "compare") from None
    llama_cpp.llama_log_set(_silent_log(), None)
    model = quantised(material.checkpoint)
    try_out("llama.cpp", _TRIAL, str(model))
    return LlamaGrammar(model, material.checkpoint, material.threads)


def quantised(checkpoint: Checkpoint) -> Path:
    """The base as a Q8_0 GGUF file; made on first use. Raises CheckpointError."""
    import llama_cpp

    source = checkpoint.gguf_file
    if source is None:
        raise CheckpointError("the base is no GGUF file, so llama.cpp cannot read it")
    target = home() / "compare" / f"{checkpoint.base_sha256}-q8_0.gguf"
    with locked(target.with_suffix(".lock")):
        if not target.exists():
            settings = llama_cpp.llama_model_quantize_default_params()
            settings.ftype = llama_cpp.LLAMA_FTYPE_MOSTLY_Q8_0
            settings.allow_requantize = True
            beside = target.with_suffix(".partial")
            failed = llama_cpp.llama_model_quantize(
                os.fsencode(source), os.fsencode(beside), settings
            )
            if failed:
                raise CheckpointError(f"{source}: llama.cpp could not quantise it to Q8_0")
            beside.replace(target)
    return target


class LlamaGrammar:
    """See the module."""

    def __init__(self, model: Path, checkpoint: Checkpoint, threads: int) -> None:
        import llama_cpp

        self._encode = checkpoint.encode
        self._frame = _frame(checkpoint)
        self._grammars: dict[str, Any] = {}
        self._llama: Any = llama_cpp.Llama(
            str(model), n_ctx=0, n_threads=threads, n_threads_batch=threads, verbose=False
        )
        self.settings = (
            f"llama-cpp-python {llama_cpp.__version__} ({_features()}), {threads} threads, greedy, "
            "grammar without white space; warm: questions first, the kept prefix is used"
        )

    def answer(
        self, state: str, questions: Mapping[str, Question], *, warm: bool
    ) -> dict[str, str]:
        """See Competitor."""
        if not warm:
            self._llama.reset()
        text = json_task.request(state, questions, questions_first=warm)
        head, tail = self._frame
        # At least a character per token: the grammar ends the reply long before that.
        most = len(json_task.longest_reply(questions))
        reply = self._llama.create_completion(
            [*head, *self._encode(text), *tail],
            max_tokens=most,
            temperature=0.0,
            grammar=self._grammar(json_task.grammar(questions)),
        )
        return json_task.chosen(reply["choices"][0]["text"], questions)

    def _grammar(self, text: str) -> Any:
        import llama_cpp

        if text not in self._grammars:
            self._grammars[text] = llama_cpp.LlamaGrammar.from_string(text, verbose=False)
        return self._grammars[text]


def _frame(checkpoint: Checkpoint) -> tuple[tuple[int, ...], tuple[int, ...]]:
    if checkpoint.chat_template is None:
        return (), ()
    from thisthat.prompt.chat import chat_frame

    frame = chat_frame(checkpoint.chat_template, checkpoint.encode_template)
    return frame.head, frame.tail


def _features() -> str:
    """What the build uses of the processor, as llama.cpp tells it."""
    import llama_cpp

    told = llama_cpp.llama_print_system_info().decode()
    return " ".join(re.findall(r"(\w+) = 1", told))


@cache
def _silent_log() -> Any:
    """A log that drops everything; kept, because llama.cpp calls it as long as the process runs."""
    import llama_cpp

    return llama_cpp.llama_log_callback(lambda *_: None)
