"""A policy: cut-offs and what belongs to them, read from a file and applied to answers.

It records the schema and the conditions it was fitted for, and refuses any other unless forced.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from html import escape
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

import numpy as np
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    SerializerFunctionWrapHandler,
    ValidationError,
    model_serializer,
    model_validator,
)

from thisthat import display
from thisthat.decide.conditions import Conditions
from thisthat.decide.recalibration import Method, MonotoneMap, Recalibration
from thisthat.decide.target import Target, parse_target
from thisthat.errors import InvalidInputError
from thisthat.files import write_atomically
from thisthat.identity import question_hash, schema_hash, schema_hash_of
from thisthat.inputs import read_json
from thisthat.questions import Answer, Decision, PolicyOutcome, Question, ScoreAnswer

DecisionT = TypeVar("DecisionT", bound=Decision)
Probability = Annotated[float, Field(ge=0, le=1)]
_MOST_NAMED = 5


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)


class CutoffPart(_Part):
    """An option's cut-off (None: never acted on) and its effect on the labels."""

    value: Probability | None
    labels: int
    acted: int
    wrong: int
    least_labels: int
    likely_labels: int | None


class SetPart(_Part):
    """Which options belong to a prediction set."""

    coverage: Probability
    least: Probability


class MapPart(_Part):
    """The knots of a non-decreasing map."""

    x: list[float] = Field(min_length=1)
    y: list[float] = Field(min_length=1)

    @model_validator(mode="after")
    def _is_monotone(self) -> MapPart:
        if len(self.x) != len(self.y):
            raise ValueError(f"has {len(self.x)} x for {len(self.y)} y")
        for name, knots in (("x", self.x), ("y", self.y)):
            if sorted(knots) != knots:
                raise ValueError(f"the knots in {name} must not fall")
        return self

    def map(self) -> MonotoneMap:
        """The map as a function."""
        return MonotoneMap(tuple(self.x), tuple(self.y))


class RecalibrationPart(_Part):
    """A recalibration of one question's probabilities."""

    way: Method  # The file's word for it, by which policies are hashed.
    temperature: Annotated[float, Field(gt=0)] = 1.0
    biases: list[float] = []
    maps: list[MapPart] = []
    held_out_nll: dict[str, float] = {}

    def recalibration(self) -> Recalibration:
        """The map as a function."""
        return Recalibration(
            self.way, self.temperature, tuple(self.biases), tuple(m.map() for m in self.maps)
        )


class ReferencePart(_Part):
    """What the answers to the labelled states looked like, for detecting drift."""

    best: dict[str, int]
    sure: list[Probability]


