"""Training rows: where they come from, how they vary, and how they become batches.

May import ``suites``, the run's settings and the runtime's prompt and items; never the kernels.
"""
