from hypothesis import given, settings
from hypothesis import strategies as st

from thisthat.decide.spans import MOST_SPANS, spans_of
from thisthat.questions import compact_json


def test_sentences_and_lines_are_parts_of_a_text() -> None:
    text = "It rained; the road was wet. He paid 3.5 dollars!\n\nTotal: 4\n---\nBye"
    spans = spans_of(text)
    assert [span.text for span in spans] == [
        "It rained;",
        "the road was wet.",
        "He paid 3.5 dollars!",
        "Total: 4",
        "Bye",
    ]
    assert spans[1].without == "It rained; He paid 3.5 dollars!\n\nTotal: 4\n---\nBye"
    assert spans[3].without == "It rained; the road was wet. He paid 3.5 dollars!\n\n---\nBye"
    assert spans[0].where == "characters 0 to 10"


def test_fields_are_parts_of_a_json_state() -> None:
    spans = spans_of({"order": {"total": 12, "lines": ["a", "b"]}, "paid": False, "notes": []})
    assert [(span.where, span.text) for span in spans] == [
        ("order.total", '"total": 12'),
        ("order.lines[0]", '"a"'),
        ("order.lines[1]", '"b"'),
        ("paid", '"paid": false'),
        ("notes", '"notes": []'),
    ]
    assert spans[2].without == {"order": {"total": 12, "lines": ["a"]}, "paid": False, "notes": []}


def test_long_states_are_cut_into_groups_of_neighbours() -> None:
    lines = [f"line {number}" for number in range(200)]
    spans = spans_of("\n".join(lines))
    assert len(spans) == MOST_SPANS
    assert "\n".join(span.text for span in spans) == "\n".join(lines)
    fields = spans_of({line: number for number, line in enumerate(lines)})
    assert len(fields) == MOST_SPANS


def test_what_holds_no_word_has_no_parts() -> None:
    assert spans_of("") == spans_of("--- \n ...") == spans_of({}) == spans_of([]) == []


@settings(deadline=None, max_examples=200)
@given(st.text(alphabet="ab .;!\n\t-", max_size=60))
def test_a_part_left_out_takes_only_itself_and_space(text: str) -> None:
    for span in spans_of(text):
        assert isinstance(span.without, str)
        assert span.text in text
        start, end = (int(word) for word in span.where.split() if word.isdigit())
        assert text[start:end] == span.text
        assert span.without.startswith(text[:start])
        assert text[end:].lstrip(" \t\n").endswith(span.without[start:].lstrip(" \t\n"))
        gone = len(text) - len(span.without) - len(span.text)
        assert not text[end : end + gone].strip()


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(0, 9) | st.text("ab", max_size=2),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("ab"), inner, max_size=3),
    max_leaves=12,
)


@settings(deadline=None, max_examples=200)
@given(st.dictionaries(st.text("abc", min_size=1), JSON, max_size=3))
def test_every_field_left_out_makes_the_state_shorter(state: dict[str, object]) -> None:
    for span in spans_of(state):  # type: ignore[arg-type]
        assert len(compact_json(span.without)) < len(compact_json(state))  # type: ignore[arg-type]
