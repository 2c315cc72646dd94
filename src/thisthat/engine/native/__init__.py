"""C kernels for a CPU, compiled on the machine they run on, for its instructions.

May import ``engine`` and ``checkpoint``; never torch or onnxruntime.
"""
