"""Counts the tokens of texts; if the tokenizer splits text into words first, each distinct word is encoded once."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from itertools import chain
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import tokenizers

MAX_KNOWN_WORDS, MAX_WORD_CHARACTERS = 50_000, 64
"""With more different words all are forgotten; a text with a longer word is encoded: hostile text has any number."""

_PUNCTUATION = r"!-/:-@\[-`{-~"
_WORD = re.compile(rf"[{_PUNCTUATION}]|[^ \t\r\n{_PUNCTUATION}]+")
"""BERT's tokenizers divide text here in any case, and count what is between independently."""


class TokenCounter:
    """Counts tokens as a tokenizer does, without special tokens; in several threads at once."""

    def __init__(self, tokenizer: tokenizers.Tokenizer) -> None:
        from tokenizers.normalizers import BertNormalizer
        from tokenizers.pre_tokenizers import BertPreTokenizer

        added = tokenizer.get_added_tokens_decoder().values()
        self._tokenizer = tokenizer
        self._divides_words = (
            isinstance(tokenizer.normalizer, BertNormalizer)
            and isinstance(tokenizer.pre_tokenizer, BertPreTokenizer)
            and not any(token.normalized or token.lstrip or token.rstrip or token.single_word for token in added)
        )
        self._added = [token.content for token in added]
        self._known: dict[str, int] = {}

    def count(self, texts: Sequence[str]) -> list[int]:
        """The number of tokens of each text."""
        joined = "\n".join(texts)
        if not self._divides_words or any(token in joined for token in self._added):
            return self._encode(texts)
        words = [_WORD.findall(text) for text in texts]
        known = self._known
        missing = list(set(chain.from_iterable(words)) - known.keys())
        if max(map(len, missing), default=0) > MAX_WORD_CHARACTERS:
            return self._encode(texts)
        if len(known) + len(missing) > MAX_KNOWN_WORDS:
            known = self._known = {}
            missing = list(set(chain.from_iterable(words)))
        known.update(self._count_words(missing))
        return [sum(map(known.__getitem__, each)) for each in words]

    def _count_words(self, words: Sequence[str]) -> dict[str, int]:
        encoded = self._tokenizer.encode(words, is_pretokenized=True, add_special_tokens=False)
        tokens = Counter(encoded.word_ids)
        return {word: tokens[index] for index, word in enumerate(words)}

    def _encode(self, texts: Sequence[str]) -> list[int]:
        return [len(encoding) for encoding in self._tokenizer.encode_batch_fast(list(texts), add_special_tokens=False)]
