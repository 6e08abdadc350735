"""The pages of the book in a browser: formulas, links, lists, tables, images and admonitions as the book has them."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

import browser
import glossator
from browser import HIGHLIGHTED, PHONE, ConsoleErrors, OpenPage, ask, launcher, marks, open_chat

pytestmark = pytest.mark.slow

SVG = """<svg xmlns="http://www.w3.org/2000/svg" width="40" height="20"><script>document.title = "owned"</script>
<rect width="40" height="20" fill="teal"/></svg>"""
EVERYTHING = r"""# Geysers

A geyser erupts when the water at depth $h$ reaches the temperature $T^{*}$ at which it boils under the weight above.

$$
p = \rho g h + \frac{p_0}{1 + \epsilon}
$$

## What a column needs

Water, *heat* and **plumbing**; see [the ponds](ponds.md#mud) and `erupt()`.

3. Fill the column.
4. Wait.
   - for heat
   - for pressure

| Geyser | Height |
|---|--:|
| Strokkur | 20 m |

![A column of water](/img/column.svg)

## Safety first

> Keep away.

:::warning[Careful]

The crust is thin.

:::

- [x] Boots
- [ ] Rope

```python
print("<b>steam</b>")
```

# A second title

## What is left

The end of the page.
"""
HOSTILE = """# Hostile page

<script>document.title = "owned"</script>
<img src=x onerror="document.title = 'owned'" alt="nothing">
<a href="javascript:document.title='owned'">click</a>
<style>main { display: none }</style>

$\\text{<img src=x onerror="document.title='owned'">}$ and $\\href{javascript:alert(1)}{x}$ are formulas.
"""
FILES = {
    "docs/geysers.md": EVERYTHING,
    "docs/ponds.md": "# Ponds\n\nPonds are shallow.\n\n## Mud\n\nMud pots bubble because gas rises through wet clay.\n",
    "docs/hostile.md": HOSTILE,
    "docs/index.md": "# Hot water\n\nA short book about hot water that rises from the ground.\n",
    "docs/img/column.svg": SVG,
    "mkdocs.yml": "site_name: Hot water\nuse_directory_urls: false\n"
    "nav: [index.md, geysers.md, ponds.md, hostile.md]\n",
}
GEYSERS = "/book/geysers.html"


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server with a book that has everything a page may have."""
    folder = tmp_path_factory.mktemp("book")
    for name, text in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, "utf-8")
    with browser.bound_socket() as on:
        yield from serve(folder, tmp_path_factory.mktemp("data"), on)


def serve(folder: Path, data: Path, on: socket.socket) -> Iterator[str]:
    with glossator.open(data) as book:
        book.ingest(folder, base_url=f"{browser.url_of(on)}/book")
    with browser.serving(data, on) as address:
        yield address


def test_formulas_are_typeset_and_keep_their_tex(page: Page) -> None:
    page.goto(GEYSERS)
    formulas = page.locator("article math")
    expect(formulas).to_have_count(3)
    expect(formulas.nth(1).locator("msup")).to_have_text("T*")
    expect(formulas.nth(2)).to_have_attribute("display", "block")
    assert formulas.nth(2).evaluate("node => node.namespaceURI").endswith("MathML")
    heights = [formulas.nth(at).evaluate("node => node.getBoundingClientRect().height") for at in (0, 2)]
    assert heights[1] > heights[0], "the fraction is not set on two lines"
    assert formulas.nth(1).locator("annotation").text_content() == "T^{*}"
    assert "$" not in page.locator("article").inner_text()


def test_markup_survives(page: Page) -> None:
    page.goto(GEYSERS)
    article = page.locator("article")
    expect(article.locator("em")).to_have_text("heat")
    expect(article.locator("strong")).to_have_text("plumbing")
    expect(article.locator("p code")).to_have_text("erupt()")
    expect(article.locator("pre")).to_have_text('print("<b>steam</b>")')
    expect(article.locator("ol[start='3'] > li > ul > li")).to_have_text(["for heat", "for pressure"])
    expect(article.locator("thead th")).to_have_text(["Geyser", "Height"])
    expect(article.locator("tbody td")).to_have_text(["Strokkur", "20 m"])
    expect(article.locator("td").first).to_have_css("text-align", "start")
    expect(article.locator("td").last).to_have_css("text-align", "right")
    expect(article.locator("blockquote")).to_have_text("Keep away.")
    expect(article.locator(".admonition.warning .admonition-title")).to_have_text("Careful")
    expect(article.locator(".task")).to_have_text(["☑", "☐"])
    expect(article.get_by_role("img", name="done")).to_be_visible()


