"""A checkpoint's configuration and tensors as a `transformers` model on a device."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import torch

from thisthat.engine.torch.looped_layers import loop_layers
from thisthat.errors import CheckpointError, InvalidInputError

if TYPE_CHECKING:
    from thisthat.checkpoint import Checkpoint

FLOAT8 = torch.float8_e4m3fn
DTYPES = {
    "float32": torch.float32,
    "bfloat16": torch.bfloat16,
    "float16": torch.float16,
    "float8": FLOAT8,
}


def choose_device(name: str) -> torch.device:
    """The device of that name; "auto" is CUDA, else MPS, else the CPU."""
    if name != "auto":
        return torch.device(name)
    if torch.cuda.is_available():
        return torch.device("cuda")
    return torch.device("mps" if torch.backends.mps.is_available() else "cpu")


def choose_dtype(name: str, device: torch.device, half: bool = False) -> torch.dtype:
    """The numeric form of that name.

    "auto" is bfloat16 on CUDA and float32 elsewhere; float16 on MPS for weights stored in ``half``
    precision, as their makers run them.
    """
    if name == "auto":
        on_mps = torch.float16 if half and device.type == "mps" else torch.float32
        return torch.bfloat16 if device.type == "cuda" else on_mps
    if name not in DTYPES:
        raise InvalidInputError("dtype", f"{name!r}, but must be auto, {', '.join(DTYPES)}")
    return DTYPES[name]


def stored_in_half(config: Mapping[str, Any]) -> bool:
    """Whether a configuration says that its weights are 16 bits wide."""
    text = config.get("text_config")
    sources = (config, text if isinstance(text, Mapping) else {})
    said = [each.get("dtype") or each.get("torch_dtype") for each in sources]
    return any(form in ("bfloat16", "float16") for form in said)


def load_model(checkpoint: Checkpoint, device: torch.device, dtype: torch.dtype) -> Any:
    """The causal model of an opened checkpoint, its loop applied, ready to run.

    Float8 is a form of matrix products alone; a model for it is in bfloat16.

    Raises CheckpointError when tensors are missing, do not fit the configuration, or the model
    class is unknown.
    """
    from transformers import AutoConfig, AutoModelForCausalLM

    try:
        config = AutoConfig.for_model(**checkpoint.config)
        with torch.device("meta"):
            blank = AutoModelForCausalLM.from_config(config)
    except Exception as error:  # transformers has many kinds, some of them its own
        raise CheckpointError(f"config.json: no causal model can be made of it: {error}") from error
    tensors = {name: torch.from_numpy(array) for name, array in checkpoint.weights().items()}
    model, report = type(blank).from_pretrained(
        None,
        config=blank.config,
        state_dict=tensors,
        dtype=torch.bfloat16 if dtype == FLOAT8 else dtype,
        ignore_mismatched_sizes=True,
        output_loading_info=True,
    )
    if report["missing_keys"]:
        raise CheckpointError(f"missing tensors: {', '.join(sorted(report['missing_keys']))}")
    if report["mismatched_keys"]:
        wrong = ", ".join(
            f"{name} is {list(found)} and should be {list(wanted)}"
            for name, found, wanted in sorted(report["mismatched_keys"])
        )
        raise CheckpointError(f"tensors of the wrong shape: {wrong}")
    loop = checkpoint.loop
    if loop is not None:
        loop_layers(model, loop.first, loop.last, loop.times)
    return model.to(device)
