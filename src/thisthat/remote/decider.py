"""Deciding through a server's `/v1/decide`, with the library's decisions.

Needs no model and no tokenizer: requests go out as JSON, and responses are read strictly.
"""

from __future__ import annotations

import contextlib
import copy
import json
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from http.client import HTTPResponse
from threading import Event
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from thisthat.decide.asking import Asks, Progress, Questions, declared
from thisthat.decide.budget import within_budget
from thisthat.decide.conditions import Conditions
from thisthat.decide.options import CHOICES, FLAGS, DecideKeywords, DecideOptions
from thisthat.errors import AlreadyClosedError, InvalidInputError, ServerError
from thisthat.identity import question_hash
from thisthat.questions import (
    Answer,
    Cut,
    Decision,
    PolicyOutcome,
    Question,
    Source,
    Support,
    Text,
    Usage,
    answer_for,
    check_many,
    check_text,
)
from thisthat.questions_json import question_as_json
from thisthat.remote import untaught_header
from thisthat.remote.conditions_header import NAME, read_conditions
from thisthat.remote.server import LOST, TRIES, FieldRefusedError, RemoteServer, pause
from thisthat.remote.unit_header import unit_header

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from thisthat.loop.outcomes import Outcome, Recorded

T = TypeVar("T")
_Words: TypeAlias = tuple[tuple[str, object], ...]

PATH = "/v1/decide"
MOST_STATES = 1_000
MOST_BYTES = 4 << 20
"""Limits of one request; a server takes 10,000 states and 16 MiB by default."""

_MOST_AT_ONCE = 12
"""Most calls of the event loop that wait for a server at once; it has 16 streams for everybody."""

_STATE = re.compile(r"states\[(\d+)\]\.?(.*)", re.DOTALL)
_CLOSED = "this client was closed; thisthat.connect(…) makes another"
_BUSY = ("overloaded", "deadline", "draining")


@dataclass(slots=True)
class _Asked:
    """Questions, their JSON, and the numbers of the states they are asked about."""

    questions: Mapping[str, Question]
    specs: Mapping[str, Any]
    numbers: list[int] = field(default_factory=list)


@dataclass(slots=True)
class _Run:
    """All states, how to decide about them, and what came of them so far, by the state's number.

    ``stops``: a state that cannot be used ends the run.
    """

    states: Sequence[Text]
    options: DecideOptions
    progress: Progress | None
    decisions: dict[int, Decision] = field(default_factory=dict)
    faults: dict[int, InvalidInputError] = field(default_factory=dict)
    stops: bool = True

    def fail(self, number: int, error: InvalidInputError) -> None:
        """Note what is wrong with a state; raises it where that stops the run."""
        if self.stops:
            raise _named(error, number, self.states)
        self.faults[number] = error

    def refuse(self, fault: InvalidInputError, numbers: Sequence[int]) -> None:
        """Note why a server refused a request about these states; raises what is in no state."""
        found = _STATE.fullmatch(fault.field)
        if found is None:
            raise fault
        error = InvalidInputError(found[2] or "state", fault.message)
        self.fail(numbers[int(found[1])], error)

    def add(self, number: int, decision: Decision) -> None:
        self.decisions[number] = decision
        if self.progress is not None:
            self.progress(len(self.decisions), len(self.states))


