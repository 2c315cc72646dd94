"""One file per measurement, in ``questions``, ``trust`` and ``speed``: what is asked and reported.

May import everything else of the bench but ``report`` and ``suite``.
"""