class QuestionPart(_Part):
    """Everything fitted for one question; ``legend`` are the texts of a score's levels.

    Files older than ``legend`` have none.
    """

    question: str
    options: list[str]
    legend: list[str] = []
    labels: int
    coverage: Probability
    cutoffs: dict[str, CutoffPart]
    set: SetPart | None
    levels: MapPart | None
    recalibration: RecalibrationPart
    reference: ReferencePart

    @model_validator(mode="after")
    def _options_fit(self) -> QuestionPart:
        unknown = sorted(set(self.cutoffs) - set(self.options))
        if unknown:
            raise ValueError(f"cutoffs has {unknown[0]!r}, which is not among the options")
        if len(self.legend) > len(self.options):
            raise ValueError(f"legend has {len(self.legend)} for {len(self.options)} options")
        for name in ("biases", "maps"):
            given = len(getattr(self.recalibration, name))
            if given not in (0, len(self.options)):
                raise ValueError(f"recalibration.{name} has {given} for {len(self.options)}")
        if self.recalibration.way == "isotonic" and not self.recalibration.maps:
            raise ValueError("recalibration.maps is empty")
        return self

    @model_serializer(mode="wrap")
    def _as_it_was_read(self, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
        # A policy without the field keeps its hash, by which the decision log knows it.
        found: dict[str, Any] = dump(self)
        return found if self.legend else {k: found[k] for k in found if k != "legend"}

    def told(self, option: str) -> str:
        """An option for people to read: a score's level with its text."""
        place = self.options.index(option)
        if place >= len(self.legend):
            return option
        return display.level_told(option, self.legend[place])


class ConditionsPart(_Part):
    """The conditions under which the policy was fitted; files older than ``weights`` have none."""

    checkpoint: str
    version: str
    lam: float
    layout: Literal["state-first", "schema-first"]
    packing: Literal["apart", "together"]
    order: Literal["as-given", "average"]
    temperatures: str
    weights: str | None = None

    @model_serializer(mode="wrap")
    def _as_it_was_read(self, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
        # As above.
        found: dict[str, Any] = dump(self)
        return found if self.weights is not None else {k: found[k] for k in found if k != "weights"}


class Policy(_Part):
    """Cut-offs with a guarantee for the questions of one schema under one set of conditions."""

    format: Literal["thisthat policy 1"] = "thisthat policy 1"
    target: str
    confidence: Annotated[float, Field(gt=0, lt=1)]
    schema_hash: str
    conditions: ConditionsPart
    questions: dict[str, QuestionPart]
    tries: Annotated[int, Field(ge=1)] = 1
    """How many targets were tried on the same labels; more than one weaken the guarantee."""
    forced: Annotated[bool, Field(exclude=True)] = False

    @model_serializer(mode="wrap")
    def _as_it_was_read(self, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
        # As above.
        found: dict[str, Any] = dump(self)
        return found if self.tries > 1 else {k: found[k] for k in found if k != "tries"}

    @property
    def never_acted_on(self) -> list[str]:
        """The questions of which no option has a cut-off, though some were to have one."""
        return [
            name
            for name, part in self.questions.items()
            if part.cutoffs and all(each.value is None for each in part.cutoffs.values())
        ]

    @classmethod
    def from_json(cls, value: object, where: str = "policy") -> Policy:
        """Read a policy strictly. Raises InvalidInputError naming the field."""
        if isinstance(value, Mapping) and "forced" in value:
            raise InvalidInputError(f"{where}.forced", "is not known; a file cannot force itself")
        if not isinstance(value, Mapping) or not {"format", "target"} & set(value):
            raise InvalidInputError(where, "is not a policy file")
        try:
            read = cls.model_validate(value)
        except ValidationError as error:
            first = error.errors()[0]
            field = ".".join([where, *(str(part) for part in first["loc"])])
            raise InvalidInputError(field, first["msg"]) from None
        try:
            parse_target(read.target)
        except InvalidInputError as error:
            raise error.under(where) from None
        return read

    @classmethod
    def load(cls, path: str | Path) -> Policy:
        """Read a policy file. Raises InvalidInputError."""
        return cls.from_json(read_json(Path(path)), str(path))

    def as_json(self) -> dict[str, Any]:
        """The policy as JSON-ready data; ``from_json`` reads it back."""
        return self.model_dump()

    def save(self, path: str | Path) -> None:
        """Write the policy file, completely or not at all."""
        write_atomically(Path(path), json.dumps(self.as_json(), ensure_ascii=False, indent=1))

    def __repr__(self) -> str:
        acts = ", ".join(f"{n} {part.coverage:.0%}" for n, part in self.questions.items())
        forced = ", forced" if self.forced else ""
        return f"<Policy {self._about()}: acts on {acts}{forced}>"

    __str__ = __repr__

    def _repr_html_(self) -> str:
        rows = [
            (
                display.bold(name) if number == 0 else "",
                escape(part.told(option)),
                "never" if cutoff.value is None else f"from {cutoff.value:.4f}",
                f"{cutoff.acted} of {cutoff.labels}, {cutoff.wrong} wrong",
                display.bar(cutoff.acted / cutoff.labels if cutoff.labels else 0.0),
            )
            for name, part in self.questions.items()
            for number, (option, cutoff) in enumerate(part.cutoffs.items())
        ]
        heads = ("question", "option", "acted on", "labels", "")
        forced = "; forced: without its guarantee" if self.forced else ""
        return display.table(heads, rows) + display.note(self._about() + forced)

    def _about(self) -> str:
        fitted = self.conditions
        return (
            f"{self.target} with confidence {self.confidence:g}, for {fitted.checkpoint} "
            f"{fitted.version}, λ = {fitted.lam:g}"
        )

    def force(self) -> Policy:
        """This policy, for a schema or checkpoint it was not fitted for.

        Its guarantee is void there: every outcome says so, and the decision log records it.
        """
        return self.model_copy(update={"forced": True})

    @cached_property
    def hash(self) -> str:
        """sha256 over the policy's content."""
        return hashlib.sha256(json.dumps(self.as_json(), sort_keys=True).encode()).hexdigest()

    @cached_property
    def parsed_target(self) -> Target:
        """The target."""
        return parse_target(self.target)

    @cached_property
    def _recalibrations(self) -> dict[str, Recalibration]:
        return {n: part.recalibration.recalibration() for n, part in self.questions.items()}

    def mismatches(self, questions: Mapping[str, Question], conditions: Conditions) -> list[str]:
        """How these questions and conditions differ from what the policy was fitted for."""
        ours = Conditions(**self.conditions.model_dump())
        different = [] if self._same_schema(questions) else [self._schema_difference(questions)]
        return different + ours.differences(conditions)

    def check(self, questions: Mapping[str, Question], conditions: Conditions) -> list[str]:
        """``mismatches``, if forced. Raises InvalidInputError for any mismatch otherwise."""
        found = self.mismatches(questions, conditions)
        if found and not self.forced:
            raise InvalidInputError(
                "policy",
                f"was fitted for something else: {'; '.join(found)}. Ask as it was fitted, fit it "
                "again, or force it without its guarantee (policy.force() in Python, "
                "--force-policy for ask, force_policy in a request to /v1/decide)",
            )
        return found

    def apply(
        self, decision: DecisionT, questions: Mapping[str, Question], conditions: Conditions
    ) -> DecisionT:
        """The decision with an outcome in every answer the policy covers.

        Raises InvalidInputError for another schema or other conditions, unless forced.
        """
        forced = tuple(self.check(questions, conditions))
        answers = dict(decision.answers)
        cut = decision.cut is not None
        for name, question in questions.items():
            part = self._part(name, question)
            if part is not None:
                outcome = self._outcome(part, answers[name], cut, forced)
                answers[name] = replace(answers[name], outcome=outcome)
        return replace(decision, answers=answers)

    def cutoff(self, name: str, question: Question, option: str) -> float | None:
        """The cut-off of a question's option; None where there is none."""
        part = self._part(name, question)
        found = None if part is None else self.questions[part].cutoffs.get(option)
        return None if found is None else found.value

    def _same_schema(self, questions: Mapping[str, Question]) -> bool:
        if schema_hash(questions) == self.schema_hash:
            return True
        if self.conditions.packing != "apart":
            return False
        # Questions packed apart do not see each other, so a subset gets the same answers.
        asked = {name: question_hash(question) for name, question in questions.items()}
        if len(asked) == 1:  # One asked alone has no name to compare.
            return set(asked.values()) <= set(self._fitted.values())
        if schema_hash_of(self._fitted) == self.schema_hash:
            return asked.items() <= self._fitted.items()
        # Some questions were left out on purpose: their words do not matter.
        covered = {name: asked[name] for name in asked.keys() & self._fitted.keys()}
        return bool(covered) and covered.items() <= self._fitted.items()

    @cached_property
    def _fitted(self) -> dict[str, str]:
        return {name: part.question for name, part in self.questions.items()}

    def _schema_difference(self, questions: Mapping[str, Question]) -> str:
        """That the schema differs, and in which questions. Those not fitted are not known here."""
        asked = {name: question_hash(question) for name, question in questions.items()}
        known = self._fitted
        changed = [name for name in asked if name in known and asked[name] != known[name]]
        more = [name for name in asked if name not in known]
        fewer = [name for name in known if name not in asked]
        for which, names in (
            ("fitted in other words: ", changed),
            ("not fitted in these words: ", more),
            ("not asked: ", fewer),
        ):
            if names:
                told = [*names[:_MOST_NAMED], "…"] if len(names) > _MOST_NAMED else names
                return f"the schema differs ({which}{', '.join(told)})"
        return "the schema differs"

    def _part(self, name: str, question: Question) -> str | None:
        asked = question_hash(question)
        same = [n for n, part in self.questions.items() if part.question == asked]
        if name in same or (not same and name in self.questions):
            return name
        return same[0] if same else None

    def _outcome(
        self, name: str, answer: Answer, was_cut: bool, forced: tuple[str, ...]
    ) -> PolicyOutcome:
        part = self.questions[name]
        action, option, reason = self._action(part, answer, was_cut)
        known = list(answer.probabilities) == part.options
        recalibrated = None
        if known:
            values = self._recalibrations[name](list(answer.probabilities.values()))
            recalibrated = dict(zip(part.options, np.asarray(values).tolist(), strict=True))
        level = None
        if known and part.levels is not None and isinstance(answer, ScoreAnswer):
            level = float(part.levels.map()(answer.expected))
        fitted = part.set if known else None
        return PolicyOutcome(
            action=action,
            option=option,
            reason=reason,
            policy=self.hash,
            options=None if fitted is None else prediction_set(answer.probabilities, fitted.least),
            coverage=None if fitted is None else fitted.coverage,
            probabilities=recalibrated,
            level=level,
            forced=forced,
        )

    def _action(
        self, part: QuestionPart, answer: Answer, was_cut: bool
    ) -> tuple[Literal["act", "abstain", "escalate"], str | None, str]:
        tried = self._tried(part, answer)
        sure, said = answer.probabilities[tried], repr(display.label(answer, tried))
        otherwise: Literal["abstain", "escalate"] = (
            "abstain" if self.parsed_target.aim == "cost" else "escalate"
        )
        if was_cut:
            return "escalate", None, "the state was cut; the policy was fitted on whole states"
        if tried == answer.abstain:
            return "abstain", None, f"the answer is {said}"
        if tried not in part.cutoffs:
            return otherwise, None, f"{said} is not an option the policy acts on"
        cutoff = part.cutoffs[tried]
        if cutoff.value is None:
            enough = max(cutoff.likely_labels or 0, cutoff.least_labels)
            why = f"wrong too often in {cutoff.labels} labels"
            if enough > cutoff.labels:
                why = f"{cutoff.labels} labels, at least {enough - cutoff.labels} more needed"
            return otherwise, None, f"{said} has no cut-off for {self.target}: {why}"
        if sure >= cutoff.value:
            return "act", tried, f"{said} at {sure:.4f} reaches its cut-off {cutoff.value:.4f}"
        return otherwise, None, f"{said} at {sure:.4f} is below its cut-off {cutoff.value:.4f}"

    def _tried(self, part: QuestionPart, answer: Answer) -> str:
        """The option that may be acted on: the best, or the only one under a cost."""
        whichever = self.parsed_target.acts_whichever_is_best(part.options, part.cutoffs)
        if whichever and answer.abstain is None:
            (only,) = part.cutoffs
            if only in answer.probabilities:
                return only
        return answer.best_name


def prediction_set(probabilities: Mapping[str, float], least: float) -> tuple[str, ...]:
    """The options in the set, most probable first; the best one always belongs to it."""
    ordered = sorted(probabilities, key=probabilities.__getitem__, reverse=True)
    return tuple(name for name in ordered if probabilities[name] >= least) or (ordered[0],)
