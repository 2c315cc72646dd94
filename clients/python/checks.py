"""What every Python client has to show against a live server. Standard library only.

A script gives `Suite` a way to ask through its client; the suite compares what the client hands
back with the same question sent by hand, and provokes errors on a second server with small limits.
Knows no client.
"""

from __future__ import annotations

import json
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Sequence
from importlib.metadata import version
from typing import Any

NAMES = (
    "booleans",
    "choices",
    "scores",
    "described options",
    "JSON states",
    "401",
    "413",
    "422",
    "429",
    "503",
    "retries",
    "zstd",
    "20 at once",
    "models",
)
STATE = "The parcel never came, and nobody answers my letters."
JSON_STATE = {"ticket": {"text": "The parcel never came.", "days": 12}, "tags": ["late", None]}
LIST_STATE = [{"from": "customer", "text": "Where is it?"}, {"from": "us", "text": "On its way."}]
BOOLEAN = {"lost": {"type": "noul", "instructions": "Is a parcel lost?"}}
CHOICE = {
    "team": {
        "type": "choice",
        "instructions": "Which team?",
        "criteria": {"billing": None, "shipping": None, "legal": None},
    }
}
SCORE = {
    "anger": {
        "type": "score",
        "instructions": "How angry?",
        "criteria": ["calm", "annoyed", "furious"],
    }
}
DESCRIBED = {
    "lost": {
        "type": "noul",
        "instructions": "Is a parcel lost?",
        "criteria": {"true": "It did not arrive.", "false": "It arrived."},
    },
    "team": {
        "type": "choice",
        "instructions": "Which team?",
        "criteria": {"billing": "charges and refunds", "shipping": "parcels on their way"},
    },
}
MANY = [f"Letter {number}: my parcel is {number} days late." for number in range(20)]
TOO_LONG = "The parcel never came. " * 2000
BAD = {"mood": {"type": "essay", "instructions": "How does the customer feel?"}}
BAD_LABEL = {
    "team": {"type": "choice", "instructions": "Which?", "criteria": {" ": None, "b": None}}
}

TIMEOUT = 600
"""Seconds, for every client: how fast the machine is is not what is checked."""

RETRIES = 8
"""How often a client may try again: enough for a server that is slower than it predicted."""

Answers = dict[str, dict[str, Any]]


def raw(url: str, path: str, body: dict[str, Any], key: str = "any") -> Any:
    """The server's answer without a client."""
    request = urllib.request.Request(
        url + path,
        json.dumps(body).encode(),
        {"content-type": "application/json", "authorization": f"Bearer {key}"},
    )
    with urllib.request.urlopen(request, timeout=TIMEOUT) as answered:
        return json.load(answered)


def occupy(url: str, key: str) -> threading.Thread:
    """Keep a server, whose queue has room for one request, busy for some seconds from now on."""
    body = {
        "model": "default",
        "state": f"{time.time_ns()} " + "A long letter about a parcel. " * 150,
        "questions": {str(n): {"type": "noul", "instructions": f"Is it {n}?"} for n in range(4)},
    }
    thread = threading.Thread(target=raw, args=(url, "/v1/systemone", body, key), daemon=True)
    thread.start()
    until = time.monotonic() + TIMEOUT
    while not counted(url, "thisthat_unanswered_tokens"):
        waiting = thread.is_alive() and time.monotonic() < until
        assert waiting, "the server did not get busy"
        time.sleep(0.01)
    return thread


def spend(url: str, key: str) -> None:
    """Use up what a key may ask for now, with requests that take the server no time."""
    request = urllib.request.Request(f"{url}/v1/models", headers={"authorization": f"Bearer {key}"})
    until = time.monotonic() + TIMEOUT
    while time.monotonic() < until:
        try:
            urllib.request.urlopen(request, timeout=TIMEOUT).close()
        except urllib.error.HTTPError as error:
            assert error.code == 429, f"{error.code} for a list of models"
            return
    raise AssertionError("the key has no limit")


def refusals(url: str, kind: str) -> int:
    """How many requests a server has refused so far, by its own count."""
    return int(counted(url, f'thisthat_errors_total{{kind="{kind}"}}'))


