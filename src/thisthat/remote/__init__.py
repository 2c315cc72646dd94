"""The library's calls, answered by a server instead of a checkpoint opened here.

May import ``decide``, ``loop`` (what an outcome is) and the plain data at the root; never
``engine``, ``checkpoint`` or ``serve``.
"""
