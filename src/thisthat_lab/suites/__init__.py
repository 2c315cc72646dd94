"""Families of questions whose answers are computed, one package per suite.

May import ``worlds`` and the runtime's items and questions; never ``train`` or ``bench``.
"""
