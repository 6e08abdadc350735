"""Quoted answers bring along the code or the list that a sentence introduces."""

from __future__ import annotations

from pathlib import Path

import pytest

import glossator
from glossator import Answer

pytestmark = pytest.mark.slow

FILLER = "".join(f"\n# Topic {n}\n\nThe harbour number {n} lies in the north of the island.\n" for n in range(6))


def answer_from(folder: Path, page: str, question: str) -> Answer:
    (folder / "book").mkdir()
    (folder / "book" / "page.md").write_text(page + FILLER, "utf-8")
    with glossator.open(folder / "data") as book:
        book.ingest(folder / "book")
        return book.ask(question)


def test_lead_in_brings_its_code_block(tmp_path: Path) -> None:
    page = "# Windlass\n\nTo start the windlass of the boat, run this command:\n\n```console\n$ windlass --start\n```\n"
    answer = answer_from(tmp_path, page, "How do I start the windlass of the boat?")
    assert (
        "To start the windlass of the boat, run this command: [1]\n\n```console\n$ windlass --start\n```\n[1]"
    ) in answer.text
    assert "$ windlass --start" in [sentence.text for sentence in answer.sentences]
    assert all(sentence.verdict and sentence.verdict.supported for sentence in answer.sentences)


def test_short_lead_in_and_its_code_follow_the_sentence_before(tmp_path: Path) -> None:
    page = "# Windlass\n\nThe windlass is started by its own command. For example:\n\n```\nwindlass --start\n```\n"
    answer = answer_from(tmp_path, page, "Which command starts the windlass?")
    assert "own command. [1] For example: [1]\n\n```\nwindlass --start\n```\n[1]" in answer.text


def test_steps_keep_their_order_and_numbers(tmp_path: Path) -> None:
    page = (
        "# Anchor\n\nTo drop the anchor of the boat, follow these steps:\n\n"
        "1. Turn into the wind.\n2. Stop the engine:\n\n    ```\n    engine stop\n    ```\n\n3. Lower the chain.\n"
    )
    answer = answer_from(tmp_path, page, "How do I drop the anchor of the boat?")
    lines = [line for line in answer.text.splitlines() if line.strip()]
    assert lines == [
        "To drop the anchor of the boat, follow these steps: [1]",
        "1. Turn into the wind. [1]",
        "2. Stop the engine: [1]",
        "```",
        "engine stop",
        "```",
        "[1]",
        "3. Lower the chain. [1]",
    ]


def test_sentence_that_answers_brings_the_code_right_after_it(tmp_path: Path) -> None:
    page = "# Windlass\n\nThe windlass of the boat is started by a command.\n\n```\nwindlass --start\n```\n"
    answer = answer_from(tmp_path, page, "Which command starts the windlass of the boat?")
    assert answer.text.startswith("The windlass of the boat is started by a command. [1]\n\n```\nwindlass --start\n```")


PAGE_WITH_CODE_BEFORE = (
    "# Windlass\n\nThe boat has a windlass of steel.\n\n```\nwindlass --start\n```\n\n"
    "Operators start the windlass of the boat from the bridge, and only when the chain is free.\n"
)


def test_code_of_the_passage_is_quoted_if_the_question_asks_how(tmp_path: Path) -> None:
    answer = answer_from(tmp_path, PAGE_WITH_CODE_BEFORE, "How do operators start the windlass of the boat?")
    assert answer.sentences[0].text.startswith("Operators start the windlass")
    assert "windlass --start" in [sentence.text for sentence in answer.sentences]


def test_code_of_the_passage_is_not_quoted_if_nothing_introduces_it(tmp_path: Path) -> None:
    answer = answer_from(tmp_path, PAGE_WITH_CODE_BEFORE, "Who starts the windlass of the boat?")
    assert answer.sentences[0].text.startswith("Operators start the windlass")
    assert "windlass --start" not in [sentence.text for sentence in answer.sentences]


def test_sentence_that_answers_comes_first(tmp_path: Path) -> None:
    page = (
        "# Windlass\n\nSailors of old knew many tools. The crew kept the windlass in good order. "
        "The windlass of the boat lifts the anchor chain.\n"
    )
    answer = answer_from(tmp_path, page, "What does the windlass of the boat lift?")
    assert answer.sentences[0].text == "The windlass of the boat lifts the anchor chain."


