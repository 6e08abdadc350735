"""The tokenizer recognizes numbers, units and negation in several languages and scripts."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from glossator.verification.reading.numbers import Quantity, parse_number
from glossator.verification.reading.tokenizer import MAX_TOKENS, language_of, tokenize

SAME = [
    ("It weighs 1,000 kg.", "It weighs one thousand kilograms."),
    ("It weighs 1000 kg.", "It weighs 1 000 kg."),
    ("It takes 0.5 s.", "It takes 500 ms."),
    ("It has 205 parts.", "It has two hundred and five parts."),
    ("It has 21 joints.", "It has twenty-one joints."),
    ("About 50% of them.", "About 50 percent of them."),
    ("It costs $40.", "It costs 40 dollars."),
    ("It lasts 10⁶ hours.", "It lasts 1,000,000 hours."),
    ("It lasts 10^6 hours.", "It lasts 10⁶ hours."),
    ("It lasts 10^{6} hours.", "It lasts one million hours."),
    ("It lasts 10**6 hours.", "It lasts 1e6 hours."),
    ("It weighs 2.5 × 10⁶ g.", "It weighs 2,500 kg."),
    ("It weighs $2.5 \\times 10^{-3}$ units.", "It weighs 0.0025 units."),
    ("It weighs 10⁻³ kg.", "It weighs 1 g."),
    ("It weighs 3·10^(-3) kg.", "It weighs 3 g."),
    ("It has 2^32 addresses.", "It has 4,294,967,296 addresses."),
    ("It takes an hour and a half.", "It takes 90 minutes."),
    ("It takes two hours and a half.", "It takes two and a half hours."),
    ("It takes three quarters of an hour.", "It takes 45 min."),
    ("It takes a day and a quarter.", "It takes 30 hours."),
    ("It weighs half a kilogram.", "It weighs 500 g."),
    ("It is 1½ metres long.", "It is 150 cm long."),
    ("It is 2 1/2 inches long.", "It is 2.5 inches long."),
    ("It has half a dozen parts.", "It has six parts."),
    ("It uses a quarter of the power.", "It uses 25 % of the power."),
    ("It weighs 3.10 kg.", "It weighs 3.1 kg."),
    ("Version 3.10.0 is needed.", "Version 3.10 is needed."),
    ("Version 2.0 is needed.", "Version two is needed."),
    ("Esto dura una hora y media.", "Esto dura 90 minutos."),
    ("Es dauert anderthalb Stunden und endet dann.", "Es dauert 90 Minuten und endet dann."),
    ("يستغرق ساعة ونصف في المختبر", "يستغرق 90 دقيقة في المختبر"),
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
    ("Version 3.10 is needed.", "Version 3.1 is needed."),
    ("It runs on Python 3.1.", "It runs on Python 3.10."),
    ("Get v1.20 of it.", "Get v1.2 of it."),
    ("It takes half an hour.", "It takes an hour and a half."),
    ("It takes two days.", "It takes two and a half days."),
    ("It is ½ m long.", "It is 1½ m long."),
    ("It is 5 °C.", "It is 5 K."),
    ("It costs 1.000 Euro und das ist viel.", "Es kostet 10.000 Euro und das ist viel."),
    ("It uses 8 MB.", "It uses 8 Mbit."),
    ("It lasts 10⁶ hours.", "It lasts 106 hours."),
    ("It lasts 10⁶ hours.", "It lasts 10⁵ hours."),
    ("It lasts 10⁶ hours.", "It lasts 10⁻⁶ hours."),
    ("It lasts 2 × 10⁶ hours.", "It lasts 10⁶ hours."),
    ("It lasts 10⁹⁹⁹ hours.", "It lasts 10⁹⁹⁸ hours."),
]


def quantities(text: str) -> list[Quantity]:
    return [token.quantity for token in tokenize(text).tokens if token.quantity]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_same_quantity_in_two_notations_is_equal(one: str, other: str) -> None:
    first, second = quantities(one), quantities(other)
    assert len(first) == len(second) == 1
    assert first[0].equals(second[0])


@pytest.mark.parametrize(("one", "other"), DIFFERENT)
def test_different_quantities_differ(one: str, other: str) -> None:
    assert not quantities(one)[0].equals(quantities(other)[0])


@pytest.mark.parametrize("text", ["10⁶–10⁷", "10^6 - 10^7", "10⁶ to 10**7"])
def test_both_ends_of_a_range_of_powers_are_positive(text: str) -> None:
    assert [quantity.values for quantity in quantities(f"It lasts {text} hours.")] == [(1e6,), (1e7,)]


def test_square_of_a_unit_is_not_a_power_of_its_number() -> None:
    assert quantities("It covers 5 m² of floor.")[0].values == (5.0,)


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
def test_language_is_detected(text: str, language: str) -> None:
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
def test_markers_are_labelled(text: str, family: str, kind: str) -> None:
    assert (family, kind) in {(token.family, token.kind) for token in tokenize(text).tokens}


def test_not_only_is_not_a_negation() -> None:
    assert "negation" not in {token.family for token in tokenize("It not only walks but also runs.").tokens}


@given(st.text(max_size=300))
def test_any_text_is_tokenized_with_valid_offsets(text: str) -> None:
    tokens = tokenize(text).tokens
    assert all(0 <= token.start < token.end <= len(text) for token in tokens)
    assert all(a.start <= b.start for a, b in pairwise(tokens))


@pytest.mark.parametrize("hidden", ["\u200b", "\u061c", "\u180e", "\u206a", "\U000e0069"], ids=ascii)
def test_invisible_characters_are_ignored_but_counted_in_offsets(hidden: str) -> None:
    text = f"It does n{hidden}ot mo\u00adve 4{hidden}0 m."
    tokens = tokenize(text).tokens
    assert "negation" in {token.family for token in tokens}
    assert [token.quantity.values for token in tokens if token.quantity] == [(40.0,)]
    assert text[tokens[2].start : tokens[2].end] == f"n{hidden}ot"


@given(st.integers(0, 10**9))
def test_thousands_separators_do_not_change_a_number(number: int) -> None:
    assert parse_number(f"{number:,}").same_number(parse_number(str(number)))


@given(st.text(alphabet="0123456789.,'’_ eE+-٠١٢٫٬", min_size=1, max_size=40).map(lambda t: "1" + t))
def test_any_string_of_digits_is_tokenized(raw: str) -> None:
    assert tokenize(f"It weighs {raw} kg.").tokens


def test_long_text_is_truncated() -> None:
    assert len(tokenize("word " * 50_000).tokens) <= MAX_TOKENS
