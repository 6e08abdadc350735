"""The reader model: what it says, what it refuses, and what happens without it."""

from __future__ import annotations

import math
import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest

from glossator.cli.doctor import diagnose
from glossator.core.errors import ReaderUnavailable
from glossator.core.inference.reading import Reading, ReadSource, SourceText
from glossator.core.settings import load_settings
from glossator.core.text.sentences import split_sentences
from glossator.pipeline import wiring
from glossator.read.cache import ReadCache
from glossator.read.reader import FOLDER, MAX_TEXT_TOKENS, OnnxReader
from glossator.verification.judge import Verifier

TIDES = (
    "Tides are caused mainly by the gravity of the Moon. The Sun contributes about 46 percent as much. "
    "Spring tides occur at new moon and at full moon. They have the largest range of all tides. "
    "Fishing boats leave the harbour two hours before high water."
)


@pytest.fixture(scope="module")
def reader() -> OnnxReader:
    return OnnxReader()


def source(text: str, *headings: str) -> SourceText:
    return SourceText(headings, text, tuple(split_sentences(text)))


@pytest.mark.parametrize(
    ("better", "worse"),
    [
        (
            "It is chiefly the Moon's pull that makes the tides.",
            "It is chiefly the Earth's rotation that makes the tides.",
        ),
        ("The range of a tide is greatest in spring tides.", "The range of a tide is smallest in spring tides."),
        ("Boats go out two hours ahead of high water.", "Boats are built from oak in the town's shipyard."),
    ],
)
def test_a_true_sentence_scores_above_a_false_one(reader: OnnxReader, better: str, worse: str) -> None:
    of_tides = source(TIDES, "Tides")
    read = reader.read([of_tides])
    assert reader.judge(better, read)[0].supported > reader.judge(worse, read)[0].supported
    true, false = (reader.judge_together(text, [of_tides])[0] for text in (better, worse))
    assert true.supported > false.supported


def test_predictions_do_not_depend_on_the_processor(reader: OnnxReader) -> None:
    """Logits computed without overflow; on processors without VNNI, other kernels give others."""
    pumps = source(
        "The pump is driven by the motor, which starts when the tank is nearly empty. "
        "The valve opens by itself after ten minutes.",
        "Pumps",
    )
    assert reader.judge("What drives the pump?", reader.read([pumps]))[0].supported == pytest.approx(2.94, abs=0.15)
    together = reader.judge_together("The valve has to be opened by hand.", [pumps])[0]
    assert together.supported == pytest.approx(-2.40, abs=0.15)


@pytest.mark.parametrize(
    ("question", "sentence"),
    [
        ("What causes the tides?", 0),
        ("When do spring tides occur?", 2),
        ("When do fishing boats leave?", 4),
    ],
)
def test_points_at_the_sentence_that_answers(reader: OnnxReader, question: str, sentence: int) -> None:
    reading = reader.judge(question, reader.read([source(TIDES, "Tides")]))[0]
    assert reading.sentences.index(max(reading.sentences)) == sentence
    assert math.isclose(sum(reading.sentences), 1.0, rel_tol=1e-4)


def test_a_question_that_is_not_answered_scores_below_one_that_is(reader: OnnxReader) -> None:
    read = reader.read([source(TIDES, "Tides")])
    questions = ("When do spring tides occur?", "How high are spring tides in Bristol?")
    answered, unanswered = (reader.judge(question, read)[0].answered for question in questions)
    assert answered > unanswered
    answered, unanswered = (reader.judge_together(q, [source(TIDES, "Tides")])[0].answered for q in questions)
    assert answered > unanswered


@pytest.mark.parametrize(
    "text", ["", " ", "?", "def f(x):\n    return x", "| a | b |\n|---|---|\n| 1 | 2 |", "مد و جزر", "潮汐"]
)
def test_any_source_and_any_text_can_be_read(reader: OnnxReader, text: str) -> None:
    for read, judged in ((TIDES, text), (text, TIDES[:60]), (text, text)):
        reading = reader.judge(judged, reader.read([source(read)]))[0]
        assert all(math.isfinite(value) for value in (reading.supported, reading.contradicted, reading.answered))
        assert len(reading.sentences) == len(split_sentences(read))
        together = reader.judge_together(judged, [source(read)])[0]
        assert all(math.isfinite(value) for value in (together.supported, together.contradicted, together.answered))
        assert len(together.unsupported) == len(reading.unsupported)


def test_a_text_that_is_too_long_is_not_judged(reader: OnnxReader) -> None:
    read = reader.read([source(TIDES)])
    assert reader.judge("tide " * MAX_TEXT_TOKENS, read)
    assert reader.judge("tide " * 10_000, read) == []
    assert reader.judge_together("tide " * MAX_TEXT_TOKENS, [source(TIDES)])
    assert reader.judge_together("tide " * 10_000, [source(TIDES)]) == []


