"""Hashes that tell whether two schemas, or two texts, are the same."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from thisthat.questions import Question, Text, compact_json
from thisthat.temperature import Temperatures


def question_hash(question: Question) -> str:
    """sha256 over everything a question declares."""
    options = [[option.name, option.description] for option in question.declared]
    abstain = None if question.abstain is None else question.abstain.name
    return _digest([question.kind, question.instructions, options, abstain])


def schema_hash(questions: Mapping[str, Question]) -> str:
    """sha256 over named questions; their order does not matter."""
    return schema_hash_of({name: question_hash(question) for name, question in questions.items()})


def schema_hash_of(hashes: Mapping[str, str]) -> str:
    """``schema_hash`` where only the questions' own hashes are known."""
    return _digest(dict(hashes))


def state_hash(state: Text) -> str:
    """sha256 over the state as one text."""
    text = state if isinstance(state, str) else compact_json(state)
    return hashlib.sha256(text.encode()).hexdigest()


def temperatures_hash(temperatures: Temperatures) -> str:
    """sha256 over a checkpoint's temperatures: they change every probability."""
    return _digest(asdict(temperatures))


def _digest(value: Any) -> str:
    text = json.dumps(value, sort_keys=True, ensure_ascii=False, allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()
