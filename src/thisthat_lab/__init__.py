"""The laboratory: training, suites, worlds and measurements.

May import the runtime (``thisthat``), which never imports it.
"""
