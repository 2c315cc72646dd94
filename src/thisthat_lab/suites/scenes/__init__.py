"""Scenes: everyday texts put together from facts, nearly every one with its twin.

A table holds facts of one kind of scene and how people say them; a scene is drawn from it and
written as a mail, a chat, a record, …; questions ask for its facts. A twin differs in one fact.
May import ``base`` and ``branch``.
"""

from __future__ import annotations

from thisthat_lab.suites.scenes.streams import (
    SceneSettings,
    evaluation_items,
    families,
    training_items,
)

__all__ = ["SceneSettings", "evaluation_items", "families", "training_items"]
