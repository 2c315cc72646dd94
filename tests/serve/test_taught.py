"""A server whose checkpoint was taught answers as the library does."""

from tests.decide.test_heads import OTHER, QUEUE, QUEUE_HEAD, STATE, taught
from tests.serve.support import post, service_for
from thisthat.questions_json import question_as_json


def test_a_server_gives_the_taught_answer_and_leaves_others_alone() -> None:
    questions = {"queue": QUEUE, "other": OTHER}
    service = service_for(lambda ref, lam: taught((1.0, QUEUE_HEAD)))
    asked = {name: question_as_json(question) for name, question in questions.items()}
    answered = post(service, "/v1/systemone", {"state": STATE, "questions": asked})
    assert answered.status_code == 200, answered.text
    given = answered.json()["answers"]
    expected = taught((1.0, QUEUE_HEAD)).decide(STATE, questions)
    assert given["queue"]["probabilities"] == dict(expected["queue"].probabilities)
    assert given["queue"]["probabilities"] != dict(taught().ask(STATE, QUEUE).probabilities)
    assert given["other"]["noul"] == expected["other"].yes == taught().ask(STATE, OTHER).yes
