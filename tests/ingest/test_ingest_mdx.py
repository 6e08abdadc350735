"""MDX: code that only a browser runs is removed, text that a reader sees is read."""

from __future__ import annotations

from pathlib import Path

import pytest

from glossator.core.types import BlockKind, Document
from glossator.ingest.read import read_source

LIMIT = 20_000_000


def read_page(folder: Path, text: str, **others: str) -> Document:
    for name, content in others.items():
        (folder / f"{name}.mdx").write_text(content, "utf-8")
    (folder / "page.mdx").write_text(text, "utf-8")
    documents = read_source(str(folder), "", LIMIT).documents
    return next(document for document in documents if document.document_id == "page.mdx")


def blocks_of(document: Document, kind: BlockKind) -> list[str]:
    return [document.text[block.start : block.end] for block in document.blocks if block.kind is kind]


REMOVED = {
    "an import": "import Tabs from '@theme/Tabs';",
    "an import without a name": "import './style.css';",
    "an import over many lines": "import {\n  one,\n  two,\n} from '@site/src/all';",
    "an exported constant": "export const rate = 42;",
    "an exported function": "export function Box({children}) {\n  const a = 1;\n\n  return (<b>{children}</b>);\n}",
    "an exported arrow function": "export const Box = () =>\n  <b>Secret words</b>;",
    "an exported template": "export const poem = `\nroses are red\n`;",
    "an export with a bracket in a string": 'export const open = "(";',
    "a default export": "export default ({children}) => <main>{children}</main>;",
    "a comment": "{/* TODO: rewrite */}",
    "a comment over many lines": "{/*\nTODO\n\n```js\nold()\n```\n*/}",
    "an HTML comment": "<!-- note to self\n\nand more -->",
    "an expression": "{frontMatter.title}",
    "an expression with markup": "{items.map((item) => <li key={item.id}>{`${item.name}`}</li>)}",
    "a component": '<Chart data={{a: [1, 2], b: "x > y"}} onClick={() => go(">")} />',
    "a component over many lines": '<Chart\n  title="hidden"\n  render={(x) => {\n    return x > 1;\n  }}\n/>',
    "a namespaced component": "<Foo.Bar baz />",
    "a fragment": "<></>",
    "an iframe": '<iframe src="https://x.org" />',
    "a style": "<style>{`.a { color: red }`}</style>",
    "a hidden element": "<div hidden>secret</div>",
    "an element with display: none": "<p style={{display: 'none'}}>secret</p>",
    "a deletion by style": "<span style={{color: 'red', textDecoration: 'line-through'}}>secret</span>",
}


@pytest.mark.parametrize("source", REMOVED.values(), ids=REMOVED.keys())
def test_code_that_a_browser_runs_is_not_text(source: str, tmp_path: Path) -> None:
    assert read_page(tmp_path, f"Before.\n\n{source}\n\nAfter.").text == "Before.\n\nAfter."


VISIBLE = {
    "text in a component": ("<Box>\n\nSome **bold** words.\n\n</Box>", "Some bold words."),
    "text on a component's line": ("<Box>Some **bold** words.</Box>", "Some bold words."),
    "a component within a line": ("Press <Key>Enter</Key> now.", "Press Enter now."),
    "text in HTML": ("<div className='x'>\n  Some *words*.\n</div>", "Some words."),
    "inline HTML": ("Press <kbd>Enter</kbd> now.", "Press Enter now."),
    "a string": ("It is {'a {brace}'} here.", "It is a {brace} here."),
    "a string that looks like markup": ("{'# no *heading*'}", "# no *heading*"),
    "an escaped brace": (r"Write \{name\} and \<b>.", "Write {name} and <b>."),
    "a lone brace": ("A set { is open.", "A set { is open."),
    "a less-than sign": ("It holds that a < b and c > d.", "It holds that a < b and c > d."),
    "a price": ("It costs $5 {/* sic */}or $6.", "It costs $5 or $6."),
    "a formula": (r"Then $x_{1} < \frac{a}{b}$ holds.", r"Then $x_{1} < \frac{a}{b}$ holds."),
    "code with JSX": ("Write `<Tabs items={x}>` there.", "Write <Tabs items={x}> there."),
    "code with a comment": ("Write `<!-- more -->` or `{/* more */}`.", "Write <!-- more --> or {/* more */}."),
    "code with backticks": ("Write `` a`{b}`c `` there.", "Write a`{b}`c there."),
    "an admonition": (":::tip\n\nDo it.\n\n:::", "Do it."),
    "an admonition's title": (":::tip[Do *it* [now]]{.x}\nGo.\n:::", "Do it [now]\n\nGo."),
    "an admonition's title in the old syntax": (":::warning Do it\nGo.\n:::", "Do it\n\nGo."),
    "a custom admonition": (":::my-own[Title]\nGo.\n:::", "Title\n\nGo."),
    "nested admonitions": ("::::info[Out]\n:::tip[In]\nGo.\n:::\n::::", "Out\n\nIn\n\nGo."),
    "an admonition component": ('<Admonition type="tip" title="Do it">Go.</Admonition>', "Do it\n\nGo."),
    "tabs": ('<Tabs>\n<TabItem value="a" label="A & B">\n\nOne.\n\n</TabItem>\n</Tabs>', "A & B\n\nOne."),
    "tabs without labels": ('<Tabs><TabItem value="npm">One.</TabItem></Tabs>', "npm\n\nOne."),
    "tabs labelled by code": ("<TabItem value='a' label={'Label'}>One.</TabItem>", "Label\n\nOne."),
    "details": ("<details>\n  <summary>See `x` **more**</summary>\n\nText.\n\n</details>", "See x more\n\nText."),
    "an mdx-code-block": (
        "```mdx-code-block\n<Box>\n```\n\nText.\n\n```mdx-code-block\n</Box>\n```",
        "Text.",
    ),
    "a table in a component": ("<Box>\n\n| A | B |\n|---|---|\n| 1 | {/* x */}2 |\n\n</Box>", "A | B\n1 | 2"),
    "a table in JSX": ("<table><tr><td>A</td><td>B</td></tr></table>", "A | B"),
    "the alternative text of an image": ('<img src={require("./a.png")} alt="A long arm" />', "[Figure: A long arm]"),
    "a heading's commented id": ("## Head {/* #own */}\n\nText.", "Head\n\nText."),
}


