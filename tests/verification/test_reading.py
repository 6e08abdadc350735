"""How the verifier reads: numbers, units, negation, in several languages and scripts."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from glossator.verification.reading.numbers import Quantity, read_number
from glossator.verification.reading.tokenizer import MOST_TOKENS, language_of, read

SAME = [
    ("It weighs 1,000 kg.", "It weighs one thousand kilograms."),
    ("It weighs 1000 kg.", "It weighs 1 000 kg."),
    ("It takes 0.5 s.", "It takes 500 ms."),
    ("It has 205 parts.", "It has two hundred and five parts."),
    ("It has 21 joints.", "It has twenty-one joints."),
    ("About 50% of them.", "About 50 percent of them."),
    ("It costs $40.", "It costs 40 dollars."),
    ("It wiegt 1.000 kg und ist rot.", "Es wiegt 1000 kg und ist rot."),
    ("Der Motor hat zweihundertfünfzig Teile.", "Der Motor hat 250 Teile."),
    ("El motor pesa 1,5 kg y es rojo.", "El motor pesa 1.5 kg y es rojo."),
    ("El motor tiene treinta y dos piezas.", "El motor tiene 32 piezas."),
    ("يزن الروبوت ٤٠ كيلوغراما في المختبر", "يزن الروبوت 40 كيلوغراما في المختبر"),
    ("يحتوي على خمسة وعشرين محركا في الذراع", "يحتوي على 25 محركا في الذراع"),
    ("اس کا وزن ۴۰ کلوگرام ہے", "اس کا وزن چالیس کلوگرام ہے"),
]
DIFFERENT = [
    ("The force is 40 N.", "The force is 40 kN."),
    ("It runs at 40 Hz.", "It runs at 400 Hz."),
    ("Version 3.11.2 is needed.", "Version 3.12.1 is needed."),
    ("It is 5 °C.", "It is 5 K."),
    ("It costs 1.000 Euro und das ist viel.", "Es kostet 10.000 Euro und das ist viel."),
    ("It uses 8 MB.", "It uses 8 Mbit."),
]


def quantities(text: str) -> list[Quantity]:
    return [token.quantity for token in read(text).tokens if token.quantity]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_one_value_however_it_is_written(one: str, other: str) -> None:
    first, second = quantities(one), quantities(other)
    assert len(first) == len(second) == 1
    assert first[0].equals(second[0])


@pytest.mark.parametrize(("one", "other"), DIFFERENT)
def test_different_values_differ(one: str, other: str) -> None:
    assert not quantities(one)[0].equals(quantities(other)[0])


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("The robot walks on the floor.", "en"),
        ("Der Roboter geht auf dem Boden.", "de"),
        ("El robot camina por el suelo.", "es"),
        ("يمشي الروبوت على الأرض", "ar"),
        ("روبوٹ فرش پر چلتا ہے", "ur"),
        ("", "en"),
    ],
)
def test_the_language_of_a_text(text: str, language: str) -> None:
    assert language_of(text) == language


@pytest.mark.parametrize(
    ("text", "family", "kind"),
    [
        ("It does not move.", "negation", "negation"),
        ("It must stop.", "modality", "necessity"),
        ("It may stop.", "modality", "possibility"),
        ("All joints move.", "quantifier", "all"),
        ("Es bewegt sich nicht und bleibt.", "negation", "negation"),
        ("El robot nunca se mueve.", "negation", "negation"),
        ("لا يتحرك الروبوت في المختبر", "negation", "negation"),
        ("روبوٹ حرکت نہیں کرتا", "negation", "negation"),
    ],
)
def test_words_that_change_a_claim_are_marked(text: str, family: str, kind: str) -> None:
    assert (family, kind) in {(token.family, token.kind) for token in read(text).tokens}


def test_phrases_that_only_look_like_a_negation_are_not() -> None:
    assert "negation" not in {token.family for token in read("It not only walks but also runs.").tokens}


@given(st.text(max_size=300))
def test_any_text_can_be_read_and_offsets_are_its_own(text: str) -> None:
    tokens = read(text).tokens
    assert all(0 <= token.start < token.end <= len(text) for token in tokens)
    assert all(a.start <= b.start for a, b in pairwise(tokens))


def test_invisible_characters_do_not_hide_a_word_and_offsets_count_them() -> None:
    text = "It does n\u200bot mo\u00adve 4\u200b0 m."
    tokens = read(text).tokens
    assert "negation" in {token.family for token in tokens}
    assert [token.quantity.values for token in tokens if token.quantity] == [(40.0,)]
    assert text[tokens[2].start : tokens[2].end] == "n\u200bot"


@given(st.integers(0, 10**9))
def test_a_number_with_separators_is_the_same_number(number: int) -> None:
    assert read_number(f"{number:,}").same_number(read_number(str(number)))


@given(st.text(alphabet="0123456789.,'’_ eE+-٠١٢٫٬", min_size=1, max_size=40).map(lambda t: "1" + t))
def test_no_string_of_digits_breaks_the_reader(raw: str) -> None:
    assert read(f"It weighs {raw} kg.").tokens


def test_a_huge_text_is_read_up_to_a_bound() -> None:
    assert len(read("word " * 50_000).tokens) <= MOST_TOKENS
