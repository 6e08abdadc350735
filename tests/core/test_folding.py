"""Folding of spellings for search, and the language of a text."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from glossator.core.text.folding import fold, search_text
from glossator.core.text.languages import language_of, main_language
from glossator.core.text.words import WordFinder, content_words, is_statement

LANGUAGES = tomllib.loads((Path(__file__).parents[1] / "data" / "languages.toml").read_text("utf-8"))
CODES = {
    "urdu": "ur",
    "arabic": "ar",
    "hindi": "hi",
    "chinese": "zh",
    "japanese": "ja",
    "german": "de",
    "turkish": "tr",
}
SAME = [
    ("Straße", "STRASSE"),
    ("café", "cafe\u0301"),
    ("É", "e"),
    ("İstanbul", "istanbul"),
    ("ISPARTA", "ısparta"),
    ("ＡＢＣ１２", "abc12"),
    ("ｶﾞｷﾞ", "ガギ"),
    ("كِتَاب", "كتاب"),
    ("كـتـاب", "کتاب"),
    ("علي", "علی"),
    ("أحمد", "احمد"),
    ("مدرسة", "مدرسه"),
    ("ज़मीन", "जमीन"),
    ("क़लम", "\u0958लम"),
    ("می\u200cخواهم", "میخواهم"),
    ("१२ ۱۲ ١٢", "12 12 12"),
    ("Łódź", "lodz"),
]
DIFFERENT = [("10⁶", "106"), ("が", "か"), ("バス", "パス"), ("की", "का"), ("H₂O", "H2O")]
SENTENCES = {
    "en": "The pump moves water from the tank to the pipe. It is driven by a motor that can be controlled.",
    "fr": "La pompe déplace l'eau du réservoir vers le tuyau. Elle est entraînée par un moteur qui est dans la cave.",
    "es": "La bomba mueve el agua del tanque a la tubería. Es accionada por un motor que se controla con la placa.",
    "pt": "A bomba move a água do tanque para o tubo. É acionada por um motor que não é controlado pela placa.",
    "it": "La pompa sposta l'acqua dal serbatoio al tubo. È azionata da un motore che è controllato dalla scheda.",
    "nl": "De pomp verplaatst het water van de tank naar de pijp. Zij wordt aangedreven door een motor.",
    "pl": "Pompa przenosi wodę do rury. Jest napędzana silnikiem, który jest sterowany przez płytkę i nie jest głośny.",
    "ru": "Насос перекачивает воду из бака в трубу. Он приводится в движение мотором.",
    "uk": "Насос перекачує воду в трубу. Він приводиться в рух двигуном, який керується платою і її схемою.",
    "fa": "پمپ آب را از مخزن به لوله می‌برد. این پمپ با یک موتور کار می‌کند و گاهی چرخ آن کند است.",
    "ko": "펌프는 탱크에서 파이프로 물을 옮깁니다. 모터로 구동되며 보드로 제어됩니다.",
    "": "foo_bar = baz(qux) + quux; return frobnicate",
}


@pytest.mark.parametrize(("one", "other"), SAME)
def test_spellings_of_one_word_are_equal(one: str, other: str) -> None:
    assert fold(one) == fold(other)


@pytest.mark.parametrize(("one", "other"), DIFFERENT)
def test_different_words_stay_different(one: str, other: str) -> None:
    assert fold(one) != fold(other)


def test_english_text_is_left_to_the_index() -> None:
    text = "The “zero-moment point” isn’t a myth — it’s 3.5 m away… (see §2)."
    assert search_text(text) == text.lower()


def test_words_are_found_where_a_text_spells_them_otherwise() -> None:
    text = "Die Straße heißt ‘Café’."
    assert WordFinder(content_words("STRASSE")).find(text) == [(4, "strass")]
    assert [text[offset] for offset, _ in WordFinder(content_words("heisst")).find(text)] == ["h"]
    assert WordFinder(content_words("ما هو الكتاب؟")).find("قرأت والكتاب") == [(8, "کتاب")]
    assert {stem for _, stem in WordFinder(content_words("猫の病気")).find("この章は猫の病気")} >= {"猫の", "病気"}


def test_a_sentence_without_spaces_is_a_statement() -> None:
    assert is_statement("海水是咸的，因为河流带来盐。")
    assert not is_statement("海水为什么是咸的？")


@pytest.mark.parametrize(("language", "code"), CODES.items())
def test_the_language_of_each_book_is_detected(language: str, code: str) -> None:
    assert main_language([" ".join(passage["text"] for passage in LANGUAGES[language]["passages"])]) == code


@pytest.mark.parametrize(("code", "text"), SENTENCES.items())
def test_the_language_of_a_text_is_detected(code: str, text: str) -> None:
    assert language_of(text) == code


@pytest.mark.parametrize(
    "text",
    [
        "A worker bee lives about six weeks in summer. A queen bee can lay two thousand eggs each day."
        " A drone bee has no sting.",
        "A timer starts a job. A job runs a task. A task returns a result.",
        "No. I agree: I see no reason. I have no doubt.",
    ],
)
def test_english_text_with_words_of_other_languages_is_english(text: str) -> None:
    assert language_of(text) == "en"


def test_short_texts_of_other_languages_are_not_english() -> None:
    assert language_of("A bomba trabalha a 55 bar e a válvula abre a 24 volts; não o faça em casa.") == "pt"
    assert language_of("Čerpadlo pracuje s tlakem 55 bar a ventil se otevře, když je to nutné.") == "cs"
    assert language_of("No hay agua en el depósito, y la bomba no se pone en marcha a las doce.") == "es"
    assert language_of("Pompa i zawór są w piwnicy, a woda nie płynie do domu.") == "pl"


@pytest.mark.parametrize(
    "text", ["A page\n\nText here about links.", "A frog sleeps beside a pond.", "I like frogs; so do I."]
)
def test_short_english_text_is_not_taken_for_another_language(text: str) -> None:
    assert language_of(text) in {"", "en"}
