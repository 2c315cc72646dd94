"""Llama models on onnxruntime, for a CPU without torch or a compiler.

May import ``engine`` and ``checkpoint``; never torch.
"""
