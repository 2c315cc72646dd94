from collections import Counter

import pytest

from tests.scale.replicas.support import skewed
from thisthat.scale.replicas.affinity import Affinity, cost_of


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.mark.parametrize("replicas", [2, 3, 8])
@pytest.mark.parametrize("seed", range(5))
def test_skewed_schemas_are_kept_and_spread(replicas: int, seed: int) -> None:
    clock = Clock()
    affinity, names = Affinity(clock), [f"replica-{seed}-{n}" for n in range(replicas)]
    kept: set[tuple[int, str]] = set()
    work: Counter[str] = Counter()
    hits, asked = 0, skewed(4_000, seed=seed)
    for schema in asked:
        clock.now += 0.02
        first = affinity.order(f"schema {schema}", names)[0]
        affinity.add(first, 1.0)
        hits += (schema, first) in kept
        kept.add((schema, first))
        work[first] += 1
    assert hits / len(asked) >= 0.95
    assert max(work.values()) / len(asked) <= 0.65 * 2 / replicas


def test_a_quiet_schema_stays_and_a_lost_replica_moves_only_its_own() -> None:
    affinity, names = Affinity(), ["a", "b", "c", "d"]
    keys = [f"schema {n}" for n in range(200)]
    before = {key: affinity.order(key, names)[0] for key in keys}
    assert before == {key: affinity.order(key, names[::-1])[0] for key in keys}
    after = {key: affinity.order(key, ["a", "b", "d"])[0] for key in keys}
    moved = {key for key in keys if before[key] != after[key]}
    assert moved == {key for key in keys if before[key] == "c"}
    assert 20 < len(moved) < 90


def test_work_is_forgotten() -> None:
    clock = Clock()
    affinity, names = Affinity(clock), ["a", "b"]
    home = affinity.order("schema", names)[0]
    affinity.add(home, 100.0)
    assert affinity.order("schema", names)[0] != home
    clock.now += 300
    assert affinity.order("schema", names)[0] == home


def test_long_bodies_are_more_work() -> None:
    assert cost_of(b"x" * 8192) == 3 * cost_of(b"")
    assert Affinity().order("schema", []) == []