@pytest.mark.parametrize("length", [100, 4000])
def test_code_that_is_too_long_is_left_to_the_page(length: int, tmp_path: Path) -> None:
    code = "\n".join(["windlass --turn"] * (length // 15))
    page = f"# Windlass\n\nTo turn the windlass of the boat many times, run:\n\n```\n{code}\n```\n\nIt turns slowly.\n"
    answer = answer_from(tmp_path, page, "How do I turn the windlass of the boat many times?")
    assert ("windlass --turn" in answer.text) == (length == 100)


def test_backticks_in_code_do_not_end_its_fence(tmp_path: Path) -> None:
    page = "# Notes\n\nTo write a note about the windlass, use this form:\n\n````\n```\nnote\n```\n````\n"
    answer = answer_from(tmp_path, page, "How do I write a note about the windlass?")
    assert "````\n```\nnote\n```\n````\n[1]" in answer.text


def test_definition_leads_the_answer_to_what_a_word_means(tmp_path: Path) -> None:
    page = (
        "# Inverse winching\n\nForward winching has one answer for each turn, but inverse winching may have no answer, "
        "one answer, several answers or infinitely many. Inverse winching is the calculation of the turns that lift a "
        "load, a boat or an anchor to a wanted height.\n"
    )
    answer = answer_from(tmp_path, page, "What is inverse winching?")
    assert answer.sentences[0].text.startswith("Inverse winching is the calculation")


def test_reason_after_the_rule_is_quoted_if_the_question_asks_why(tmp_path: Path) -> None:
    page = (
        "# Anchor\n\nNever drop the anchor of the boat in the fairway. Other ships would run into the chain."
        " The harbour master has to be called then.\n\n# Mooring\n\nThe boat has no anchor at a mooring.\n"
    )
    answer = answer_from(tmp_path, page, "Why should I never drop the anchor of the boat in the fairway?")
    assert "in the fairway. [1] Other ships would run into the chain. [1] The harbour master" in answer.text


def test_fragment_after_a_sentence_is_quoted_with_it(tmp_path: Path) -> None:
    page = "# Options\n\n- chain: the length of the anchor chain in metres. Default: 40. It may be 0.\n"
    answer = answer_from(tmp_path, page, "Which option is the length of the anchor chain?")
    assert "in metres. [1] Default: 40. [1]" in answer.text


def test_lead_in_brings_the_code_in_the_first_tab_after_it(tmp_path: Path) -> None:
    page = (
        "# Windlass\n\nThe windlass of the boat is configured in a file:\n\n"
        'TOML\n\n```toml\nchain = "free"\n```\n\nINI\n\n```ini\nchain = taut\n```\n'
    )
    answer = answer_from(tmp_path, page, "How do I configure the windlass of the boat?")
    assert answer.text.startswith("The windlass of the boat is configured in a file: [1]\n\n```toml\nchain =")
    assert "chain = taut" not in answer.text


def test_lead_in_may_end_with_an_ellipsis(tmp_path: Path) -> None:
    page = (
        "# Windlass\n\nThe crew starts the windlass of the boat by hand. "
        "They can also start the windlass from the bridge...\n\n```\nwindlass --start\n```\n"
    )
    answer = answer_from(tmp_path, page, "Who starts the windlass of the boat by hand?")
    assert answer.sentences[0].text == "The crew starts the windlass of the boat by hand."
    assert "from the bridge... [1]\n\n```\nwindlass --start\n```\n[1]" in answer.text


def test_code_of_another_passage_is_quoted_if_the_best_has_none(tmp_path: Path) -> None:
    page = (
        "# Windlass\n\nA sailor can start the windlass after a training. "
        "The sailor of the windlass checks its chain first. The sailor then warns the others near the windlass. "
        "No other sailor touches the windlass.\n\n"
        "## Examples\n\nStart the windlass with a free chain:\n\n```\nwindlass --start\n```\n"
    )
    answer = answer_from(tmp_path, page, "How does a sailor start the windlass with a chain?")
    assert answer.sentences[0].text == "A sailor can start the windlass after a training."
    assert "with a free chain: [2]\n\n```\nwindlass --start\n```\n[2]" in answer.text


def test_code_before_the_label_of_what_answers_is_not_quoted(tmp_path: Path) -> None:
    page = (
        "# Settings\n\nchain_length\n\nThe length of the chain in metres.\n\n```\nchain_length = 80\n```\n\n"
        "fail_fast\n\nWith this setting, the boat stops the windlass as soon as the chain is taut.\n"
    )
    answer = answer_from(tmp_path, page, "How does the boat stop the windlass as soon as the chain is taut?")
    assert answer.sentences[0].text.startswith("With this setting")
    assert "chain_length = 80" not in answer.text


def test_label_that_repeats_the_question_does_not_lead(tmp_path: Path) -> None:
    page = (
        "# Windlass\n\nstart the windlass slowly\n\nwindlass slowly started\n\n"
        "The option --slow makes the windlass start at half of its speed.\n"
    )
    answer = answer_from(tmp_path, page, "How to start the windlass slowly?")
    assert answer.sentences[0].text.startswith("The option --slow")


def test_code_in_the_tab_with_the_names_of_the_sentence_is_quoted(tmp_path: Path) -> None:
    page = (
        "# Windlass\n\nIn Harbour, the ChainTask of the windlass is started from the bridge.\n\n"
        "Boatyard\n\n```\nBoatyard.start()\n```\n\nHarbour\n\n```\nHarbour.start(ChainTask)\n```\n"
    )
    answer = answer_from(tmp_path, page, "How do I start the windlass from the bridge in Harbour?")
    assert "Harbour.start(ChainTask)" in answer.text
    assert "Boatyard.start()" not in answer.text


def test_code_that_was_cut_off_from_its_sentence_is_quoted(tmp_path: Path) -> None:
    code = "\n".join(f"windlass --step {step} --chain free --speed slow" for step in range(30))
    details = " ".join(f"The crew of boat number {n} waits near the bow until the chain is free." for n in range(25))
    page = f"# Windlass\n\nStart the windlass slowly in steps with a script. {details}\n\n```\n{code}\n```\n"
    answer = answer_from(tmp_path, page, "How do I start the windlass slowly in steps?")
    assert answer.sentences[0].text == "Start the windlass slowly in steps with a script."
    assert "windlass --step 0" in answer.text


@pytest.mark.parametrize("question", ["Can I start the windlass slowly?", "start the windlass slowly"])
def test_whether_questions_and_keywords_get_code(tmp_path: Path, question: str) -> None:
    page = (
        "# Windlass\n\nThe windlass of the boat can also start slowly. The chain of the boat is long.\n\n"
        "```\nwindlass --slow\n```\n"
    )
    assert "windlass --slow" in answer_from(tmp_path, page, question).text


def test_answer_with_code_brings_no_other_code(tmp_path: Path) -> None:
    page = (
        "# Windlass\n\nTo start the windlass of the boat, run:\n\n```\nwindlass --start\n```\n\n"
        "To start the windlass of the boat backwards, run:\n\n```\nwindlass --back\n```\n"
    )
    answer = answer_from(tmp_path, page, "How do I start the windlass of the boat?")
    assert "windlass --start" in answer.text
    assert "windlass --back" not in answer.text


def test_bare_lead_in_does_not_lead(tmp_path: Path) -> None:
    page = (
        "# Windlass\n\nYou can start the windlass with the button on the bridge.\n\n"
        "Start it:\n\n```\nwindlass --start\n```\n"
    )
    answer = answer_from(tmp_path, page, "How do I start the windlass?")
    assert answer.sentences[0].text.startswith("You can start the windlass")


def test_sentence_that_goes_on_does_not_lead_the_answer_to_keywords(tmp_path: Path) -> None:
    page = (
        "# Windlass\n\nThe option --slow makes the windlass of the boat start at half of its speed.\n\n"
        "```\nwindlass --slow\n```\n\nNote that a windlass that starts slowly needs a free chain.\n"
    )
    answer = answer_from(tmp_path, page, "windlass starts slowly")
    assert answer.sentences[0].text.startswith("The option --slow")
    assert "Note that a windlass that starts slowly" in answer.text


def test_sentence_about_the_code_after_it_comes_without_the_one_before(tmp_path: Path) -> None:
    page = (
        "# Windlass\n\nThe windlass of the boat is older than its mast. "
        "This example starts the windlass slowly and with a free chain:\n\n```\nwindlass --slow --free\n```\n"
    )
    answer = answer_from(tmp_path, page, "How do I start the windlass slowly and with a free chain?")
    assert answer.text.startswith("This example starts the windlass slowly and with a free chain: [1]\n\n```\n")


def test_sentence_of_a_list_item_is_quoted_once(tmp_path: Path) -> None:
    page = (
        "# Windlass\n\nThe windlass of the boat is not started by hand because of these dangers:\n\n"
        "- The chain may slip. The anchor then falls into the sea with all of its chain.\n"
        "- The brake of the windlass may fail.\n"
    )
    answer = answer_from(tmp_path, page, "Why is the windlass of the boat not started by hand?")
    assert answer.text.startswith("The windlass of the boat is not started by hand because of these dangers: [1]\n\n- ")
    assert answer.text.count("falls into the sea") == 1


def test_code_of_a_step_comes_with_the_step(tmp_path: Path) -> None:
    page = (
        "# Windlass\n\nThe crew can turn the windlass of the boat without a motor. The boat stays at its mooring. "
        "The mast remains upright. All sails are kept below the deck. Rain does no harm.\n\n"
        "1. Send a signal to the bridge and wait for the bell.\n\n   ```\n   signal --bridge\n   ```\n\n"
        "2. Release the brake.\n"
    )
    answer = answer_from(tmp_path, page, "How can the crew turn the windlass of the boat without a motor?")
    assert answer.sentences[0].text.startswith("The crew can turn the windlass")
    assert "1. Send a signal to the bridge and wait for the bell. [1]\n\n```\nsignal --bridge" in answer.text
