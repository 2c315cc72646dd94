"""Tasks written by hand: everyday branches with their states, and what training makes of them.

May import ``base`` and ``forms``.
"""

from __future__ import annotations

from thisthat_lab.suites.written.streams import WrittenSettings, held_out_items, training_items
from thisthat_lab.suites.written.task import State, Task, read_tasks

__all__ = ["State", "Task", "WrittenSettings", "held_out_items", "read_tasks", "training_items"]
