"""One schema as one tool: its name, what it takes and gives as JSON schemas, and the call."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from thisthat.errors import InvalidInputError, ServerError
from thisthat.questions import Decision, Option, Question, Score, check_text, compact_json
from thisthat.questions_json import read_questions

if TYPE_CHECKING:
    from thisthat.decide.asking import Asks
    from thisthat.decide.options import DecideKeywords
    from thisthat.decide.policy import Policy
    from thisthat.decide.protocol import Decides

_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_SHARE = {"type": "number", "minimum": 0, "maximum": 1}
_SOURCE = ("checkpoint", "version", "lambda")


@dataclass(frozen=True)
class SchemaTool:
    """The questions of one schema; ``policy`` adds what to do about each answer."""

    name: str
    questions: Mapping[str, Question]
    policy: Policy | None = None

    @property
    def description(self) -> str:
        """What an agent reads to know when to call it."""
        lines = [
            "Answers fixed questions about a state, each with a probability for every option. "
            "Nothing is generated. Questions:"
        ]
        lines += [f"- {name}: {_about(question)}" for name, question in self.questions.items()]
        return "\n".join(lines)

    @property
    def input_schema(self) -> dict[str, Any]:
        """What the call takes."""
        state = {
            "description": "What the questions are about: text, or a JSON object or array.",
            "type": ["string", "object", "array"],
        }
        return {
            "type": "object",
            "properties": {"state": state},
            "required": ["state"],
            "additionalProperties": False,
        }

    @property
    def output_schema(self) -> dict[str, Any]:
        """What the call gives."""
        answers = {name: self._answer_schema(question) for name, question in self.questions.items()}
        source = {"checkpoint": {"type": "string"}, "version": {"type": "string"}, "lambda": _SHARE}
        return _object({"answers": _object(answers), **source})

    def check(self, decider: Decides, **options: Any) -> None:
        """Raise InvalidInputError for a policy that was fitted for something else than is asked.

        One state, a full stop, is answered for it, since a server tells its conditions with an
        answer. What is wrong with a server itself, every call says.
        """
        if self.policy is None:
            return
        with suppress(ServerError):
            decider.decide_many(["."], self.questions, **options)
            self.policy.check(self.questions, decider.conditions(**options))

    async def call(
        self, decider: Asks, arguments: Mapping[str, Any], **options: Any
    ) -> dict[str, Any]:
        """The answers as ``output_schema`` says. Raises what deciding raises."""
        unknown = [name for name in arguments if name != "state"]
        if unknown:
            raise InvalidInputError(unknown[0], "is not known; the only argument is state")
        if "state" not in arguments:
            raise InvalidInputError("state", "is missing")
        check_text(arguments["state"], "state")
        how: DecideKeywords = {"policy": self.policy, **options}  # type: ignore[typeddict-item]
        decision = await decider.decide_async(arguments["state"], self.questions, **how)
        return self._shown(decision)

    def _shown(self, decision: Decision) -> dict[str, Any]:
        told = decision.as_dict()
        answers = {
            name: {key: answer[key] for key in self._keys(self.questions[name])}
            for name, answer in told["answers"].items()
        }
        return {"answers": answers, **{name: told[name] for name in _SOURCE}}

    def _keys(self, question: Question) -> list[str]:
        score = ["expected"] if isinstance(question, Score) else []
        outcome = [] if self.policy is None else ["outcome"]
        return ["best", "probabilities", "confidence", *score, *outcome]

    def _answer_schema(self, question: Question) -> dict[str, Any]:
        abstain = None if question.abstain is None else question.abstain.name
        names = [option.name for option in question.declared]
        words: dict[str, Any] = {"enum": [name for name in names if name != abstain]}
        best = {"boolean": {"type": "boolean"}, "score": {"type": "integer"}, "choice": words}
        found = best[question.kind] if abstain is None else {"anyOf": [best[question.kind], _NULL]}
        parts: dict[str, Any] = {
            "best": found,
            "probabilities": _object(dict.fromkeys(names, _SHARE)),
            "confidence": _SHARE,
            "expected": {"type": "number", "minimum": 0},
            "outcome": {
                "type": "object",
                "properties": {
                    "action": {"enum": ["act", "abstain", "escalate"]},
                    "option": {"anyOf": [{"enum": names}, _NULL]},
                    "reason": {"type": "string"},
                },
                "required": ["action", "option", "reason"],
            },
        }
        return _object({key: parts[key] for key in self._keys(question)}) | {
            "description": _about(question)
        }


_NULL = {"type": "null"}


def read_tools(paths: Sequence[Path], policy: Policy | None = None) -> dict[str, SchemaTool]:
    """A tool for every schema file, named after it.

    Raises InvalidInputError for files that cannot be read, names that no tool can have or that
    come twice, and a policy beside more than one schema.
    """
    if policy is not None and len(paths) != 1:
        raise InvalidInputError("policy", f"belongs to one schema; {len(paths)} are given")
    tools: dict[str, SchemaTool] = {}
    for path in paths:
        name = path.name.removesuffix(".json")
        if not _NAME.fullmatch(name):
            why = "its name becomes the tool's: letters, digits, _ and -, at most 64"
            raise InvalidInputError(str(path), why)
        if name in tools:
            raise InvalidInputError(str(path), f"is a second schema with the name {name!r}")
        tools[name] = SchemaTool(name, read_questions(path), policy)
    return tools


def _object(properties: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }


def _about(question: Question) -> str:
    asked = question.instructions
    text = "" if asked is None else asked if isinstance(asked, str) else compact_json(asked)
    options = "; ".join(map(_option, question.declared))
    return f"{text} ({options})".strip()


def _option(option: Option) -> str:
    meaning = option.description
    if meaning is None:
        return option.name
    return f"{option.name}: {meaning if isinstance(meaning, str) else compact_json(meaning)}"