def test_images_are_served_from_the_index(page: Page) -> None:
    page.goto(GEYSERS)
    image = page.get_by_role("img", name="A column of water")
    image.scroll_into_view_if_needed()
    page.wait_for_function("[...document.images].every(image => image.complete)")
    assert image.evaluate("image => image.naturalWidth") == 40
    response = page.request.get(image.get_attribute("src") or "")
    assert response.headers["content-type"] == "image/svg+xml"
    assert "sandbox" in response.headers["content-security-policy"]


def test_picture_that_is_opened_by_itself_runs_nothing(page: Page, console_errors: ConsoleErrors) -> None:
    console_errors.allow("Blocked script execution|violates the following")
    page.goto(GEYSERS)
    page.goto(page.get_by_role("img", name="A column of water").get_attribute("src") or "")
    assert page.title() != "owned"


@pytest.mark.parametrize("path", ["/media/", "/media/nothing.png", "/media/..%2f..%2fetc%2fpasswd", "/media/x.php"])
def test_unknown_images_are_404(page: Page, path: str, console_errors: ConsoleErrors) -> None:
    assert page.request.get(path).status == 404


def test_links_lead_to_the_page_and_its_section(page: Page) -> None:
    page.goto(GEYSERS)
    page.get_by_role("link", name="the ponds").click()
    page.wait_for_url("**/book/ponds.html#mud")
    expect(page.locator("h2#mud")).to_be_in_viewport()


def test_page_has_one_title_contents_and_neighbours(page: Page) -> None:
    page.goto(GEYSERS)
    expect(page.locator("h1")).to_have_text("Geysers")
    expect(page.locator("h2", has_text="A second title")).to_be_visible()
    page.get_by_text("On this page").click()
    contents = page.locator(".page-contents a")
    expect(contents).to_have_text(["What a column needs", "Safety first", "What is left"])
    contents.last.click()
    expect(page.locator("h2", has_text="What is left")).to_be_in_viewport()
    expect(page.locator("a[rel=prev]")).to_contain_text("Hot water")
    expect(page.locator("a[rel=next]")).to_contain_text("Ponds")


def test_phone_menu_names_the_page_and_shows_its_entry(open_page: OpenPage) -> None:
    page = open_page(viewport=PHONE | {"height": 300}, has_touch=True)
    page.goto("/book/hostile.html")
    menu = page.get_by_role("button", name="Hostile page")
    expect(menu).to_be_in_viewport()
    current = page.locator("#contents [aria-current]")
    expect(current).to_be_hidden()
    menu.tap()
    expect(current).to_be_in_viewport()
    page.locator("#contents").get_by_role("link", name="Ponds").tap()
    page.wait_for_url("**/book/ponds.html")


def test_cited_words_beside_formulas_are_found(page: Page) -> None:
    open_chat(page, GEYSERS)
    ask(page, "When does a geyser erupt?")
    marks(page).first.click()
    (lit,) = page.evaluate(HIGHLIGHTED)
    assert "at which it boils under the weight above" in lit or "A geyser erupts when the water at depth" in lit


def test_copied_formulas_are_tex(open_page: OpenPage) -> None:
    page = open_page(permissions=["clipboard-read", "clipboard-write"])
    page.goto(GEYSERS)
    browser.select(page, "article p")
    page.keyboard.press("Control+c")
    copied: str = page.evaluate("navigator.clipboard.readText()")
    assert "at depth $h$ reaches the temperature $T^{*}$ at which" in copied


def test_hostile_page_does_nothing(page: Page) -> None:
    page.goto("/book/hostile.html")
    expect(page.locator("article")).to_contain_text("are formulas")
    expect(launcher(page)).to_be_visible()
    page.get_by_text("click").click()
    assert "owned" not in page.title()
    assert page.locator("article [onerror], article script, article style").count() == 0
    assert page.locator("article a[href^=javascript]").count() == 0


def test_front_page_offers_questions_that_the_book_answers(page: Page) -> None:
    page.goto("/")
    examples = page.locator("ul[aria-labelledby=examples] a")
    expect(examples).to_have_count(3)
    examples.first.click()
    expect(page.locator("main section sup a").first).to_be_visible()
