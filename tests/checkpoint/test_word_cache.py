import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer, normalizers, pre_tokenizers

from tests.checkpoint.tiny import tiny_tokenizer
from thisthat.checkpoint import open_checkpoint, word_cache
from thisthat.checkpoint.word_cache import WordCache, cuts_words

PIECES = ["'s", "'t", "'re", "'ll", " ", "  ", "\n", "\t", "\x0b", "\x1c", "\0", "1", "42", "the"]
PIECES += [" refund", "?!", " (", "#..#", "<|im_end|>", "_", "é", "\u00a0", "x1y", "I'd"]


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return open_checkpoint("default").tokenizer


def ids(tokenizer: Tokenizer, text: str) -> list[int]:
    found: list[int] = tokenizer.encode(text, add_special_tokens=False).ids
    return found


@pytest.mark.parametrize(
    "text",
    ["", " ", "a ", " a", "a  b", "a \n b", "a\n b", "a \n", "a\n 1", "a 1  2", "x \x1c y", "1 2"],
)
def test_spaces_belong_to_what_they_do_for_the_tokenizer(tokenizer: Tokenizer, text: str) -> None:
    cached = WordCache(lambda text: ids(tokenizer, text))
    assert cached(text) == ids(tokenizer, text)


@given(st.lists(st.sampled_from(PIECES), max_size=12).map("".join) | st.text(max_size=20))
def test_the_ids_are_the_tokenizers_own(tokenizer: Tokenizer, text: str) -> None:
    cached = WordCache(lambda text: ids(tokenizer, text))
    text = text.encode("utf-8", "ignore").decode()
    assert cached(text) == ids(tokenizer, text)
    assert cached(text) == ids(tokenizer, text)


def test_a_word_is_worked_out_once_and_the_memory_is_bounded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[str] = []

    def encode(text: str) -> list[int]:
        asked.append(text)
        return [len(text)]

    cached = WordCache(encode)
    assert cached("one two one") == [3, 4, 4]
    assert cached(" one two") == [4, 4]
    assert asked == ["one", " two", " one"]
    assert cached("é one") == [5]  # not ASCII: read whole
    monkeypatch.setattr(word_cache, "_MOST_WORDS", 2)
    asked.clear()
    cached("one")
    assert asked == ["one"]
    long = "a" * 40
    cached(long)
    cached(long)
    assert asked.count(long) == 2
    cached("one " + long)
    cached("one " + long)
    assert asked.count(" " + long) == 2


def test_only_a_tokenizer_that_cuts_alike_is_taken() -> None:
    def changed() -> Tokenizer:
        tokenizer = tiny_tokenizer()
        tokenizer.encode_special_tokens = True
        return tokenizer

    assert cuts_words(changed())
    tokenizer = changed()
    tokenizer.encode_special_tokens = False
    assert not cuts_words(tokenizer)
    tokenizer = changed()
    tokenizer.normalizer = normalizers.Lowercase()
    assert not cuts_words(tokenizer)
    tokenizer = changed()
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    assert not cuts_words(tokenizer)
    tokenizer = changed()
    tokenizer.add_tokens(["refund policy"])
    assert not cuts_words(tokenizer)
    tokenizer = changed()
    tokenizer.enable_truncation(4)
    assert not cuts_words(tokenizer)
