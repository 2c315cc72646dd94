"""One file per wire format, and what the formats share.

May import ``serve``, ``serve.scheduling``, ``decide`` and ``remote``; never ``serve.http``.
"""