class RemoteDecider(Asks):
    """Answers through a server, with the library's calls; see ``thisthat.connect``.

    ``model`` is a name the server answers to, ``lam`` a λ it has loaded (None: its own), ``unit``
    for whom it asks, if it takes part in canaries. States go out in streams, one after another;
    whatever a busy server or a lost connection leaves unanswered is asked again. It may be used
    from several threads. Raises InvalidInputError for unusable questions, options and states, with
    their numbers, and ServerError for anything else that goes wrong with a server.
    """

    def __init__(
        self,
        server: RemoteServer,
        model: str = "default",
        lam: float | None = None,
        unit: str | None = None,
    ) -> None:
        self._server = server
        self._address = server.root + PATH
        self._model = model
        self._lam = lam
        self._conditions: dict[_Words, Conditions] = {}
        self._changed: dict[_Words, list[str]] = {}
        self._untaught: set[str] = set()
        self._unit = self._checked(unit)
        self._owns_threads = True
        self._threads = ThreadPoolExecutor(_MOST_AT_ONCE, "thisthat-remote")
        self._closed = Event()  # Clients for units share it.

    def __repr__(self) -> str:
        lam = "" if self._lam is None else f", λ = {self._lam:g}"
        unit = "" if self._unit is None else f", unit {self._unit!r}"
        return f"<RemoteDecider {self._server.root}, model {self._model!r}{lam}{unit}>"

    def for_unit(self, unit: str) -> RemoteDecider:
        """A client that asks for this unit, such as a customer, and so takes part in canaries.

        Its answers may come from the champion or from a candidate, and ``decision.source`` says
        from which: a unit keeps its arm while a canary runs. It shares the threads of this one,
        which ends them. Raises InvalidInputError for a unit that cannot be sent and beside a λ,
        which is the champion's.
        """
        made = copy.copy(self)
        made._unit = self._checked(unit)
        made._conditions, made._changed, made._untaught = {}, {}, set()
        made._owns_threads = False
        return made

    def _checked(self, unit: str | None) -> str | None:
        if unit is None:
            return None
        unit_header(unit)
        if self._lam is not None:
            why = "takes part in canaries, a chosen λ does not: leave out one of them"
            raise InvalidInputError("unit", why)
        return unit

    def decide_pairs(
        self,
        pairs: Sequence[tuple[Text, Questions]],
        *,
        progress: Progress | None = None,
        **options: Unpack[DecideKeywords],
    ) -> list[Decision]:
        """Each state's own questions; states with equal questions share streams."""
        pairs = list(pairs)
        run = _Run([state for state, _ in pairs], DecideOptions.of(**options), progress)
        self._ask_all(pairs, run)
        return [run.decisions[number] for number in range(len(pairs))]

    def decide_each(
        self, states: Sequence[Text], questions: Questions, **options: Unpack[DecideKeywords]
    ) -> list[Decision | InvalidInputError]:
        """Like ``decide_many``; a state that cannot be answered yields what is wrong with it."""
        check_many(states)
        run = _Run(states, DecideOptions.of(**options), None, stops=False)
        self._ask_all([(state, questions) for state in states], run)
        return [run.faults.get(n) or run.decisions[n] for n in range(len(states))]

    def record(
        self,
        outcomes: Outcome | Iterable[Outcome],
        questions: Mapping[str, Question] | None = None,
    ) -> Recorded:
        """Record what happened after decisions in the server's log, each outcome once.

        Like ``thisthat.loop.outcomes.record``; with ``questions``, an option may be the text of a
        score's level. Raises RefusedOutcomeError as that does, and ServerError, after which the
        same call can be repeated.
        """
        from thisthat.remote.outcomes import send_outcomes  # Brings the log's databases.

        self._check_open()
        return send_outcomes(self._server, outcomes, questions)

    async def record_async(
        self,
        outcomes: Outcome | Iterable[Outcome],
        questions: Mapping[str, Question] | None = None,
    ) -> Recorded:
        """``record`` without blocking the event loop."""
        return await self._aside(lambda: self.record(outcomes, questions))

    def close(self) -> None:
        """End the client and its threads, once they are done; nobody can ask through it then.

        Nor can those that ``for_unit`` made of it.
        """
        if self._owns_threads:
            self._threads.shutdown()
            self._closed.set()

    def _check_open(self) -> None:
        if self._closed.is_set():
            raise AlreadyClosedError(_CLOSED)

    def __enter__(self) -> RemoteDecider:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    async def _aside(self, call: Callable[[], T]) -> T:
        import asyncio  # As in ``Asks``.

        loop = asyncio.get_running_loop()
        try:
            # Calls that wait for a server must not take the threads that others compute in.
            running = loop.run_in_executor(self._threads, call)
        except RuntimeError as error:
            raise AlreadyClosedError(_CLOSED) from error
        return await running

    def _ask_all(self, pairs: Sequence[tuple[Text, Questions]], run: _Run) -> None:
        self._check_open()
        for number, state in enumerate(run.states):
            try:
                check_text(state, "state")
            except InvalidInputError as error:
                run.fail(number, error)
        for asked in _by_questions(pairs):
            sizes = {
                number: len(json.dumps(run.states[number]))
                for number in asked.numbers
                if number not in run.faults
            }
            for part in within_budget(sizes, sizes.__getitem__, MOST_BYTES, MOST_STATES):
                self._ask(part, asked, run)

    def conditions(self, **options: Unpack[DecideKeywords]) -> Conditions:
        """The conditions of the answers given with these options, as the server reported them.

        Raises ServerError before the first answer, and where a unit was answered by several
        checkpoints.
        """
        words = _words(DecideOptions.of(**options))
        if words in self._changed:
            changed = "; ".join(self._changed[words])
            raise ServerError(f"{self._address}: several checkpoints answered: {changed}")
        try:
            return self._conditions[words]
        except KeyError:
            raise ServerError(f"{self._address}: nothing has been asked this way yet") from None

    def untaught(self, questions: Mapping[str, Question]) -> list[str]:
        """The names of those that were asked and that the server's taught checkpoint has nothing
        taught for, in this wording with these options."""
        return [name for name, each in questions.items() if question_hash(each) in self._untaught]

    def _ask(self, left: Sequence[int], asked: _Asked, run: _Run) -> None:
        """All of these states, in as many streams as it takes while each makes progress."""
        idle = 0
        while left:
            try:
                trouble = self._stream(left, asked, run)
            except FieldRefusedError as error:
                run.refuse(error.fault, left)
                trouble = str(error)
            still = [n for n in left if n not in run.decisions and n not in run.faults]
            idle = idle + 1 if len(still) == len(left) else 0
            if still and idle == TRIES:
                raise ServerError(f"{self._address}: {trouble}; no answer to {_states(len(still))}")
            if still:
                time.sleep(pause(idle))
            left = still

    def _stream(self, numbers: Sequence[int], asked: _Asked, run: _Run) -> str:
        """Read one stream; returns why it was incomplete, if so."""
        words = _words(run.options)
        body = {
            "model": self._model,
            "lambda": self._lam,
            **dict(words),
            **_more(run.options),
            "questions": asked.specs,
            "states": [run.states[number] for number in numbers],
        }
        trouble = f"the connection broke, or nothing came for {self._server.timeout:g} seconds"
        caller = run.options.request_id
        headers = {} if caller is None else {"x-request-id": caller}
        headers |= {} if self._unit is None else unit_header(self._unit)
        with self._server.post(PATH, body, _states(len(numbers)), headers) as response:
            conditions = self._noted(words, response)
            untaught = untaught_header.read_untaught(response.headers.get(untaught_header.NAME))
            named = (asked.questions[name] for name in asked.questions.keys() & untaught)
            self._untaught.update(map(question_hash, named))
            places = dict(enumerate(numbers))
            for line in _lines(response):
                number, outcome = self._read(line, places, asked, conditions)
                if isinstance(outcome, Decision):
                    run.add(number, outcome)
                elif outcome.code in _BUSY:
                    trouble = outcome.message
                else:
                    run.fail(number, InvalidInputError(outcome.field, outcome.message))
        return trouble

    def _noted(self, options: _Words, response: HTTPResponse) -> Conditions:
        try:
            told = read_conditions(response.headers.get(NAME))
        except InvalidInputError as error:
            raise ServerError(f"{self._address}: {error}") from None
        changed = self._conditions.setdefault(options, told).differences(told)
        if changed and self._unit is None:
            what = f"now answers with something else: {'; '.join(changed)}"
            advice = (
                "connect again; beside a canary, choose the champion's λ (lam=, --lambda) to stay "
                "with it, or name a unit (unit=) to take part"
            )
            raise ServerError(f"{self._address}: {what}; {advice}")
        if changed:
            self._changed[options] = changed
        return told

    def _read(
        self, line: Any, places: Mapping[int, int], asked: _Asked, conditions: Conditions
    ) -> tuple[int, Decision | _Fault]:
        questions = asked.questions
        try:
            number = places[line["index"]]
            if "error" in line:
                return number, _fault(line["error"])
            return number, _decision(line, questions, conditions)
        except (LookupError, TypeError, ValueError):
            raise ServerError(f"{self._address}: a line has an unexpected shape") from None


