"""What is said of who answers: questions that a taught checkpoint keeps nothing for."""

import pytest

from tests.path_engine import path_decider
from thisthat import Boolean
from thisthat.cli.answering import tell_uncompared, tell_untaught
from thisthat.decide.heads import Heads


def test_questions_without_a_head_are_named_where_anything_was_taught(
    capsys: pytest.CaptureFixture[str],
) -> None:
    decider = path_decider()
    tell_untaught(decider, {"red": Boolean("Is it red?")})
    assert not capsys.readouterr().err
    decider.heads = Heads(((1.0, {}),), decider.decode)
    tell_untaught(decider, {"red": Boolean("Is it red?"), "old": Boolean("Is it old?")})
    said = f"note: red, old: {decider.source.name} keeps nothing taught for this wording"
    assert capsys.readouterr().err.startswith(said)


def test_that_labels_may_have_taught_a_servers_checkpoint_is_said_where_it_was_taught(
    capsys: pytest.CaptureFixture[str],
) -> None:
    tell_uncompared("0.6.0")
    assert not capsys.readouterr().err
    tell_uncompared("0.6.0+9b1fb4d2")
    assert "does not say which labels taught its checkpoint" in capsys.readouterr().err
