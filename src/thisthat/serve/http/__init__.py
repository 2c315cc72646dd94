"""The app and the server around it: bodies, keys, limits, timeouts, headers.

May import everything else in ``serve``.
"""
