"""Training: run files, data, the model, its kernels, and the loop that puts them together.

May import ``suites`` and the runtime; never ``bench``.
"""
