"""Generated branch-shaped decisions: refunds, access, routing, severity, … with computed answers.

A family is one module of ``families`` that exposes ``FAMILY``; adding one is adding a file.
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
