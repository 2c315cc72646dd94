"""Any causal model of `transformers`, on CUDA, MPS or a CPU.

May import ``engine``, ``engine.cuda`` and ``checkpoint``.
"""
