"""The real default checkpoint gives the same answers on torch and onnxruntime."""

import numpy as np
import pytest

from thisthat.checkpoint import Checkpoint, open_checkpoint
from thisthat.engine.onnx.engine import OnnxEngine
from thisthat.engine.protocol import Engine
from thisthat.engine.rows import Branch, Row, Slot
from thisthat.engine.torch.engine import TorchEngine
from thisthat.prompt.labels import label_ids
from thisthat.temperature import softmax

STATES = (
    "The parcel left Lyon on Tuesday and has not been seen since. I want my money back.",
    "You charged my card twice in March. Please look at the two invoices attached.",
    "Since the update the app closes as soon as I open the map.",
    "Thank you for the quick help yesterday, everything works again.",
)
QUESTIONS = (
    "Question: which team?\n(A) billing\n(B) shipping\n(C) support\nAnswer: (",
    "Question: is a refund asked for?\n(A) yes\n(B) no\n(C) unclear\nAnswer: (",
)


def rows(checkpoint: Checkpoint) -> list[Row]:
    prefix = tuple(checkpoint.encode("Decide.\n\n"))
    branches = []
    for text in QUESTIONS:
        tokens = tuple(checkpoint.encode(f"\n\n{text}"))
        branches.append(Branch(tokens, (Slot(len(tokens) - 1, 3),)))
    return [Row(prefix, tuple(checkpoint.encode(state)), tuple(branches)) for state in STATES]


def probabilities(engine: Engine, asked: list[Row]) -> np.ndarray:
    return np.array([softmax(logits) for found in engine.run(asked) for logits in found.logits])


@pytest.mark.weights
def test_torch_and_onnx_agree_in_float32_and_int8_is_close_on_average() -> None:
    checkpoint = open_checkpoint()
    ids = label_ids(checkpoint.encode)
    asked = rows(checkpoint)
    torch_engine = TorchEngine.from_checkpoint(checkpoint, ids, device="cpu", dtype="float32")
    wanted = probabilities(torch_engine, asked)
    # Before temperatures, which divide what rounding does to the default's logits by about three.
    # The largest of int8 depends on the processor: 0.2 with VNNI, 0.37 with NEON.
    for form, largest, mean in (("float32", 1e-3, 1e-3), ("int8", 0.4, 0.07)):
        engine = OnnxEngine.from_checkpoint(checkpoint, ids, form=form)
        difference = np.abs(probabilities(engine, asked) - wanted)
        engine.close()
        assert difference.max() <= largest, form
        assert difference.mean() <= mean, form
