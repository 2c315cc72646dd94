"""The real default checkpoint gives the same answers on torch and onnxruntime."""

import numpy as np
import pytest

from thisthat.checkpoint import open_checkpoint
from thisthat.engine.onnx_engine import OnnxEngine
from thisthat.engine.rows import Branch, Row, Slot
from thisthat.engine.torch_engine import TorchEngine
from thisthat.prompt.labels import label_ids

STATE = "The parcel left Lyon on Tuesday and has not been seen since. I want my money back."
QUESTIONS = (
    "Question: which team?\n(A) billing\n(B) shipping\n(C) support\nAnswer: (",
    "Question: is a refund asked for?\n(A) yes\n(B) no\nAnswer: (",
)


def softmax(logits: np.ndarray) -> np.ndarray:
    shares = np.exp(logits - logits.max())
    return np.asarray(shares / shares.sum())


@pytest.mark.weights
def test_torch_and_onnx_agree_in_float32_and_int8_is_close() -> None:
    checkpoint = open_checkpoint()
    ids = label_ids(checkpoint.encode)
    prefix = tuple(checkpoint.encode("Decide.\n\n"))
    branches = []
    for text in QUESTIONS:
        tokens = tuple(checkpoint.encode(f"\n\n{text}"))
        branches.append(Branch(tokens, (Slot(len(tokens) - 1, 3),)))
    row = Row(prefix, tuple(checkpoint.encode(STATE)), tuple(branches))
    wanted = TorchEngine.from_checkpoint(checkpoint, ids, device="cpu", dtype="float32").run([row])
    for form, tolerance in (("float32", 1e-3), ("int8", 0.1)):
        engine = OnnxEngine.from_checkpoint(checkpoint, ids, form=form)
        found = engine.run([row])
        engine.close()
        for one, other in zip(found[0].logits, wanted[0].logits, strict=True):
            np.testing.assert_allclose(softmax(one), softmax(other), atol=tolerance)
