"""Multi-step arithmetic: stories and expressions as choices, booleans and bands.

A family is one module with a ``FAMILY``; ``streams.families`` lists them.
May import ``base``, ``records`` and ``branch``.
"""

from __future__ import annotations

from thisthat_lab.suites.arithmetic.settings import ArithmeticSettings, SumSetting
from thisthat_lab.suites.arithmetic.streams import evaluation_items, families, training_items

__all__ = ["ArithmeticSettings", "SumSetting", "evaluation_items", "families", "training_items"]
