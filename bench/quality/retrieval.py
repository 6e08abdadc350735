"""Retrieval quality on four labelled sets: keywords, dense vectors, both fused by reciprocal rank, and ours."""

from __future__ import annotations

import csv
import json
import re
import shutil
from collections.abc import Callable, Iterable
from pathlib import Path

from glossator.core.question import Question
from glossator.core.types import Chunk, Filters
from glossator.facade import Book
from glossator.retrieve import retrieve
from lib.common import CACHE, SETS, answers, indexed, ndcg, questions, unique, unpack

Ranking = Callable[[Book, str], list[Chunk]]
DEPTH = 60


def _hits(book: Book, question: str):
    query = book.engine.embedder.embed_query(question)
    return query, book.engine.generation().index.search(query, question, 200, Filters())


def _by(book: Book, question: str, score: Callable) -> list[Chunk]:
    _, hits = _hits(book, question)
    best = sorted((h for h in hits if score(h) is not None), key=lambda h: (-score(h), h.id))
    return book.engine.generation().index.chunks([h.id for h in best[:DEPTH]])


def keywords(book: Book, question: str) -> list[Chunk]:
    return _by(book, question, lambda hit: hit.sparse)


def dense(book: Book, question: str) -> list[Chunk]:
    return _by(book, question, lambda hit: hit.dense)


def reciprocal_rank(book: Book, question: str) -> list[Chunk]:
    _, hits = _hits(book, question)
    scores: dict[int, float] = {}
    for name in ("dense", "sparse"):
        ranked = sorted((h for h in hits if getattr(h, name) is not None), key=lambda h: -getattr(h, name))
        for rank, hit in enumerate(ranked):
            scores[hit.id] = scores.get(hit.id, 0.0) + 1 / (61 + rank)
    best = sorted(scores, key=lambda i: (-scores[i], i))[:DEPTH]
    return book.engine.generation().index.chunks(best)


def ours(book: Book, question: str) -> list[Chunk]:
    generation = book.engine.generation()
    asked = Question(question, top_k=DEPTH)
    found = retrieve(book.engine.embedder, generation.index, generation.documents, asked, 0)
    return [item.chunk for item in found.chunks]


RANKINGS: dict[str, Ranking] = {
    "words (BM25)": keywords,
    "meaning (bge)": dense,
    "both, by RRF": reciprocal_rank,
    "Glossator": ours,
}


def documentation(name: str, archive: str, below: str) -> dict[str, tuple[str, float]]:
    """nDCG@10 over pages, and the section in the top 5, on our own question sets."""
    book = indexed(name, unpack(archive) / below)
    asked = [q for q in questions(SETS / f"{name}.jsonl") if q["answers"]]
    table = {}
    for label, ranking in RANKINGS.items():
        pages, sections = [], []
        for q in asked:
            chunks = ranking(book, q["question"])
            pages.append(ndcg(unique(c.document_id for c in chunks), {a["file"] for a in q["answers"]}))
            sections.append(any(answers(c, q["answers"]) for c in chunks[:5]))
        table[label] = (f"{_mean(pages):.3f} / {_mean(sections):.3f}", _mean(pages))
    return table


def cranfield() -> dict[str, tuple[str, float]]:
    """nDCG@10 with every judged reference relevant."""
    folder = next(unpack("cranfield.tgz").rglob("cran_docs.json")).parent
    corpus = CACHE / "cranfield-corpus"
    corpus.mkdir(parents=True, exist_ok=True)
    for document in json.loads((folder / "cran_docs.json").read_text("utf-8")):
        title, _, body = document["body"].partition(" .  ")
        (corpus / f"{document['id']}.txt").write_text(f"{title.strip()}\n\n{body.strip()}", "utf-8")
    relevant: dict[int, set[str]] = {}
    for row in json.loads((folder / "cran_qrels.json").read_text("utf-8")):
        if row["position"] in (1, 2, 3, 4):
            relevant.setdefault(int(row["query_num"]), set()).add(f"{row['id']}.txt")
    asked = json.loads((folder / "cran_queries.json").read_text("utf-8"))
    book = indexed("cranfield", corpus)
    table = {}
    for label, ranking in RANKINGS.items():
        scores = [
            ndcg(unique(c.document_id for c in ranking(book, q["query"])), relevant[number])
            for number, q in enumerate(asked, 1)
            if relevant.get(number)
        ]
        table[label] = (f"{_mean(scores):.3f}", _mean(scores))
    return table


def spans() -> dict[str, tuple[str, float]]:
    """The share of the gold spans' characters in the top five chunks."""
    folder = next(unpack("chunking_evaluation.tgz").rglob("questions_df.csv")).parent
    corpus = CACHE / "chunking-corpus"
    corpus.mkdir(parents=True, exist_ok=True)
    for file in folder.glob("*.md"):
        shutil.copy(file, corpus)
    book = indexed("chunking", corpus)
    letters = {d.document_id: _letters(d.text) for d in book.documents()}
    asked = []
    with (folder / "questions_df.csv").open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            text, places = letters[f"{row['corpus_id']}.md"]
            gold = [_place(text, places, ref["content"]) for ref in json.loads(row["references"])]
            asked.append((row["question"], f"{row['corpus_id']}.md", [g for g in gold if g]))
    table = {}
    for label, ranking in RANKINGS.items():
        scores = [_covered(ranking(book, q)[:5], page, gold) for q, page, gold in asked if gold]
        table[label] = (f"{_mean(scores):.3f}", _mean(scores))
    return table


def _letters(text: str) -> tuple[str, list[int]]:
    """The letters of a text and their offsets: gold spans use the raw file's white space."""
    places = [i for i, character in enumerate(text) if re.match(r"\w", character)]
    return "".join(text[i] for i in places), places


def _place(text: str, places: list[int], quote: str) -> tuple[int, int] | None:
    wanted = re.sub(r"\W", "", quote)
    start = text.find(wanted)
    return (places[start], places[start + len(wanted) - 1] + 1) if wanted and start >= 0 else None


def _covered(chunks: Iterable[Chunk], page: str, gold: list[tuple[int, int]]) -> float:
    chunks = [c for c in chunks if c.document_id == page]
    got = sum(max(0, min(b, c.end) - max(a, c.start)) for a, b in gold for c in chunks)
    return got / sum(b - a for a, b in gold)


def _mean(values: Iterable[float]) -> float:
    found = list(values)
    return sum(found) / len(found)


def main() -> None:
    columns = {
        "Rust Book: page nDCG@10 / section in top 5": documentation("rust", "books/rust-book.tar.gz", "src"),
        "Docusaurus: page nDCG@10 / section in top 5": documentation(
            "docusaurus", "books/docusaurus-docs.tar.gz", "website/docs"
        ),
        "Cranfield: nDCG@10": cranfield(),
        "chunking_evaluation: span recall@5": spans(),
    }
    lines = ["| ranking | " + " | ".join(columns) + " |", "|---" * (len(columns) + 1) + "|"]
    lines += [f"| {label} | " + " | ".join(c[label][0] for c in columns.values()) + " |" for label in RANKINGS]
    print("\n".join(lines))
    for name, column in columns.items():
        best_single = max(column["words (BM25)"][1], column["meaning (bge)"][1])
        print(f"{name}: Glossator / best single search = {column['Glossator'][1] / best_single:.3f}")
    (Path(__file__).parents[1] / "results").mkdir(exist_ok=True)
    (Path(__file__).parents[1] / "results").joinpath("retrieval.md").write_text("\n".join(lines) + "\n", "utf-8")


if __name__ == "__main__":
    main()
