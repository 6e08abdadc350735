"""A draft is split into sentences as it arrives, each with the citations that belong to it."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from glossator.core.text.sentences import MAX_SENTENCE
from glossator.verification.claims.scan import MAX_CODE
from glossator.verification.claims.split import Kind, Piece, Splitter, split_claims

MARKS = {
    (
        1,
    ): "[1]|[ 1 ]|[Source 1]|[SOURCE 1]|[^1]|【1】|【1†source】|【1†the book, page 2】|［1］|[١]|[Quelle 1]|[Fuente 1]",
    (1, 2): "[1, 2]|[1 and 2]|[1][2]|[1] [2]|[1], [2]|[Sources 1, 2]|[Source 1, Source 2]|[[1], [2]]|([1], [2])|[١، ٢]",
    (
        2,
    ): "[source: 2]|[Source #2]|(Source 2)|[۲]|[المصدر 2]|[ماخذ 2]|[[2]]|[\u200b2]|[\u200bSo\u2060urce\u200f 2\u202c]",
    (3, 4): "(sources 3 and 4)|[Quellen 3 und 4]|[Source\u00a03, 4]|[3-4]|[Source 3 – 4]",
    (1, 2, 3, 7): "[1–3, 7]|[1,2;3][7]",
    (3, 1): "[3-1]|[3][1][3]",
    (12,): "[１２]|[012]",
    (0,): "[0]|[Source 0]",
    (1998,): "[Source 1998]|[^1998]",
    (1_000_000,): "[Source 1000000]",
    (): f"[Source 1000001]|[Source {'9' * 150}]",
    tuple(range(1, 51)): f"[1-900]|{''.join(f'[{number}]' for number in range(1, 90))}",
}
EACH_MARK = [(mark, numbers) for numbers, marks in MARKS.items() for mark in marks.split("|")]


@pytest.mark.parametrize(("mark", "numbers"), EACH_MARK)
@pytest.mark.parametrize(
    "draft", ["It is so {}. Next.", "It is so. {} Next.", "{} It is so.\n\nNext.", "- It is so {}\n- Next."]
)
def test_a_mark_gives_its_numbers_and_leaves_the_text(draft: str, mark: str, numbers: tuple[int, ...]) -> None:
    first, second = split_claims(draft.format(mark))
    assert first.citations == numbers
    assert first.text.rstrip(".") == first.body.rstrip(".") == "It is so"
    assert (second.text, second.citations) == ("Next.", ())


@pytest.mark.parametrize("mark", ["**[1]**", "<sup>[1]</sup>", "[1], [2], and [3]", "[1] – [3]", "[1] & [2]"])
def test_what_only_holds_marks_goes_with_them(mark: str) -> None:
    (piece,) = split_claims(f"It is {mark} so {mark}.")
    assert piece.body == "It is so."


def test_marks_before_behind_and_at_the_stop() -> None:
    drafts = [
        "It is so [1].",
        "It is so. [1]",
        "It is so.[1]",
        "It is so.\n[1]",
        'It is so." [1]',
        "It is so [1]. [1]",
        "It. [1].",
    ]
    for draft in drafts:
        for following in ("", " Next.", "\n\nNext."):
            pieces = split_claims(draft + following)
            assert [piece.citations for piece in pieces] == [(1,), ()][: len(pieces)], draft
            assert pieces[0].text in ("It is so.", 'It is so."', "It.")


TEXT_THAT_IS_NO_MARK = {
    "Let x[1] be.": "Let x[1] be.",
    "Use row_2[1] here.": "Use row_2[1] here.",
    "Use list.items[0] here.": "Use list.items[0] here.",
    "Use grid[i][1] here.": "Use grid[i][1] here.",
    "Use word[1].name here.": "Use word[1].name here.",
    "Use `[1]` here.": "Use [1] here.",
    "Use ``a`[1]`` here.": "Use a`[1] here.",
    "So $a[1]$ is.": "So a[1] is.",
    "So $$a [1]$$ is.": "So a [1] is.",
    "So \\[a [1]\\] is.": "So a [1] is.",
    "In [1998] it was.": "In [1998] it was.",
    "See [the book](https://x.org/a_b).": "See the book.",
    "See ![a tide](https://x.org/[1].png).": "See a tide.",
    "See [1](https://x.org).": "See 1.",
    "See [Chapter 2. Tides](https://x.org).": "See Chapter 2. Tides.",
    "It is (3) or [].": "It is (3) or [].",
    "It is [a] or [1.5] or [-1] or [:1].": "It is [a] or [1.5] or [-1] or [:1].",
    "It is \\[1].": "It is [1].",
    "- [ ] Do it.": "Do it.",
    "- [x] Do it.": "Do it.",
}


@pytest.mark.parametrize(("draft", "text"), TEXT_THAT_IS_NO_MARK.items())
def test_brackets_that_cite_nothing_stay(draft: str, text: str) -> None:
    (piece,) = split_claims(draft)
    assert (piece.text, piece.citations) == (text, ())


@pytest.mark.parametrize(
    "draft", ["The word[1] here.", "The word[1].", "The word[1], then.", "In 2020[1].", "事实[1]显示。", "**Bold**[1]."]
)
def test_a_mark_may_stand_right_behind_a_word_of_prose(draft: str) -> None:
    (piece,) = split_claims(draft)
    assert piece.citations == (1,)
    assert "[" not in piece.text


# Pieces are parted by a bar; `@` names the kind of those that are no claim.
STRUCTURES = {
    "One. Two\nlines. Three": "One.¦Two lines.¦Three",
    "It is 3.11.2 of x.org/a.b, e.g. by J. R. Tolkien. So.": "It is 3.11.2 of x.org/a.b, e.g. by J. R. Tolkien.¦So.",
    "یہ ہے۔ [1] وہ ہے۔": "یہ ہے۔¦وہ ہے۔",
    "这是。[1]那是。": "这是。¦那是。",
    "هذه جملة.\u200f والثانية.": "هذه جملة.¦والثانية.",
    "One\n\nTwo\n \nThree\n\n\n": "One¦Two¦Three¦@space ",
    "- One\n  goes on\n- Two. Three\n  1) Four\n* Five\n+ Six\n• Seven": "One goes on¦Two.¦Three¦Four¦Five¦Six¦Seven",
    "It weighs\n40. Then\n1. One\n2. Two": "It weighs 40.¦Then¦One¦Two",
    "-\n- [ ]\n1.\n": "@space ¦@space ¦@space ",
    "One\n---\nTwo\n* * *\n___\nThree": "One¦@space ¦Two¦@space ¦@space ¦Three",
    "# One ##\nTwo\n### Three [1]\n#Four": "@heading One¦Two¦@heading Three¦#Four",
    "**One**\nTwo.\n**Three:**\n\n1. **Four**\n   Five": "@heading One¦Two.¦@heading Three:¦@heading Four¦Five",
    "**It weighs much.**\n**Note:** so.": "It weighs much.¦Note: so.",
    "> One\n> goes on. Two\n\nThree": "One goes on.¦Two¦Three",
    "One\n| a | b |\n|:--|---|\n| `c` | **d** [1] |\n| e \\| f |\nTwo": "One¦@heading a b¦@space ¦c d¦e | f¦Two",
    "| a | b |\n| c | d |\n": "a b¦c d",
    "One\n```py\na. B [1]\n```\nTwo": "One¦@code a. B [1]¦Two",
    "- One\n  ~~~\n  a\n  ~~~\n- Two": "One¦@code   a¦Two",
    "> ```\n> a\n> ```\n> One\n\n> ~~~\n> b\nTwo": "@code a¦One¦@code b¦Two",
    "```\na\n\n# b": "@code a\n\n# b",
    "````\n```\n````\n": "@code ```",
    "```a``` is. So.": "a is.¦So.",
    "Run `a. B` so. Do ``c`. D`` too.": "Run a. B so.¦Do c`. D too.",
    "So\n$$\na. B\n- c\n$$\nis. Yes.": "So a. B - c is.¦Yes.",
    "So $n! = 1$ and \\(a. B\\) is. Yes.": "So n! = 1 and a. B is.¦Yes.",
    "So `a. B\n\nThen $c. D\n- e": "So `a. B¦Then $c. D¦e",
    "It costs $5. Not $6.50. Or $7M. Yes.": "It costs $5.¦Not $6.50.¦Or $7M.¦Yes.",
    "<b>One.</b> <!-- two --> So.": "<b>One.</b> <!-- two --> So.",
    "Hello! The answer is 42.": "@aside Hello!¦The answer is 42.",
    "Sure, the robot weighs 40 kg.": "Sure, the robot weighs 40 kg.",
    "Here are the steps:\n1. Do it.": "@aside Here are the steps:¦Do it.",
    "🎉 ...\n\n→": "@space 🎉 ...¦@space →",
}


@pytest.mark.parametrize(("draft", "pieces"), STRUCTURES.items())
def test_structure(draft: str, pieces: str) -> None:
    found = [piece.text if piece.kind is Kind.CLAIM else f"@{piece.kind} {piece.text}" for piece in split_claims(draft)]
    assert found == pieces.split("¦")


def test_an_empty_draft_has_no_pieces() -> None:
    assert split_claims("") == []


@pytest.mark.parametrize(
    ("markdown", "text"),
    [
        ("a **b** *c* _d_ __e__ ***f*** ~~g~~", "a b c d e f g"),
        ("这是**重点**内容", "这是重点内容"),
        ("2 * 3, 2*3, 2**3, snake_case", "2 * 3, 2*3, 2**3, snake_case"),
        ("\\*a\\* \\$5 \\_b\\_", "*a* $5 _b_"),
        ("[**a** `b`](https://x.org/(c) 'd')", "a b"),
        ("a\u200bb \u202ec\u202c\tｄ", "ab c ｄ"),
        ("`**a**` $b_1 * c_2$", "**a** b_1 * c_2"),
    ],
)
def test_text_is_what_a_reader_reads(markdown: str, text: str) -> None:
    assert split_claims(markdown)[0].text == text


@pytest.mark.parametrize(
    ("draft", "parts"),
    [
        ("\n\n- [1] It is **so** [2]. \n", ("\n\n- ", "It is **so**.", " \n")),
        ("> As [1] says, it is.[2]\n\n", ("> ", "As says, it is.", "\n\n")),
        ("| a [1] | `b` |\n", ("| ", "a | `b`", " |\n")),
        ("## About C# [1] ##\n", ("## ", "About C#", " ##\n")),
        ("\n```a\nb\n```\n\n[1] [2]\n\n", ("\n", "```a\nb\n```", "\n\n")),
        ("It [1]is.", ("", "It is.", "")),
    ],
)
def test_layout_and_body(draft: str, parts: tuple[str, str, str]) -> None:
    (piece,) = split_claims(draft)
    assert (piece.lead, piece.body, piece.tail) == parts
    assert piece.citations


def test_marks_below_a_code_block_are_its_own_if_they_stand_alone() -> None:
    code = "```\na\n```\n"
    assert split_claims(f"{code}[1], [2]\n- b")[0].citations == (1, 2)
    assert split_claims(f"{code}\n[1]")[0].citations == (1,)
    for below in ("[1] It is so.", "[1]\nIt is so.", "\n\n[1]\n", "It [1]"):
        assert split_claims(code + below)[0].citations == ()
        assert split_claims(code + below)[1].citations == (1,)


def test_a_paragraph_of_marks_alone_cites_but_claims_nothing() -> None:
    assert [(piece.kind, piece.citations) for piece in split_claims("So.\n\n[1]")] == [
        (Kind.CLAIM, ()),
        (Kind.SPACE, (1,)),
    ]


def test_long_code_is_cut_and_stays_code() -> None:
    lines = "x = [1]. Y\n" * 9000
    pieces = split_claims(f"```py\n{lines}```\n[1]\n\nSo.")
    assert [piece.kind for piece in pieces] == [Kind.CODE] * (len(pieces) - 1) + [Kind.CLAIM]
    assert len(pieces) == 6
    assert max(len(piece.raw) for piece in pieces) <= MAX_CODE
    assert [piece.citations for piece in pieces[-3:]] == [(), (1,), ()]
    assert "\n".join(piece.text for piece in pieces[:-1]) == lines.rstrip("\n")


def test_a_run_without_a_stop_is_cut_at_white_space_but_not_in_a_mark() -> None:
    pieces = split_claims("word [Source 1] " * 1000)
    assert len(pieces) > 7
    assert all(len(piece.body) <= MAX_SENTENCE and piece.citations == (1,) for piece in pieces)


# What is given out at once, and what still waits.
PROMPTNESS = [
    ("It is so. N", "It is so. "),
    ("It is so.\nN", "It is so.\n"),
    ("It is so.\n\n", "It is so.\n\n"),
    ("It is so.\n- ", "It is so.\n"),
    ("It is so [1]. N", "It is so [1]. "),
    ("It is so. [1] N", "It is so. [1] "),
    ("It is so. [N", "It is so. "),
    ("It is so. (N", "It is so. "),
    ("It is so. (So i", "It is so. "),
    ("It is so. [1](h", "It is so. "),
    ("It is so.", ""),
    ("It is so. ", ""),
    ("It is so. [", ""),
    ("It is so. [1]", ""),
    ("It is so. [1] ", ""),
    ("It is so. [1] [", ""),
    ("It is so. (Sour", ""),
    ("It is so.\n", ""),
    ("It is so. th", ""),
    ("这是。那", "这是。"),
    ("这是。", ""),
    ("# One\n", "# One\n"),
    ("- One\n-", ""),
    ("- One\n- ", "- One\n"),
    ("| a |\n| b", "| a |\n"),
    ("| a |\n|-", ""),
    ("```\na\n```\nN", "```\na\n```\n"),
    ("```\na\n```\n[1", ""),
    ("**One** i", ""),
    ("**One** is. N", "**One** is. "),
]


@pytest.mark.parametrize(("draft", "given_out"), PROMPTNESS)
def test_a_piece_waits_no_longer_than_it_must(draft: str, given_out: str) -> None:
    assert "".join(piece.raw for piece in Splitter().feed(draft)) == given_out


TOKENS = [
    *"[ ] ( ) 【 】 1 . ! ? 。 ۔ … , ; : ` $ \\ * _ - + # > | ~ † ^ a Z é 漢 س".split(" "),
    *[
        "[1]",
        "[2, 3]",
        "[Source 1]",
        "(Source 3)",
        "[[1]]",
        "([1])",
        "[1](",
        "word[1]",
        "[x](y.z)",
        "[see. It",
        "\\[",
        "\\]",
    ],
    *[
        "It is so.",
        "Next",
        "the",
        "e.g.",
        "J.",
        "iOS",
        "3.11",
        "$5",
        "$$",
        "``",
        "```",
        "```py\n",
        "~~~\n",
        "**",
        "__",
        "---",
    ],
    *[
        "\n",
        "\n\n",
        "\r\n",
        " ",
        "  ",
        "\t",
        "- ",
        "40. ",
        "1. ",
        "> ",
        "# ",
        "| a | b |\n",
        "|---|\n",
        "[ ] ",
        "\u00a0",
    ],
    *[
        "\u200b",
        "\u200f",
        "\x00",
        "\ud800",
        "\x85",
        "x" * 150,
        " " * 210,
        "\n" * 205,
        "." * 205,
        "word " * 430,
        "`" * 205,
    ],
]
DRAFTS = st.one_of(st.lists(st.sampled_from(TOKENS), max_size=30).map("".join), st.text(max_size=80))


def fed(draft: str, sizes: list[int]) -> list[Piece]:
    """The pieces of a draft that arrives in chunks of these sizes, again and again."""
    splitter, pieces, at, turn = Splitter(), [], 0, 0
    while at < len(draft):
        size = sizes[turn % len(sizes)]
        pieces += splitter.feed(draft[at : at + size])
        at, turn = at + size, turn + 1
    return pieces + splitter.finish()


@settings(max_examples=400, deadline=None)
@given(DRAFTS, st.lists(st.integers(1, 40), min_size=1, max_size=8))
def test_the_pieces_do_not_depend_on_the_chunks(draft: str, sizes: list[int]) -> None:
    assert fed(draft, sizes) == fed(draft, [1]) == split_claims(draft)


@settings(max_examples=400, deadline=None)
@given(DRAFTS)
def test_the_pieces_give_the_draft_back(draft: str) -> None:
    pieces = split_claims(draft)
    assert "".join(piece.raw for piece in pieces) == draft
    for piece in pieces:
        assert piece.raw
        assert piece.raw.startswith(piece.lead)
        assert piece.raw.endswith(piece.tail)
        assert len(piece.lead) + len(piece.body) + len(piece.tail) <= len(piece.raw)
        assert len(set(piece.citations)) == len(piece.citations) <= 50
        if piece.kind is not Kind.CODE:
            assert piece.text == " ".join(piece.text.split())
            assert piece.citations or piece.lead + piece.body + piece.tail == piece.raw


@pytest.mark.parametrize("text", ["word ", "x", "[", "`", "*", "|", "\n", " ", ".", "$", "(", "\u200b"])
def test_a_million_characters_take_less_than_two_seconds(text: str) -> None:
    draft = text * (1_000_000 // len(text))
    begin = time.process_time()
    pieces = split_claims(draft)
    assert time.process_time() - begin < 2
    assert max(len(piece.raw) for piece in pieces) <= MAX_SENTENCE + 1000


@pytest.mark.parametrize(
    "text", ["word ", "[", "`", "*", "|", "\n", "[1]", "So." + "[1]" * 200, "- ", "[[1", "```\nx", '."']
)
def test_one_character_at_a_time_is_fast_and_little_is_held_back(text: str) -> None:
    splitter, held, most = Splitter(), 0, 0
    begin = time.process_time()
    for character in text * (100_000 // len(text)):
        held += 1 - sum(len(piece.raw) for piece in splitter.feed(character))
        most = max(most, held)
    splitter.finish()
    assert time.process_time() - begin < 5
    assert most <= MAX_CODE
