"""Tokens are counted word by word, as the tokenizer counts them in the whole text."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer
from tokenizers.normalizers import NFKC

from glossator.embed import token_counts
from glossator.embed.local import built_in_model, open_tokenizer
from glossator.embed.token_counts import TokenCounter

TOKENIZER = open_tokenizer(built_in_model())
COUNTER = TokenCounter(TOKENIZER)
PIECES = ["the", "embedding", "Zürich", "e\u0301", "\u0301", "中文", "ไทย", "don't", "x_y", "[SEP]", "[", "UNK", "]"]
SPACES = [" ", "\n", "\t", "\r\n", "\x0b", "\x1c", "\x85", "\xa0", "\u200b", "\u3000", "\u2028", "\x00", "\ufffd", ""]
TEXTS = st.lists(st.sampled_from(PIECES + SPACES) | st.text(max_size=5), max_size=30).map("".join)


def encoded(tokenizer: Tokenizer, texts: Sequence[str]) -> list[int]:
    return [len(e.ids) for e in tokenizer.encode_batch(list(texts), add_special_tokens=False)]


@given(st.lists(TEXTS, max_size=4))
def test_counts_are_those_of_the_tokenizer(texts: list[str]) -> None:
    assert COUNTER.count(texts) == encoded(TOKENIZER, texts)


def test_a_word_is_encoded_once(monkeypatch: pytest.MonkeyPatch) -> None:
    counter = TokenCounter(TOKENIZER)
    asked: list[str] = []
    count_words = counter._count_words
    monkeypatch.setattr(counter, "_count_words", lambda words: asked.extend(words) or count_words(words))
    assert counter.count(["torque and torque", "and torque."]) == [3, 3]
    assert counter.count(["torque"]) == [1]
    assert sorted(asked) == [".", "and", "torque"]


def test_known_words_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(token_counts, "MAX_KNOWN_WORDS", 3)
    counter = TokenCounter(TOKENIZER)
    texts = ["one two three", "two four", "a" * 100, "one two three four five six"]
    assert [counter.count([text])[0] for text in texts] == encoded(TOKENIZER, texts)
    assert not any(len(word) > token_counts.MAX_WORD_CHARACTERS for word in counter._known)


def test_another_tokenizer_encodes_the_whole_text() -> None:
    tokenizer = Tokenizer.from_str(TOKENIZER.to_str())
    tokenizer.normalizer = NFKC()
    texts = ["ﬁne ½ words", "Words"]
    assert TokenCounter(tokenizer).count(texts) == encoded(tokenizer, texts)
