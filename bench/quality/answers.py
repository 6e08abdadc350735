"""Extractive answers on CLAP NQ: sentence-level F1 against the sentences chosen by annotators."""

from __future__ import annotations

import re

from lib.common import CACHE, indexed, questions, unpack


def letters(text: str) -> str:
    return re.sub(r"\W+", "", text).lower()


def f1(chosen: set[str], gold: set[str]) -> float:
    return 2 * len(chosen & gold) / (len(chosen) + len(gold)) if chosen else 0.0


def as_sentences(quotes: list[str], sentences: list[str]) -> set[str]:
    """The sentences of the data set that the quotes overlap, however we split them."""
    found = set()
    for quote in map(letters, quotes):
        found |= {s for s in sentences if letters(s) and (letters(s) in quote or quote in letters(s))}
    return found


def main() -> None:
    folder = next(unpack("clapnq.tgz").rglob("clapnq_dev_answerable.jsonl")).parent
    answerable = [q for q in questions(folder / "clapnq_dev_answerable.jsonl") if q["output"][0]["selected_sentences"]]
    unanswerable = questions(folder / "clapnq_dev_unanswerable.jsonl")
    corpus = CACHE / "clapnq-corpus"
    corpus.mkdir(parents=True, exist_ok=True)
    sentences: dict[str, list[str]] = {}
    for q in answerable + unanswerable:
        passage = q["passages"][0]
        (corpus / f"{q['id']}.md").write_text(f"# {passage['title']}\n\n{passage['text']}\n", "utf-8")
        sentences[f"{q['id']}.md"] = passage["sentences"]
    book = indexed("clapnq", corpus)
    ours, lead, abstained, found, counts = [], [], 0, 0, []
    for q in answerable:
        gold = set(q["output"][0]["selected_sentences"])
        best = book.search(q["input"], 1)[0]
        found += best.document_id == f"{q['id']}.md"
        lead.append(f1(set(sentences[best.document_id][:3]), gold))
        answer = book.ask(q["input"])
        abstained += answer.abstained
        chosen: set[str] = set()
        documents = {citation.number: citation.document_id for citation in answer.citations}
        for sentence in answer.sentences:
            chosen |= as_sentences([sentence.text], sentences[documents[sentence.citations[0]]])
        counts.append(len(answer.sentences))
        ours.append(f1(chosen, gold))
    n = len(answerable)
    refused = sum(book.ask(q["input"]).abstained for q in unanswerable)
    print(f"CLAP NQ, {n} answerable questions over {len(sentences)} passages; right passage first: {found / n:.1%}")
    print(f"  sentence F1, first three sentences of the best passage: {sum(lead) / n:.3f}")
    print(f"  sentence F1, extractive answer:                         {sum(ours) / n:.3f}")
    answered = [(o, b) for o, b, c in zip(ours, lead, counts, strict=True) if c]
    own, first = (sum(pair[k] for pair in answered) / len(answered) for k in (0, 1))
    print(f"  of the {len(answered)} that it answers: {own:.3f} against {first:.3f}, ratio {own / first:.2f}")
    print(
        f"  ratio {sum(ours) / sum(lead):.2f}; sentences per answer {sum(counts) / n:.1f};"
        f" abstained {abstained / n:.1%}"
    )
    print(f"  (unanswerable by their own passage: abstained {refused / len(unanswerable):.1%})")


if __name__ == "__main__":
    main()
