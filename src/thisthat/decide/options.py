"""The settings of a decision, declared once for the library, the wire and the remote client.

``DecideKeywords`` repeats them for type checkers, which cannot derive keywords; a test keeps the
two in step.
"""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING, Literal, TypeAlias, TypedDict, get_args, get_type_hints

from thisthat.decide.option_order import Order
from thisthat.errors import InvalidInputError
from thisthat.prompt_format import Keep, Layout, Packing

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from thisthat.decide.policy import Policy

Wide: TypeAlias = Literal["at-once", "in-rounds"]
ProcedureName: TypeAlias = Literal["at-once", "in-rounds", "explained"]


class DecideKeywords(TypedDict, total=False):
    """``DecideOptions`` as keyword arguments."""

    layout: Layout | None
    packing: Packing
    keep: Keep | None
    order: Order
    wide: Wide
    explain: bool
    policy: Policy | None
    request_id: str | None


@dataclass(frozen=True, slots=True)
class DecideOptions:
    """How to take a decision.

    ``layout`` puts the state or the questions first (None: the checkpoint's preference),
    ``packing`` hides questions from each other ("apart") or not ("together"), ``keep`` allows
    cutting a state that is too long ("head", "tail" or "ends"), ``order`` "average" makes the
    answers to choices independent of the order of their options, ``wide`` "in-rounds" asks choices
    of more than 32 options in small groups and then among the winners, ``explain`` adds the parts
    of the state that each answer rests on, ``policy`` adds an outcome to the answers it was fitted
    for, ``request_id`` goes into the decision log. Raises InvalidInputError for settings that
    exclude each other.
    """

    layout: Layout | None = None
    packing: Packing = "apart"
    keep: Keep | None = None
    order: Order = "as-given"
    wide: Wide = "at-once"
    explain: bool = False
    policy: Policy | None = None
    request_id: str | None = None

    def __post_init__(self) -> None:
        if self.policy is not None:
            _check_policy(self.policy)
        if self.wide not in get_args(Wide):
            raise InvalidInputError("wide", f"{self.wide!r} is neither at-once nor in-rounds")
        if self.order == "average" and self.packing != "apart":
            why = f'"average" needs packing "apart", not {self.packing!r}: orders are branches'
            raise InvalidInputError("order", why)
        if self.wide == "at-once":
            return
        if self.packing != "apart":
            why = f'"in-rounds" needs packing "apart", not {self.packing!r}'
            raise InvalidInputError("wide", why)
        if self.policy is not None:
            why = '"in-rounds" gives probabilities that no policy was fitted for'
            raise InvalidInputError("wide", why)
        if self.explain:
            raise InvalidInputError("explain", 'cannot be combined with wide "in-rounds"')

    @classmethod
    def of(cls, **given: Unpack[DecideKeywords]) -> DecideOptions:
        """The settings given as keywords. Raises TypeError naming one that is not known."""
        known = tuple(DecideKeywords.__annotations__)
        for name in given:
            if name not in known:
                if name in ("lam", "lambda_"):
                    raise TypeError(
                        f"{name!r} is not a setting of a decision, but of the decider: "
                        "thisthat.open(…, lam=0) or thisthat.connect(…, lam=0)"
                    )
                if name == "unit":
                    raise TypeError(
                        "'unit' is not a setting of a decision, but of a client: "
                        "decider.for_unit(…) or thisthat.connect(…, unit=…)"
                    )
                near = get_close_matches(name, known)
                hint = f"did you mean {near[0]!r}?" if near else f"known are {', '.join(known)}"
                raise TypeError(f"{name!r} is not a setting of a decision; {hint}")
        return cls(**given)

    @property
    def procedure(self) -> ProcedureName:
        """The procedure that takes the decision."""
        return "explained" if self.explain else self.wide


def _check_policy(given: object) -> None:
    from thisthat.decide.policy import Policy

    if not isinstance(given, Policy):
        kind = type(given).__name__
        message = f"must be a Policy, not {kind}; thisthat.Policy.load(path) reads a file"
        raise InvalidInputError("policy", message)


def _choices(hint: object) -> tuple[str, ...]:
    """The words of a Literal, also of an optional one."""
    inner = [hint, *get_args(hint)]
    return tuple(word for each in inner for word in get_args(each) if isinstance(word, str))


_HINTS = get_type_hints(DecideOptions, localns={"Policy": object})

CHOICES = {name: words for name, hint in _HINTS.items() if (words := _choices(hint))}
"""The settings that take one of a few words, with those words."""

FLAGS = tuple(name for name, hint in _HINTS.items() if hint is bool)
"""The settings that are true or false."""
