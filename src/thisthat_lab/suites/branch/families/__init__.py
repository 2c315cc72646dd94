"""The branch families by question: ``verdicts``, ``levels``, ``routes``, ``records``, ``texts``.

A family is one file: a module with a ``FAMILY``, or a JSON file that declares one. A module may
have a JSON file of its own words beside it. May import ``branch.machinery``, ``records`` and
``base``, never another suite.
"""
