"""Who answers the cases: a checkpoint through the library, or a server through `/v1/systemone`."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Protocol, TypeAlias

from thisthat.errors import InvalidInputError, ServerError
from thisthat.questions import Question
from thisthat.remote.server import LOST, RemoteServer
from thisthat.testing.cases import Case

Probabilities: TypeAlias = Mapping[str, float]
"""By option name, in declared order."""

_SERVER = "systemone+"
_PATH = "/v1/systemone"
_AT_ONCE = 8


class Answerer(Protocol):
    """Answers cases."""

    @property
    def label(self) -> str:
        """A short description for reports."""

    def answer(self, cases: Sequence[Case]) -> list[dict[str, Probabilities]]:
        """The distribution of every question of every case, in their order."""


def open_answerer(
    ref: str, *, lam: float | None = None, key: str | None = None, timeout: float = 60.0
) -> Answerer:
    """A checkpoint (default, large, a folder, a GGUF file, a Hub id) or a server, systemone+URL."""
    if ref.startswith(_SERVER):
        url = ref.removeprefix(_SERVER)
        if not url.startswith(("http://", "https://")):
            raise InvalidInputError("checkpoint", f"{url!r} is not an http or https address")
        if lam is not None:
            raise InvalidInputError("lambda", "is for a checkpoint; a server has its own")
        return ServerAnswerer(RemoteServer(url.rstrip("/").removesuffix(_PATH), key, timeout))
    if ref.startswith(("http://", "https://")):
        raise InvalidInputError("checkpoint", f"{ref} is a server; write {_SERVER}{ref}")
    from thisthat.decide.opening import open_decider

    return DeciderAnswerer(open_decider(ref, lam=lam))


class DeciderAnswerer:
    """A checkpoint, with exactly the library's numbers."""

    def __init__(self, decider: Any) -> None:
        self.decider = decider
        source = decider.source
        self.label = f"{source.name} {source.version}, λ = {source.lam:g}"

    def answer(self, cases: Sequence[Case]) -> list[dict[str, Probabilities]]:
        """See Answerer. A case that cannot be asked raises InvalidInputError with its number."""
        try:
            decisions = self.decider.decide_pairs([(case.state, case.questions) for case in cases])
        except InvalidInputError as error:
            path = error.field if error.field.startswith("states[") else f"states[0].{error.field}"
            raise InvalidInputError(path.replace("states", "cases", 1), error.message) from None
        return [
            {name: answer.probabilities for name, answer in decision.answers.items()}
            for decision in decisions
        ]


class ServerAnswerer:
    """A server, one request per case."""

    def __init__(self, server: RemoteServer) -> None:
        self._server = server
        self.label = server.root

    def answer(self, cases: Sequence[Case]) -> list[dict[str, Probabilities]]:
        """See Answerer. Raises ServerError."""
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            return list(pool.map(self._ask, cases))

    def _ask(self, case: Case) -> dict[str, Probabilities]:
        body = {
            "model": "default",
            "state": case.state,
            "questions": {name: _as_wire(spec) for name, spec in case.specs.items()},
        }
        about = f"case {case.name!r}"
        try:
            with self._server.post(_PATH, body, about) as response:
                answers = json.loads(response.read())["answers"]
            return {
                name: _read(question, answers[name]) for name, question in case.questions.items()
            }
        except (KeyError, TypeError, AttributeError):
            what = f"the answer to {about} has an unexpected shape"
        except LOST as error:
            what = f"no answer to {about}: {error}"
        raise ServerError(f"{self._server.root}{_PATH}: {what}")


def _as_wire(spec: Any) -> Any:
    """A question in the words that every server of this wire format knows."""
    if isinstance(spec, str):
        return {"type": "noul", "instructions": spec}
    return {**spec, "type": "noul"} if spec.get("type") == "boolean" else spec


def _read(question: Question, answer: Mapping[str, Any]) -> Probabilities:
    names = [option.name for option in question.declared]
    abstain = float(answer["abstain"]) if question.abstain is not None else 0.0
    if question.kind == "boolean":
        yes = float(answer["noul"])
        given = {"no": 1 - yes - abstain, "yes": yes}
    elif question.kind == "score":
        # On the wire, levels are conditional on not abstaining.
        given = {name: p * (1 - abstain) for name, p in answer["probabilities"].items()}
    else:
        given = dict(answer["probabilities"])
    if question.abstain is not None:
        given[question.abstain.name] = abstain
    return {name: float(given[name]) for name in names}
