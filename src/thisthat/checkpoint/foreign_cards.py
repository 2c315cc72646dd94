"""Cards for models without one: decider and this-that checkpoints, plain language models.

Reads the settings those checkpoints come with, not their tensors.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from thisthat.checkpoint.card import Base, Card, Limits
from thisthat.checkpoint.fields import Fields
from thisthat.errors import CheckpointError, InvalidInputError
from thisthat.prompt_format import PromptFormat
from thisthat.questions import Kind
from thisthat.temperature import OptionsRule, Temperatures

DECIDER_FILE = "decider_config.json"
_FLOCK = "flock-io/this-that-model-1.0"
_DECIDER_OWNER = "Mapika/decider-"
_DECIDER_STATE_TOKENS = 32_768
_FLOCK_STATE_TOKENS = 32_768
"""Its longest measurement's. Its library cuts at 1,536 unless told; here nothing is cut unasked."""
_KINDS: dict[str, Kind] = {"choice": "choice", "noul": "boolean", "score": "score"}


def card_for(
    ref: str, base: Base, folder: Path, config: Mapping[str, Any], has_template: bool = False
) -> Card:
    """The card of a model without ``decision.json``, from its name and the files beside it.

    A language model that comes with a chat template is an instruction model and reads its prompts
    in it, unless its name says that it is a base.

    Raises CheckpointError when a limit is missing or a setting is unknown.
    """
    rows = _positions(config, ref)
    if (folder / DECIDER_FILE).is_file():
        return read_decider_card(folder / DECIDER_FILE, ref, base, rows)
    if ref.startswith(_DECIDER_OWNER):
        return _decider_card(ref, "unversioned", base, rows, _DECIDER_STATE_TOKENS)
    if _is_flock(ref):
        return Card(
            name=_FLOCK,
            version="1.0",
            base=base,
            limits=Limits(min(_FLOCK_STATE_TOKENS, rows), rows),
            prompt=PromptFormat(family="flock"),
        )
    # An eighth of the row is kept for the questions, as in the default checkpoint.
    name = Path(ref).name
    chat = has_template and "base" not in re.split(r"[^a-z]+", name.lower())
    return Card(
        name=name,
        version="unversioned",
        base=base,
        limits=Limits(rows - rows // 8, rows),
        prompt=PromptFormat(chat=chat),
    )


def read_decider_card(path: Path, name: str, base: Base, rows: int) -> Card:
    """The card equivalent to a ``decider_config.json``. Raises CheckpointError naming a bad key."""
    fields = Fields.from_file(path)
    fields.optional_text("base")
    released = fields.optional_date("release_date")
    fields.whole("max_options", 1, default=255)
    if fields.flag("neutralize_none", False):
        raise CheckpointError(
            f"{fields.where('neutralize_none')}: options are never renamed here, so this "
            "checkpoint would not give the answers it was made for"
        )
    layout = fields.one_of("layout", ("plain", "chat"), "plain")
    schema_first = fields.flag("schema_first", False)
    card = _decider_card(
        name,
        fields.text("version", "unversioned"),
        base,
        rows,
        fields.whole("max_state_tokens", 1, default=_DECIDER_STATE_TOKENS),
        PromptFormat(
            family="decider",
            chat=layout == "chat",
            isolated_levels=fields.flag("isolated_levels", False),
        ),
        _temperatures(fields),
        schema_first,
    )
    fields.finish()
    return replace(card, released=released)


def _decider_card(
    name: str,
    version: str,
    base: Base,
    rows: int,
    state_tokens: int,
    prompt: PromptFormat | None = None,
    temperatures: Temperatures | None = None,
    schema_first: bool = True,
) -> Card:
    return Card(
        name=name,
        version=version,
        base=base,
        limits=Limits(min(state_tokens, rows), rows),
        prompt=prompt or PromptFormat(family="decider"),
        layouts=("state-first", "schema-first") if schema_first else ("state-first",),
        temperatures=temperatures or Temperatures(),
    )


def _temperatures(fields: Fields) -> Temperatures:
    default = fields.number("temperature", 1.0)
    by_kind = _by_kind(fields.inner("temperature_by_type"))
    rule = fields.inner("temperature_by_options")
    by_options = None
    if rule is not None:
        by_options = OptionsRule(rule.number("a"), rule.number("b"), rule.number("min", 0.05))
        rule.finish()
    own_default = "temperature_schema_first" in fields
    schema_default = fields.number("temperature_schema_first", default)
    schema_kinds = _by_kind(fields.inner("temperature_schema_first_by_type"))
    if not own_default:
        schema_kinds = {**by_kind, **schema_kinds}
    try:
        return Temperatures(
            default, by_kind, by_options, Temperatures(schema_default, schema_kinds)
        )
    except InvalidInputError as error:
        raise CheckpointError(f"{DECIDER_FILE}: {error}") from error


def _by_kind(fields: Fields | None) -> dict[Kind, float]:
    if fields is None:
        return {}
    known = {kind: fields.number(key) for key, kind in _KINDS.items() if key in fields}
    fields.finish()
    return known


def _is_flock(ref: str) -> bool:
    """Whether ``ref`` is that repository, a folder of that name, or its entry in the Hub cache."""
    owner, name = _FLOCK.split("/")
    return bool({name, f"models--{owner}--{name}"} & set(Path(ref).parts))


def _positions(config: Mapping[str, Any], ref: str) -> int:
    text = config.get("text_config")
    for source in (config, text if isinstance(text, dict) else {}):
        for key in ("max_position_embeddings", "n_positions"):
            value = source.get(key)
            if isinstance(value, int) and value > 0:
                return value
    raise CheckpointError(
        f"{ref}: config.json names no max_position_embeddings; add a decision.json with limits"
    )
