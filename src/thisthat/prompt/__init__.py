"""State and questions to token rows with slots: the only place that knows wording.

May import ``engine`` (its row type) and the plain data at the root; never a tokenizer or weights.
"""
