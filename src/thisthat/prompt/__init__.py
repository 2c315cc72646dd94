"""State and questions to token rows with slots: the only place that knows wording.

May import the engine's row type and the plain data at the root; never a tokenizer or weights.
"""