def _words(options: DecideOptions) -> _Words:
    """The options that are plain words; the conditions of the answers depend on them alone."""
    return tuple((name, getattr(options, name)) for name in CHOICES)


def _more(options: DecideOptions) -> dict[str, Any]:
    """The other options for the server, where they are not the usual ones."""
    more: dict[str, Any] = {name: True for name in FLAGS if getattr(options, name)}
    if options.policy is not None:
        more |= {"policy": options.policy.as_json(), "force_policy": options.policy.forced}
    return more


@dataclass(frozen=True, slots=True)
class _Fault:
    code: str
    field: str
    message: str


def _fault(error: Mapping[str, Any]) -> _Fault:
    # A fault in the whole state has no field of its own.
    at = error["field"]
    return _Fault(error["code"], "state" if at in (None, "body") else at, error["message"])


def _decision(
    line: Mapping[str, Any], questions: Mapping[str, Question], conditions: Conditions
) -> Decision:
    cut = line["cut"]
    named = line["checkpoint"], line["version"], line["lambda"]
    # Where a candidate fails, the champion answers instead; the header is the candidate's.
    own = named == (conditions.checkpoint, conditions.version, conditions.lam)
    return Decision(
        answers={
            name: _answer(question, line["answers"][name]) for name, question in questions.items()
        },
        source=Source(*named, conditions.weights if own else None),
        usage=Usage(**line["usage"]),
        seconds=line["seconds"],
        cut=None if cut is None else Cut(**cut),
        evidence=_evidence(line.get("evidence")),
    )


