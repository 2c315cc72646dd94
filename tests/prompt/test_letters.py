from thisthat.prompt.letters import CLOSING, OPENING, letter_prompt


def test_the_prompt_shows_state_question_options_and_the_reply_it_wants() -> None:
    options = (("refund", "money back"), ("repair", None))
    assert letter_prompt("Order 7 broke.", "What next?", options, ["A", "B", "C"]) == (
        "Context:\nOrder 7 broke.\n\nQuestion: What next?\nOptions:\n(A) refund: money back\n"
        '(B) repair\nReply with the letter of one option as JSON: {"answer": "LETTER"}'
    )
    assert f"{OPENING}A{CLOSING}" == '{"answer": "A"}'
