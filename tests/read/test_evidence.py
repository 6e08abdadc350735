"""Which sentences of a source are read together with a claim or a question."""

from __future__ import annotations

import re
from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from glossator.core.inference.evidence import MAX_EVIDENCE_TOKENS, chosen_sentences, evidence_for
from glossator.core.inference.reading import SourceText, extended_sentences
from glossator.core.text.sentences import split_sentences

SENTENCES = (
    "The pump moves two hundred litres of water every hour.",
    "The lid opens upwards.",
    "The housing is made of painted steel.",
    "A red lamp shows that the power is on.",
    "If the lamp blinks, the filter must be cleaned.",
)


def words(text: str) -> list[str]:
    return [word for word in re.findall(r"\w+", text.lower()) if len(word) > 3]


def sentences_with(sentences: Sequence[str]) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for number, sentence in enumerate(sentences):
        for word in dict.fromkeys(words(sentence)):
            found.setdefault(word, []).append(number)
    return found


def chosen(text: str, max_tokens: int) -> tuple[int, ...]:
    lengths = [len(sentence.split()) for sentence in SENTENCES]
    return chosen_sentences(sentences_with(SENTENCES), words(text), lengths, max_tokens)


def test_the_sentence_with_the_words_of_a_claim_is_chosen() -> None:
    assert chosen("What is the housing made of?", 8) == (2,)


def test_sentences_are_chosen_for_the_words_that_others_do_not_have() -> None:
    assert chosen("The filter is cleaned when the lamp of the steel housing blinks.", 17) == (2, 4)


def test_remaining_tokens_are_used_for_neighbouring_sentences() -> None:
    assert chosen("The filter must be cleaned.", 18) == (3, 4)


def test_a_sentence_longer_than_the_limit_is_chosen_alone() -> None:
    assert chosen("two hundred litres of water", 3) == (0,)


def test_a_text_that_shares_no_word_gets_the_first_sentences() -> None:
    assert chosen("Quartz vibrates.", 14) == (0, 1)


def test_a_short_source_is_read_whole() -> None:
    source = as_source(" ".join(SENTENCES))
    assert evidence_for(source, {}, ["opens"], counts(source)) is source


def test_evidence_keeps_the_order_and_the_spans_of_its_sentences() -> None:
    filler = [f"Part {n} of the machine was described in an earlier chapter of this manual." for n in range(20)]
    source = as_source(" ".join([filler[0], SENTENCES[4], *filler[1:], SENTENCES[2]]))
    about = sentences_with([source.text[span.start : span.end] for span in source.sentences])
    found = evidence_for(source, about, words("The steel housing and the filter that must be cleaned."), counts(source))
    texts = [found.text[span.start : span.end] for span in found.sentences]
    assert texts.index(SENTENCES[4]) < texts.index(SENTENCES[2])
    assert found.headings == ("Pump",)
    assert sum(counts(found)) <= MAX_EVIDENCE_TOKENS


@given(st.lists(st.text(max_size=40), max_size=12), st.text(max_size=60), st.integers(1, 60))
def test_any_texts_give_different_sentences_in_order(sentences: list[str], text: str, max_tokens: int) -> None:
    lengths = [len(sentence.split()) for sentence in sentences]
    found = chosen_sentences(sentences_with(sentences), words(text), lengths, max_tokens)
    assert list(found) == sorted(set(found))
    assert bool(found) == bool(sentences)
    assert len(found) <= 1 or sum(lengths[n] for n in found) <= max_tokens


def as_source(text: str) -> SourceText:
    return SourceText(("Pump",), text, tuple(split_sentences(text)))


def counts(source: SourceText) -> list[int]:
    return [len(part.split()) for part in extended_sentences(source)]
