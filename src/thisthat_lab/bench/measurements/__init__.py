"""One file per measurement: what is asked, of which system, and what is reported.

May import everything else of the bench but ``report`` and ``suite``.
"""
