"""A streamed draft is split into segments, each with its own citations."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from glossator.core.text.sentences import MAX_SENTENCE_LENGTH
from glossator.verification.claims.scan import MAX_CODE_LENGTH
from glossator.verification.claims.split import DraftSplitter, Segment, SegmentKind, split_draft

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
def test_citation_mark_is_parsed_and_removed_from_the_text(draft: str, mark: str, numbers: tuple[int, ...]) -> None:
    first, second = split_draft(draft.format(mark))
    assert first.citations == numbers
    assert first.text.rstrip(".") == first.body.rstrip(".") == "It is so"
    assert (second.text, second.citations) == ("Next.", ())


@pytest.mark.parametrize("mark", ["**[1]**", "<sup>[1]</sup>", "[1], [2], and [3]", "[1] – [3]", "[1] & [2]"])
def test_markup_around_citation_marks_is_removed_with_them(mark: str) -> None:
    (segment,) = split_draft(f"It is {mark} so {mark}.")
    assert segment.body == "It is so."


def test_citation_marks_around_a_full_stop_belong_to_the_sentence() -> None:
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
            segments = split_draft(draft + following)
            assert [segment.citations for segment in segments] == [(1,), ()][: len(segments)], draft
            assert segments[0].text in ("It is so.", 'It is so."', "It.")


NOT_CITATIONS = {
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


@pytest.mark.parametrize(("draft", "text"), NOT_CITATIONS.items())
def test_other_brackets_are_not_citations(draft: str, text: str) -> None:
    (segment,) = split_draft(draft)
    assert (segment.text, segment.citations) == (text, ())


@pytest.mark.parametrize(
    "draft", ["The word[1] here.", "The word[1].", "The word[1], then.", "In 2020[1].", "事实[1]显示。", "**Bold**[1]."]
)
def test_citation_mark_directly_after_a_word(draft: str) -> None:
    (segment,) = split_draft(draft)
    assert segment.citations == (1,)
    assert "[" not in segment.text


# Segments are separated by a broken bar; `@` gives the kind of those that are not claims.
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


@pytest.mark.parametrize(("draft", "segments"), STRUCTURES.items())
def test_draft_is_split_into_segments(draft: str, segments: str) -> None:
    found = [
        segment.text if segment.kind is SegmentKind.CLAIM else f"@{segment.kind} {segment.text}"
        for segment in split_draft(draft)
    ]
    assert found == segments.split("¦")


def test_empty_draft_has_no_segments() -> None:
    assert split_draft("") == []


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
def test_text_is_what_a_user_sees(markdown: str, text: str) -> None:
    assert split_draft(markdown)[0].text == text


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
def test_segment_has_prefix_body_and_suffix(draft: str, parts: tuple[str, str, str]) -> None:
    (segment,) = split_draft(draft)
    assert (segment.prefix, segment.body, segment.suffix) == parts
    assert segment.citations


def test_citations_alone_below_a_code_block_belong_to_it() -> None:
    code = "```\na\n```\n"
    assert split_draft(f"{code}[1], [2]\n- b")[0].citations == (1, 2)
    assert split_draft(f"{code}\n[1]")[0].citations == (1,)
    for below in ("[1] It is so.", "[1]\nIt is so.", "\n\n[1]\n", "It [1]"):
        assert split_draft(code + below)[0].citations == ()
        assert split_draft(code + below)[1].citations == (1,)


def test_paragraph_of_citations_only_is_not_a_claim() -> None:
    assert [(segment.kind, segment.citations) for segment in split_draft("So.\n\n[1]")] == [
        (SegmentKind.CLAIM, ()),
        (SegmentKind.SPACE, (1,)),
    ]


def test_long_code_is_cut_into_code_segments() -> None:
    lines = "x = [1]. Y\n" * 9000
    segments = split_draft(f"```py\n{lines}```\n[1]\n\nSo.")
    assert [segment.kind for segment in segments] == [SegmentKind.CODE] * (len(segments) - 1) + [SegmentKind.CLAIM]
    assert len(segments) == 6
    assert max(len(segment.raw) for segment in segments) <= MAX_CODE_LENGTH
    assert [segment.citations for segment in segments[-3:]] == [(), (1,), ()]
    assert "\n".join(segment.text for segment in segments[:-1]) == lines.rstrip("\n")


def test_long_text_is_cut_at_white_space_and_not_inside_a_citation() -> None:
    segments = split_draft("word [Source 1] " * 1000)
    assert len(segments) > 7
    assert all(len(segment.body) <= MAX_SENTENCE_LENGTH and segment.citations == (1,) for segment in segments)


# A draft so far, and the part of it that is returned at once.
COMPLETE_SEGMENTS = [
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


@pytest.mark.parametrize(("draft", "returned"), COMPLETE_SEGMENTS)
def test_segment_is_returned_as_soon_as_it_is_complete(draft: str, returned: str) -> None:
    assert "".join(segment.raw for segment in DraftSplitter().feed(draft)) == returned


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


def feed_in_chunks(draft: str, sizes: list[int]) -> list[Segment]:
    """The segments of a draft that is fed in chunks of these sizes, repeated."""
    splitter, segments, at, turn = DraftSplitter(), [], 0, 0
    while at < len(draft):
        size = sizes[turn % len(sizes)]
        segments += splitter.feed(draft[at : at + size])
        at, turn = at + size, turn + 1
    return segments + splitter.finish()


@settings(max_examples=400, deadline=None)
@given(DRAFTS, st.lists(st.integers(1, 40), min_size=1, max_size=8))
def test_segments_do_not_depend_on_chunk_sizes(draft: str, sizes: list[int]) -> None:
    assert feed_in_chunks(draft, sizes) == feed_in_chunks(draft, [1]) == split_draft(draft)


@settings(max_examples=400, deadline=None)
@given(DRAFTS)
def test_segments_join_to_the_draft(draft: str) -> None:
    segments = split_draft(draft)
    assert "".join(segment.raw for segment in segments) == draft
    for segment in segments:
        assert segment.raw
        assert segment.raw.startswith(segment.prefix)
        assert segment.raw.endswith(segment.suffix)
        assert len(segment.prefix) + len(segment.body) + len(segment.suffix) <= len(segment.raw)
        assert len(set(segment.citations)) == len(segment.citations) <= 50
        if segment.kind is not SegmentKind.CODE:
            assert segment.text == " ".join(segment.text.split())
            assert segment.citations or segment.prefix + segment.body + segment.suffix == segment.raw


@pytest.mark.slow
@pytest.mark.parametrize("text", ["word ", "x", "[", "`", "*", "|", "\n", " ", ".", "$", "(", "\u200b"])
def test_splitting_a_million_characters_takes_less_than_two_seconds(text: str) -> None:
    draft = text * (1_000_000 // len(text))
    begin = time.process_time()
    segments = split_draft(draft)
    assert time.process_time() - begin < 2
    assert max(len(segment.raw) for segment in segments) <= MAX_SENTENCE_LENGTH + 1000


@pytest.mark.slow
@pytest.mark.parametrize(
    "text", ["word ", "[", "`", "*", "|", "\n", "[1]", "So." + "[1]" * 200, "- ", "[[1", "```\nx", '."']
)
def test_feeding_single_characters_is_fast_and_buffers_little(text: str) -> None:
    splitter, buffered, max_buffered = DraftSplitter(), 0, 0
    begin = time.process_time()
    for character in text * (100_000 // len(text)):
        buffered += 1 - sum(len(segment.raw) for segment in splitter.feed(character))
        max_buffered = max(max_buffered, buffered)
    splitter.finish()
    assert time.process_time() - begin < 5
    assert max_buffered <= MAX_CODE_LENGTH
