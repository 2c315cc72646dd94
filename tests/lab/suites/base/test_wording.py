import pytest

from thisthat.questions import JSONValue, Text
from thisthat_lab.suites.base.wording import as_shown


@pytest.mark.parametrize(
    ("state", "forms", "expected"),
    [
        ("Policy:\nfirst\nsecond", ["first\nsecond"], ["first", "second"]),
        ({"policy": 'say "no"\ntwice'}, ['say "no"\ntwice'], ['say \\"no\\"\\ntwice']),
        ({"policy": {"limit": 3}}, ["at most 3", {"limit": 3}], ['{"limit": 3}']),
        ("nothing of it", ["a rule", {"limit": 3}], []),
        ("a\n\nb", ["a\n\nb"], ["a", "b"]),
    ],
)
def test_the_forms_that_stand_in_a_state(
    state: Text, forms: list[JSONValue], expected: list[str]
) -> None:
    assert as_shown(state, *forms) == expected
