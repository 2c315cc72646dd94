"""Prefix slots: no two prefixes share a place, what is in use stays, the oldest goes first."""

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from thisthat.engine.cuda.prefix_slots import PrefixSlots, SlotRange
from thisthat.engine.rows import Tokens


def prefix(length: int, name: int) -> Tokens:
    return (name,) * length


class AnyUse(RuleBasedStateMachine):
    """Prefixes come and are dropped in any order; a plain dictionary says what must be found."""

    @initialize(places=st.integers(1, 40), states=st.none() | st.integers(1, 4))
    def start(self, places: int, states: int | None) -> None:
        self.slots = PrefixSlots(places, 10, states, 0 if states is None else 7)
        self.states = states
        self.kept: dict[Tokens, SlotRange] = {}
        self.hits = self.misses = 0

    @rule(length=st.integers(1, 45), name=st.integers(0, 9), held=st.sets(st.integers(0, 9)))
    def use(self, length: int, name: int, held: set[int]) -> None:
        wanted = prefix(length, name)
        found = self.slots.find(wanted)
        assert found == self.kept.get(wanted)
        if found is not None:
            self.hits += 1
            self.kept[wanted] = self.kept.pop(wanted)
            return
        self.misses += 1
        in_use = [other for other in self.kept if other[0] in held]
        placed = self.slots.put(wanted, in_use)
        left = {
            other: span for other, span in self.kept.items() if self.slots.find(other) is not None
        }
        self.hits += len(left)
        self.misses += len(self.kept) - len(left)
        assert set(in_use) <= set(left)
        dropped = [other for other in self.kept if other not in left]
        droppable = [other for other in self.kept if other not in in_use]
        assert dropped == droppable[: len(dropped)]
        if placed is None:
            assert dropped == []
        else:
            assert placed.end - placed.first == length
            left[wanted] = placed
            self.slots.find(wanted)
            self.hits += 1
        self.kept = left

    @rule(name=st.integers(0, 9))
    def forget(self, name: int) -> None:
        for known in [known for known in self.kept if known[0] == name]:
            self.slots.forget(known)
            del self.kept[known]

    @invariant()
    def no_place_is_taken_twice(self) -> None:
        taken = [place for span in self.kept.values() for place in range(*span[:2])]
        assert len(taken) == len(set(taken))
        assert all(0 <= place < self.slots.places for place in taken)
        states = [span.state for span in self.kept.values()]
        if self.states is None:
            assert set(states) <= {-1}
        else:
            assert len(states) == len(set(states))
            assert set(states) <= set(range(self.states))

    @invariant()
    def counts_are_right(self) -> None:
        counts = self.slots.statistics
        assert (counts.hits, counts.misses) == (self.hits, self.misses)
        assert counts.entries == len(self.kept)
        assert counts.bytes == 10 * sum(map(len, self.kept)) + (
            0 if self.states is None else 7 * len(self.kept)
        )


TestAnyUse = AnyUse.TestCase


def test_a_prefix_longer_than_all_slots_is_never_taken() -> None:
    slots = PrefixSlots(8)
    slots.put(prefix(5, 7))
    slots.find(prefix(5, 7))
    slots.start_anew()
    assert slots.statistics.entries == slots.statistics.hits == 0
    assert not slots.takes(prefix(9, 1))
    assert not slots.takes(())
    assert slots.find(prefix(9, 1)) is None
    assert slots.statistics.refused == 1
    assert slots.put(prefix(8, 1)) == SlotRange(0, 8)
