"""Generated branch-shaped decisions: refunds, access, routing, severity, … with computed answers.

A family is one file below ``families``: a module with a ``FAMILY``, or JSON that declares one.
May import ``base``, ``records`` and ``drills``; no other suite.
"""

from __future__ import annotations

from thisthat_lab.suites.base.settings import BranchSettings, Setting
from thisthat_lab.suites.branch.registry import held_out_families, trained_families
from thisthat_lab.suites.branch.streams import evaluation_items, training_items

__all__ = [
    "BranchSettings",
    "Setting",
    "evaluation_items",
    "held_out_families",
    "trained_families",
    "training_items",
]
