"""Llama-type models on onnxruntime, for a CPU without torch or a compiler.

May import ``engine`` and ``checkpoint``; never torch.
"""

import os

# onnxruntime reads it when it is imported, and otherwise keeps a device id and a queue of events in
# the user's cache folder, to be sent to its maker. Who sets it themselves has the last word.
os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
