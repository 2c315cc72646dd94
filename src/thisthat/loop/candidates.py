"""From a checkpoint to a version of the registry, and from there to champion."""

from __future__ import annotations

from dataclasses import replace

from thisthat.checkpoint import Checkpoint, open_checkpoint
from thisthat.checkpoint.card import Parent
from thisthat.errors import InvalidInputError
from thisthat.loop.experiment import Experiment
from thisthat.loop.registry import Registry, RegistryState, Version, check_start


def registered(registry: Registry, named: str, by: str) -> Version:
    """The version of that name, or of that checkpoint, which is registered if it is new.

    Raises what opening the checkpoint raises.
    """
    new = version_of(registry, named)
    if new.name in registry.now().versions:
        return new
    return registry.register(new.name, new.reference, new.identity, by, new.parent, new.data)


def version_of(registry: Registry, named: str) -> Version:
    """The version of that name, or of that checkpoint, registered or not; changes nothing.

    Raises what opening the checkpoint raises.
    """
    held = registry.now()
    if named in held.versions:
        return held.versions[named]
    checkpoint = open_checkpoint(named)
    for each in held.versions.values():
        if each.identity == checkpoint.identity:
            return each
    name, data = checkpoint.card.version, checkpoint.card.provenance.get("labels_sha256")
    if name in held.versions:
        name = f"{name}-{checkpoint.identity[:8]}"
    return Version(name, checkpoint.ref, checkpoint.identity, _parent(checkpoint, held), data)


def start(registry: Registry, named: str, wanted: Experiment, by: str) -> Experiment:
    """Try a version, or a checkpoint, against the champion; it gets its name here.

    Raises InvalidInputError, after which nothing has changed.
    """
    version = version_of(registry, named)
    check_start(registry.now(), version)
    registered(registry, named, by)
    return registry.start(replace(wanted, version=version.name), by)


def _parent(checkpoint: Checkpoint, held: RegistryState) -> str | None:
    """The version that the checkpoint was taught on, where it is registered."""
    base = checkpoint.card.base
    if not isinstance(base, Parent):
        return None
    for pointed in reversed(held.champions):
        version = held.versions[pointed.version]
        if open_checkpoint(version.reference, pointed.lam).identity == base.sha256:
            return version.name
    same = [each.name for each in held.versions.values() if each.identity == base.sha256]
    return same[0] if same else None


def no_candidate() -> InvalidInputError:
    """Nothing was named and nothing is tried."""
    why = "is missing, and there is no candidate: name one, or start a canary"
    return InvalidInputError("version", why)


def promote(
    registry: Registry,
    named: str | None,
    by: str,
    reason: str,
    lam: float | None = None,
    force: bool = False,
) -> Version:
    """Make a version champion: the candidate, if none is named.

    Only the first, and one that an experiment found not worse, become champion without ``force``.
    Its λ is that experiment's. Raises InvalidInputError, after which nothing has changed.
    """
    held = registry.now()
    chosen = named or held.candidate
    if chosen is None:
        raise no_candidate()
    version = version_of(registry, chosen)
    if version.name == held.champion:
        raise InvalidInputError("version", f"{version.name!r} is the champion already")
    tried = [each for each in held.running.values() if each.version == version.name]
    if held.champions and not force:
        if not tried:
            why = f"{version.name!r} is not being tried; start a canary, or add --force"
            raise InvalidInputError("version", why)
        if not any(each.ready for each in tried):
            why = f"has not shown {version.name!r} to be not worse; wait for it, or add --force"
            raise InvalidInputError(tried[0].name, why)
    if lam is None:
        lam = next((each.lam for each in tried if each.ready), None)
    registered(registry, chosen, by)
    registry.point("champion", version.name, by, reason, lam)
    return version
