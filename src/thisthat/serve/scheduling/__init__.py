"""When a request is admitted, by when it must begin, and which jobs run together.

May import ``serve``, ``decide`` and ``engine``; never ``serve.http`` or ``serve.formats``.
"""