def test_a_long_source_is_cut_off(reader: OnnxReader) -> None:
    long = source(f"{TIDES} " * 200)
    reading = reader.judge("What causes the tides?", reader.read([long]))[0]
    assert math.isfinite(reading.answered)
    assert math.isfinite(reader.judge_together("What causes the tides?", [long])[0].answered)


def test_several_sources_are_judged_as_if_alone(reader: OnnxReader) -> None:
    read = reader.read([source(TIDES, "Tides"), source("Bread is baked at 230 degrees.", "Bread")])
    together = reader.judge("At what temperature is bread baked?", read)
    alone = [reader.judge("At what temperature is bread baked?", [one])[0] for one in read]
    assert together == alone
    assert together[1].answered > together[0].answered


def test_source_of_the_book_is_read_once_and_others_are_not_kept(reader: OnnxReader) -> None:
    of_the_book, selected = source(TIDES, "Kept"), source(TIDES, "Selected")
    assert reader.read([of_the_book], keep=True)[0] is reader.read([of_the_book])[0]
    assert reader.read([selected])[0] is not reader.read([selected])[0]


def test_cache_keeps_the_sources_used_last(reader: OnnxReader) -> None:
    sources = [source(f"{TIDES} {n}") for n in range(3)]
    read = reader.read(sources)
    cache = ReadCache(max_bytes=2 * read[0].keys_values.nbytes + 100_000)
    cache.put(sources[0], read[0])
    cache.put(sources[1], read[1])
    assert cache.get(sources[0]) is read[0]
    cache.put(sources[2], read[2])
    assert [cache.get(each) is not None for each in sources] == [True, False, True]


@pytest.fixture
def damaged(tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """A reader whose model file is missing or altered; the name of the file."""
    name, how = request.param
    folder = tmp_path / "weights"
    shutil.copytree(FOLDER, folder)
    if how == "missing":
        (folder / name).unlink()
    else:
        (folder / name).write_bytes((folder / name).read_bytes()[:-100])
    monkeypatch.setattr(wiring, "_reader", lambda threads: OnnxReader(folder, threads or None))
    return str(name)


NAMES = ("model.onnx", "pairs.onnx", "model.npz", "pairs.npz", "tokenizer.json", "hashes.json")
FILES = [(name, how) for name in NAMES for how in ("missing", "damaged")]


@pytest.mark.parametrize("damaged", FILES, indirect=True)
def test_a_missing_or_damaged_file_is_named_and_words_are_compared(damaged: str, tmp_path: Path) -> None:
    settings = load_settings(data_dir=tmp_path / "data")
    problem = wiring.reader_problem(settings)
    assert problem is not None
    assert damaged in problem.message
    assert "GLOSSATOR_READER=off" in problem.remedy
    verifier = wiring.make_verifier(settings)
    assert verifier.reader is None
    assert verifier.judge("The motor weighs 40 kg.", verifier.prepare(["The motor weighs 40 kg."])).supported
    finding = next(finding for finding in diagnose(settings) if finding.topic == "checks")
    assert not finding.good
    assert damaged in finding.value
    assert "word comparison" in finding.why


def test_without_the_reader_nothing_is_read(tmp_path: Path) -> None:
    settings = load_settings(data_dir=tmp_path, reader="off")
    assert wiring.make_reader(settings) is None
    assert wiring.reader_problem(settings) is None
    assert wiring.make_verifier(settings).reader is None


def test_opening_a_damaged_model_says_so(tmp_path: Path) -> None:
    shutil.copytree(FOLDER, tmp_path / "own")
    (tmp_path / "own" / "model.onnx").write_bytes(b"not a model")
    with pytest.raises(ReaderUnavailable, match=r"model\.onnx is damaged"):
        OnnxReader(tmp_path / "own").read([source(TIDES)])


def test_a_claim_is_read_against_its_part_and_together_with_the_sentences_that_share_its_words(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    reader, judged = OnnxReader(), list[tuple[str, int]]()
    evidence: list[tuple[str, str]] = []
    judge, together = reader.judge, reader.judge_together

    def recorded(text: str, sources: Sequence[ReadSource]) -> list[Reading]:
        judged.append((text, len(sources)))
        return judge(text, sources)

    def recorded_pair(text: str, sources: Sequence[SourceText]) -> list[Reading]:
        evidence.extend((text, source.text) for source in sources)
        return together(text, sources)

    monkeypatch.setattr(reader, "judge", recorded)
    monkeypatch.setattr(reader, "judge_together", recorded_pair)
    verifier = Verifier(reader=reader)
    filler = [f"Part {n} of the machine was described in an earlier chapter." for n in range(12)]
    sentence = "The pump moves two hundred litres of water every hour."
    claim = "Each hour, about two hundred litres of water are shifted by this pump."
    verifier.judge(claim, verifier.prepare([" ".join([*filler[:6], sentence, *filler[6:]])]))
    assert judged == [(claim, 1)]
    ((text, source),) = evidence
    assert text == claim
    assert sentence in source
    assert filler[0] not in source
