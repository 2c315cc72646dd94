"""The pytest plugin: files that end in `.decisions.yaml`, `.json` or `.toml` are tests.

Each expectation is one test. The cases of a file are asked together, when its first test runs.
Loaded by pytest itself, so nothing heavy is imported before there is such a file.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from thisthat.testing.answering import Answerer
    from thisthat.testing.cases import Case
    from thisthat.testing.run import CaseOutcome

ENDINGS = tuple(f".decisions.{kind}" for kind in ("yaml", "yml", "json", "toml"))


class UnmetExpectation(Exception):  # noqa: N818 - it is shown to people as the reason of a failure
    """An answer other than the expected one."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options, all of which start with --decisions."""
    group = parser.getgroup("thisthat", "decision tests")
    group.addoption(
        "--decisions-checkpoint",
        default="default",
        help="default, large, a folder, a GGUF file, a Hub id, or systemone+URL for a server",
    )
    group.addoption("--decisions-lambda", type=float, default=None, help="how much of the delta")


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> DecisionFile | None:
    """Collect files of cases."""
    if file_path.name.endswith(ENDINGS):
        return DecisionFile.from_parent(parent, path=file_path)
    return None


class DecisionFile(pytest.File):
    """One file of cases; its answers come from one batch."""

    cases: list[Case]
    _outcomes: dict[tuple[str, str], CaseOutcome] | None = None

    def collect(self) -> Iterator[DecisionTest]:
        """One test per expectation. An unreadable file is a collection error."""
        from thisthat.errors import ThisThatError
        from thisthat.testing.cases import read_cases

        try:
            self.cases = read_cases(self.path)
        except ThisThatError as error:
            raise self.CollectError(str(error)) from None
        for case in self.cases:
            for wanted in case.expected:
                test: DecisionTest = DecisionTest.from_parent(
                    self, name=f"{case.name} [{wanted.question}]"
                )
                test.key = (case.name, wanted.question)
                yield test

    def outcome(self, key: tuple[str, str]) -> CaseOutcome:
        """The outcome of one expectation."""
        from thisthat.testing.run import run_cases

        if self._outcomes is None:
            run = run_cases(self.cases, _answerer(self.config))
            self._outcomes = {(each.case, each.question): each for each in run.outcomes}
        return self._outcomes[key]


class DecisionTest(pytest.Item):
    """One expectation."""

    key: tuple[str, str]

    def runtest(self) -> None:
        """Fail unless the expected option is the best one and probable enough."""
        assert isinstance(self.parent, DecisionFile)
        outcome = self.parent.outcome(self.key)
        if not outcome.passed:
            raise UnmetExpectation(outcome.reason)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """Our errors as their message, without a traceback."""
        from thisthat.errors import ThisThatError

        if isinstance(excinfo.value, (UnmetExpectation, ThisThatError)):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        """The test's location."""
        return self.path, None, self.name


_ANSWERER = pytest.StashKey["Answerer"]()


def _answerer(config: pytest.Config) -> Answerer:
    """Opened once for all files of a session."""
    from thisthat.environment import ENDPOINT_KEY
    from thisthat.testing.answering import open_answerer

    if _ANSWERER not in config.stash:
        config.stash[_ANSWERER] = open_answerer(
            config.getoption("decisions_checkpoint"),
            lam=config.getoption("decisions_lambda"),
            key=os.environ.get(ENDPOINT_KEY),
        )
    return config.stash[_ANSWERER]