def counted(url: str, name: str) -> float:
    """One number of a server's metrics; 0 as long as there is none."""
    with urllib.request.urlopen(f"{url}/metrics", timeout=TIMEOUT) as answered:
        for line in answered.read().decode().splitlines():
            if line.startswith(f"{name} "):
                return float(line.rsplit(" ", 1)[1])
    return 0.0


def same(given: Answers, expected: Answers) -> None:
    """Raise AssertionError unless every number the client hands back is the server's."""
    assert given.keys() == expected.keys(), f"{given.keys()} instead of {expected.keys()}"
    for name, answer in expected.items():
        for field, value in answer.items():
            if field not in given[name]:
                continue
            found = given[name][field]
            if isinstance(value, dict):
                found = {str(key): each for key, each in dict(found).items()}
            assert found == value, f"{name}.{field} is {found!r}, the server sent {value!r}"
        main = {"noul": "noul", "choice": "choice", "score": "score"}[answer["type"]]
        assert main in given[name], f"{name} has no {main}: {given[name]}"


class Checks:
    """Results by name; `finish` prints them as one line of JSON."""

    def __init__(self, package: str) -> None:
        self.package = package
        self.url = sys.argv[1].rstrip("/")
        self.strict = sys.argv[2].rstrip("/") if len(sys.argv) > 2 else None
        self.results: dict[str, dict[str, str]] = {}
        self.more: dict[str, Any] = {}

    def key(self, purpose: str) -> str:
        """A key of the strict server, with a rate of its own."""
        return f"{self.package}-{purpose}"

    def check(self, name: str, work: Callable[[], str | None]) -> None:
        """Run one check; `work` may return a note for the table."""
        if name in ("401", "413", "422", "429", "503", "retries") and self.strict is None:
            return
        try:
            self.results[name] = {"result": "ok", "note": work() or ""}
        except Exception as error:
            self.results[name] = {
                "result": "failed",
                "note": f"{type(error).__name__}: {error}"[:500],
            }

    def none(self, name: str, why: str) -> None:
        """The client has nothing that could be checked."""
        self.results[name] = {"result": "none", "note": why}

    def finish(self) -> None:
        """Print the results; exit 1 when something failed or was forgotten."""
        wanted = NAMES if self.strict else [n for n in NAMES if not n.isdigit() and n != "retries"]
        for name in wanted:
            if name not in self.results:
                self.results[name] = {"result": "failed", "note": "was not checked"}
        print(
            json.dumps(
                {
                    "client": self.package,
                    "version": version(self.package),
                    "checks": {name: self.results[name] for name in wanted},
                    **self.more,
                }
            )
        )
        sys.exit(any(each["result"] == "failed" for each in self.results.values()))


def status_of(work: Callable[[], Any], status: Callable[[Exception], Any]) -> int:
    """The status of the error that `work` raises. Raises AssertionError when it does not."""
    try:
        answered = work()
    except Exception as error:
        found = status(error)
        assert isinstance(found, int), f"no status on {type(error).__name__}: {error}"
        return found
    raise AssertionError(f"no error, but {answered!r}")


