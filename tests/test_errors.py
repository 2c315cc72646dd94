import copy
import pickle

import pytest

from thisthat.errors import InvalidInputError, MissingExtraError, StateTooLongError, ThisThatError


@pytest.mark.parametrize(
    "error",
    [
        InvalidInputError("state", "is bad"),
        StateTooLongError(9, 4),
        MissingExtraError("this", "ray"),
        InvalidInputError("a", "b").under("parent"),
    ],
)
def test_errors_are_the_same_in_another_process(error: ThisThatError) -> None:
    for again in (pickle.loads(pickle.dumps(error)), copy.copy(error)):
        assert type(again) is type(error)
        assert (str(again), again.__dict__) == (str(error), error.__dict__)
