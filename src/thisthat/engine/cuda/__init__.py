"""Rows in packed batches, run by fused kernels inside CUDA graphs. See docs/engines.md.

May import ``engine`` and ``engine.torch``.
"""