class Suite:
    """All checks of a client that speaks /v1/systemone.

    `ask(url, key, state, questions, retries)` gives the answers as plain dictionaries;
    `status(error)` the HTTP status of an error; `ask_many(url, key, states, questions)` asks all
    states at the same time.
    """

    def __init__(
        self,
        checks: Checks,
        ask: Callable[[str, str, Any, dict[str, Any], int], Answers],
        status: Callable[[Exception], Any],
        ask_many: Callable[[str, str, Sequence[Any], dict[str, Any]], Sequence[Answers]],
        *,
        bad: dict[str, Any] = BAD,
        retries_429: bool = True,
        retries: int = RETRIES,
        no_retries: str | None = None,
        waits_as_told: bool = True,
    ) -> None:
        self.checks = checks
        self.ask = ask
        self.status = status
        self.ask_many = ask_many
        self.bad = bad
        self.retries_429 = retries_429
        self.retries = retries
        self.no_retries = no_retries
        self.waits_as_told = waits_as_told

    def run(self) -> None:
        """Everything but models and zstd, which are the client's own business."""
        check = self.checks.check
        check("booleans", lambda: self.agrees(STATE, BOOLEAN))
        check("choices", lambda: self.agrees(STATE, CHOICE))
        check("scores", lambda: self.agrees(STATE, SCORE))
        check("described options", lambda: self.agrees(STATE, DESCRIBED))
        check("JSON states", self.json_states)
        check("20 at once", self.at_once)
        check("401", lambda: self.refused(401, "wrong", STATE, BOOLEAN))
        check("413", lambda: self.refused(413, self.checks.key("errors"), TOO_LONG, BOOLEAN))
        check("422", lambda: self.refused(422, self.checks.key("errors"), STATE, self.bad))
        check("429", self.limited)
        check("503", self.busy)
        if self.no_retries is None:
            check("retries", self.tries_again)
        else:
            self.checks.none("retries", self.no_retries)

    def agrees(self, state: Any, questions: dict[str, Any]) -> None:
        body = {"model": "default", "state": state, "questions": questions}
        expected = raw(self.checks.url, "/v1/systemone", body)["answers"]
        same(self.ask(self.checks.url, "any", state, questions, 0), expected)

    def json_states(self) -> None:
        self.agrees(JSON_STATE, {**BOOLEAN, **SCORE})
        self.agrees(LIST_STATE, {**BOOLEAN, **CHOICE})

    def at_once(self) -> None:
        together = self.ask_many(self.checks.url, "any", MANY, CHOICE)
        assert len(together) == len(MANY)
        for state, answers in zip(MANY, together, strict=True):
            body = {"model": "default", "state": state, "questions": CHOICE}
            same(answers, raw(self.checks.url, "/v1/systemone", body)["answers"])

    def refused(self, status: int, key: str, state: Any, questions: dict[str, Any]) -> None:
        found = status_of(lambda: self.ask(self.strict, key, state, questions, 0), self.status)
        assert found == status, f"{found} instead of {status}"

    @property
    def strict(self) -> str:
        assert self.checks.strict is not None
        return self.checks.strict

    def limited(self) -> None:
        key = self.checks.key("rate")

        def often() -> None:
            # A key earns a request every 2 seconds, so one may slip through.
            for _ in range(12):
                spend(self.strict, key)
                self.ask(self.strict, key, STATE, BOOLEAN, 0)

        found = status_of(often, self.status)
        assert found == 429, f"{found} instead of 429"

    def busy(self) -> None:
        busy = occupy(self.strict, self.checks.key("busy"))
        try:
            self.refused(503, self.checks.key("turned-away"), STATE, BOOLEAN)
        finally:
            busy.join()

    def refused_before_answered(self, key: str) -> tuple[int, int]:
        """How many requests were asked until two had to try again, and all their refusals."""
        again = total = 0
        for asked in range(1, 13):
            spend(self.strict, key)
            before = refusals(self.strict, "rate_limited")
            self.ask(self.strict, key, STATE, BOOLEAN, self.retries)
            refused = refusals(self.strict, "rate_limited") - before
            again += refused > 0
            total += refused
            if again == 2:
                return asked, total
        raise AssertionError(f"{again} of {asked} requests refused")

    def tries_again(self) -> str:
        key, notes = self.checks.key("again"), []
        if self.retries_429:
            asked, refused = self.refused_before_answered(key)
            # Who waits as long as the server says is refused once for each request.
            told = refused <= asked + 1 or not self.waits_as_told
            assert told, f"{refused} refusals of {asked} requests"
            notes.append(f"{asked} requests, {refused} × 429 and tried again")
        busy = occupy(self.strict, self.checks.key("busy"))
        before = refusals(self.strict, "overloaded")
        self.ask(self.strict, self.checks.key("patient"), STATE, BOOLEAN, self.retries)
        refused = refusals(self.strict, "overloaded") - before
        assert refused, "the request was not refused"
        notes.append(f"1 request, {refused} × 503 and tried again")
        busy.join()
        return "; ".join([*notes, *([] if self.waits_as_told else ["by its own clock"])])
