"""Whatever answers questions: our engines, baselines, endpoints, other uses of the same model.

May import the runtime; nothing else of the bench.
"""
