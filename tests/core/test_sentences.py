"""Sentence boundaries in many languages."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from glossator.core.text.sentences import MAX_SENTENCE_LENGTH, split_sentences

# Sentences are separated by a bar.
TEXTS = {
    "a unit that is also an abbreviation": "It sends a command every 2 ms. | The joint waits 5 min. | Ms. Lee agrees.",
    "plain": "One is here. | Two is there! | Is three?",
    "abbreviations": "Dr. Smith met Mr. Jones, e.g. at noon. | See Fig. 3 and ch. 5. | Cf. Lee et al. (2020).",
    "abbreviations that may end": "It has bolts, nuts, etc. | The rest is glue. | Acme Inc. is big. | Say no. | Go.",
    "times": "We met at 3 p.m. yesterday. | They left.",
    "decimals": "Pi is 3.14159. | It costs $3.50 or 5.5 %. | Done.",
    "versions": "Version 2.0.1 is out. | See v1.2. | It works with Python 3.11.",
    "URLs": "See https://x.org/a.b?c=d.e!f. | Mail a.b@x.org. | Read README.md. | Node.js is fine.",
    "e-mail addresses": "See below. | all@x.org is a list, e.g. a.b@x.org is not. | Ask approx. me@x.org.",
    "initials": "J. R. R. Tolkien wrote it. | So did C. S. Lewis. | See Robert A. Heinlein. | Smith, J. (2020) did.",
    "spaced abbreviations": "Pumpen, z. B. Kreiselpumpen, laufen. | Das ist i. d. R. so, d. h. immer. | Z. B. hier.",
    "letters that are not initials": "This is plan B. | It works. | Take vitamin C. | It helps.",
    "countries": "The U.S. economy grew. | The E.U. did not.",
    "titles": "He has a Ph.D. in maths. | She has two.",
    "ellipses": "Wait... what happened? | Nothing… | Well.",
    "several marks": "What?! | No!!! | Yes...",
    "quotes": 'He said "Stop." | She left. | (It ended.) | “So?” he asked. | «Oui.» | Non.',
    "emphasis": "It is **bold.** | It is _not?_ | Yes.",
    "names with marks": "Yahoo! is a site. | Use it.",
    "names in lower case": "I have an iPad. | iOS runs on it. | macOS does not.",
    "lower case": "all is lower case here. | so is this. | and this",
    "list numbers": "1. First do this. | 2. Then do that.",
    "years": "It was 1984. | Then came 1985.",
    "Chinese and Japanese": "これは文です。|次の文！|本当？|「はい。」|终。",
    "Urdu": "یہ ایک جملہ ہے۔ | کیا یہ سوال ہے؟ | ہاں۔",
    "Arabic": "هذه جملة. | هل هذا سؤال؟ | نعم.",
    "Hindi": "यह एक वाक्य है। | क्या यह सवाल है? | हाँ॥",
    "Urdu and Hindi without spaces": "یہ جملہ ہے۔|کیا یہ سوال ہے؟|ہاں۔|यह वाक्य है।|हाँ।",
    "Greek and Russian": "Αυτό είναι. | Это тоже. | Да!",
}


@pytest.mark.parametrize("marked", TEXTS.values(), ids=TEXTS.keys())
def test_sentence_boundaries(marked: str) -> None:
    text = marked.replace(" | ", " ").replace("|", "")
    expected = [sentence.strip() for sentence in marked.split("|")]
    assert [text[span.start : span.end] for span in split_sentences(text)] == expected


@pytest.mark.parametrize("gap", ["\n\n", "\n \n", "\n\n\n", "\n\n- ", "\n\n1. "])
def test_a_blank_line_ends_a_sentence(gap: str) -> None:
    text = f"Teacher Support{gap}the goal is clear. It is.{gap}Figure 3"
    found = [text[span.start : span.end] for span in split_sentences(text)]
    mark = gap.strip()
    assert found == ["Teacher Support", f"{mark} the goal is clear.".strip(), "It is.", f"{mark} Figure 3".strip()]


def test_text_without_a_full_stop_is_cut_at_white_space() -> None:
    text = "word " * 2000
    parts = [text[span.start : span.end] for span in split_sentences(text)]
    assert max(map(len, parts)) <= MAX_SENTENCE_LENGTH
    assert " ".join(parts) == text.strip()


def test_only_the_given_range_is_split() -> None:
    text = "Before. One. Two. After."
    assert [text[span.start : span.end] for span in split_sentences(text, 8, 17)] == ["One.", "Two."]


MARKS = st.text(st.sampled_from(" \n\t.!?…。۔؟।\"'”)*aAbB1é漢اक"), max_size=200)


@given(st.one_of(st.text(max_size=300), MARKS, MARKS.map(lambda text: text * 40)))
def test_sentences_are_trimmed_ordered_disjoint_and_complete(text: str) -> None:
    spans = split_sentences(text)
    position = 0
    for span in spans:
        sentence = text[span.start : span.end]
        assert position <= span.start < span.end
        assert not text[position : span.start].strip()
        assert sentence == sentence.strip()
        assert len(sentence) <= MAX_SENTENCE_LENGTH
        position = span.end
    assert not text[position:].strip()