@pytest.mark.parametrize(("source", "text"), VISIBLE.values(), ids=VISIBLE.keys())
def test_visible_text_is_read(source: str, text: str, tmp_path: Path) -> None:
    assert read_page(tmp_path, source).text == text


def test_code_blocks_are_unchanged(tmp_path: Path) -> None:
    code = "import X from 'x';\n\nexport default () => <X a={1}>{/* c */}</X>; <!-- d -->\n:::tip\n$a$ {b}"
    document = read_page(tmp_path, f'Text.\n\n```jsx title="a.js"\n{code}\n```\n\n- ~~~\n  <Y/>\n  ~~~\n')
    assert blocks_of(document, BlockKind.CODE) == [f"```jsx\n{code}\n```", "```\n<Y/>\n```"]


def test_code_block_component_is_a_code_block(tmp_path: Path) -> None:
    document = read_page(tmp_path, '<CodeBlock language="js">\n{`if (a) {\n  b();\n}`}\n</CodeBlock>')
    assert blocks_of(document, BlockKind.CODE) == ["```js\nif (a) {\n  b();\n}\n```"]


def test_formulas_are_tex(tmp_path: Path) -> None:
    document = read_page(tmp_path, "Then\n\n$$\n\\mathbf{x}_{i} = {a}\n$$\n\nholds.")
    assert blocks_of(document, BlockKind.FORMULA) == ["$$ \\mathbf{x}_{i} = {a} $$"]


def test_formula_in_a_paragraph_may_continue_on_the_next_line(tmp_path: Path) -> None:
    document = read_page(tmp_path, "Let $F(x)=\n\\int_{a}^{x} f$ be {props.name} it; $5 and\n{props.more} not $6.")
    assert document.text == "Let $F(x)= \\int_{a}^{x} f$ be it; $5 and not $6."


def test_list_continues_after_a_component(tmp_path: Path) -> None:
    document = read_page(tmp_path, "1. One\n\n   <Box>\n   Inside.\n   </Box>\n\n2. Two\n")
    assert document.text == "1. One\n   Inside.\n2. Two"


def test_partial_replaces_its_component(tmp_path: Path) -> None:
    text = "import Part from './_part.mdx';\n\n# Page\n\n<Part name=\"x\" />\n\nWrite `<Part />` there.\n"
    part = "---\ntitle: no\n---\nimport Deep from './_deep.mdx';\n\nShared {props.name} words.\n\n<Deep />\n"
    document = read_page(tmp_path, text, _part=part, _deep="Deep words.")
    assert document.text == "Page\n\nShared words.\n\nDeep words.\n\nWrite <Part /> there."


def test_code_block_about_a_partial_is_unchanged(tmp_path: Path) -> None:
    listing = "```jsx\nimport Part from './_part.mdx';\n\n<Part />\n```"
    document = read_page(tmp_path, f"import Part from './_part.mdx';\n\n{listing}", _part="Shared.")
    assert document.text == listing


def test_recursive_partials_are_limited(tmp_path: Path) -> None:
    recursive = "import Part from './_part.mdx';\n\nAgain.\n\n<Part />\n\n<Part />\n"
    document = read_page(tmp_path, recursive, _part=recursive)
    assert 1 < document.text.count("Again.") < 2_000


def test_partial_outside_the_source_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "secret.mdx").write_text("Secret.", "utf-8")
    (tmp_path / "book").mkdir()
    text = "import A from '../secret.mdx';\nimport B from '/etc/hosts.md';\n\nText.\n\n<A />\n\n<B />\n"
    assert read_page(tmp_path / "book", text).text == "Text."


@pytest.mark.slow
@pytest.mark.parametrize(
    "mark",
    [*"{`<$[(*_~>#|!", "<A ", "<A {", '<A b="', "{/*", "<!--", "{`", '{"', "$a", "```\n", "import {\n", "![", "<div>"],
)
def test_long_run_of_one_token_is_read(mark: str, tmp_path: Path) -> None:
    document = read_page(tmp_path, f"Words before.\n\n{mark * (100_000 // len(mark))}\n")
    assert document.text.startswith("Words before.")


@pytest.mark.parametrize("opening", ["export const a = {\n\n", "export default (\n\n", "{a(\n\n", "<A b={\n\n"])
def test_unclosed_code_hides_no_following_text(opening: str, tmp_path: Path) -> None:
    assert read_page(tmp_path, f"{opening}{'Words of the page.' + chr(10) * 2}").text.endswith("Words of the page.")
