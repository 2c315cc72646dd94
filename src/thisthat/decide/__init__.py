"""The one path of a request: a state and questions in, answers with probabilities out.

May import ``prompt``, ``engine``, ``checkpoint`` and the plain data at the root; never ``serve``.
"""