def _answer(question: Question, told: Mapping[str, Any]) -> Answer:
    answer = answer_for(question, [told["probabilities"][each.name] for each in question.declared])
    outcome = told.get("outcome")
    if outcome is None:
        return answer
    lists = {name: tuple(each) for name, each in outcome.items() if isinstance(each, list)}
    return replace(answer, outcome=PolicyOutcome(**{**outcome, **lists}))


def _evidence(told: Mapping[str, Any] | None) -> dict[str, tuple[Support, ...]] | None:
    if told is None:
        return None
    return {name: tuple(Support(**part) for part in parts) for name, parts in told.items()}


def _lines(response: HTTPResponse) -> Iterator[Any]:
    """The JSON lines of a response, until it ends or breaks off."""
    with contextlib.suppress(*LOST):
        for line in response:
            yield json.loads(line)


def _by_questions(pairs: Sequence[tuple[Text, Questions]]) -> list[_Asked]:
    """The pairs grouped by equal questions, in order of first appearance."""
    groups: dict[str, _Asked] = {}
    known: dict[int, _Asked] = {}
    for number, (_, questions) in enumerate(pairs):
        if id(questions) not in known:
            asked = declared(questions)
            specs = {name: _spec(name, question) for name, question in asked.items()}
            group = groups.setdefault(json.dumps(specs), _Asked(asked, specs))
            known[id(questions)] = group
        known[id(questions)].numbers.append(number)
    return list(groups.values())


def _spec(name: str, question: Question) -> dict[str, Any]:
    try:
        return question_as_json(question)
    except InvalidInputError as error:
        raise error.under(f"questions.{name}") from None


def _states(count: int) -> str:
    return "1 state" if count == 1 else f"{count} states"


def _named(error: InvalidInputError, number: int, states: Sequence[Text]) -> InvalidInputError:
    return error.under(f"states[{number}]") if len(states) > 1 else error
