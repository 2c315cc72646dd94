from collections import OrderedDict
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from thisthat.engine.prefix_cache import PrefixCache
from thisthat.errors import InvalidInputError

steps = st.lists(
    st.tuples(st.sampled_from(["get", "put"]), st.integers(0, 5), st.integers(0, 12)), max_size=60
)


@settings(deadline=None)
@given(steps, st.integers(0, 20))
def test_behaves_like_a_plain_lru_of_bytes(steps: list[tuple[str, int, int]], bound: int) -> None:
    cache: PrefixCache[bytes] = PrefixCache(bound, len)
    model: OrderedDict[tuple[int, ...], bytes] = OrderedDict()
    hits = misses = saved = 0
    for action, name, size in steps:
        prefix = (name,) * (name + 1)
        if action == "get":
            value = cache.get(prefix)
            assert value == model.get(prefix)
            if value is None:
                misses += 1
            else:
                model.move_to_end(prefix)
                hits += 1
                saved += len(prefix)
        else:
            kept = cache.put(prefix, bytes(size))
            assert kept == (size <= bound)
            if kept:
                model.pop(prefix, None)
                while sum(map(len, model.values())) + size > bound:
                    model.popitem(last=False)
                model[prefix] = bytes(size)
        statistics = cache.statistics
        assert statistics.bytes == sum(map(len, model.values())) <= bound
        assert statistics.entries == len(model)
        assert (statistics.hits, statistics.misses) == (hits, misses)
        assert statistics.tokens_saved == saved


def test_evictions_and_refusals_are_counted() -> None:
    cache: PrefixCache[bytes] = PrefixCache(10, len)
    cache.put((1,), bytes(6))
    cache.put((2,), bytes(6))
    assert not cache.put((3,), bytes(11))
    assert (cache.statistics.evictions, cache.statistics.refused) == (1, 1)
    assert cache.get((1,)) is None
    assert cache.get((2,)) == bytes(6)
    cache.clear()
    assert (cache.statistics.bytes, cache.statistics.entries) == (0, 0)


def test_threads_may_share_it() -> None:
    cache: PrefixCache[bytes] = PrefixCache(64, len)

    def work(seed: int) -> None:
        for step in range(300):
            name = (seed * 7 + step * 5) % 11
            if cache.get((name,)) is None:
                cache.put((name,), bytes(name + 1))

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(4)))
    statistics = cache.statistics
    assert statistics.hits + statistics.misses == 1200
    assert statistics.bytes <= 64


def test_a_negative_bound_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="prefix_cache_bytes"):
        PrefixCache(-1, len)
