"""Measures the accuracy of the verifier, by set and kind, against two baselines; and its speed.

The sample book is not used for fitting: its mutations, the claims written about it by hand, and the second half of the
multilingual set are measured with the shipped weights. So are the test books of written claims and the unseen half of
the plain pairs. WiCE, BEGIN and SummEdits are labelled by people; the reader model and its weights never saw them, but
the weights without the reader were fitted to the first two (bench/fit/fit_verifier.py prints cross-validated numbers).
"""

from __future__ import annotations

import statistics
import time
from collections import defaultdict
from collections.abc import Callable, Sequence

from glossator.core.thresholds import SHOWN, SUPPORTED
from glossator.embed.colbert import ColbertEncoder
from glossator.read.reader import OnnxReader
from glossator.verification.judge import Verifier
from glossator.verification.model import score
from lib import claims as sets
from lib import written

Rows = sets.Rows
Judge = Callable[[Rows], bool]
LIMITS = {
    **dict.fromkeys(("number", "unit", "negation", "modality"), 0.95),
    **dict.fromkeys(("entity", "entity_in_passage", "antonym", "quantifier"), 0.85),
    "exchange": 0.70,
    **dict.fromkeys(("fabricated_clause", "elsewhere"), 0.99),
    "verbatim": 0.97,
}
REWRITES = frozenset(
    {
        "parenthesis",
        "merged",
        "synonym",
        "reformatted",
        "clause",
        "contraction",
        "markup",
        "lead",
        "connective",
        "split",
    }
)
COVERED = 0.8
"""Minimum share of content words for a claim to be supported, in the baselines."""


def by_coverage(rows: Rows) -> bool:
    return all(max(window["coverage"] for window in windows) >= COVERED for windows in rows)


def by_rules(rows: Rows) -> bool:
    def good(window: dict[str, float]) -> bool:
        wrong = ("number", "unit", "number_absent", "negation_added", "negation_dropped")
        return window["coverage"] >= COVERED and not any(window[name] for name in wrong)

    return all(any(good(window) for window in windows) for windows in rows)


def by_model(rows: Rows) -> bool:
    return all(max(score(window) for window in windows) >= SUPPORTED for windows in rows)


JUDGES: dict[str, Judge] = {"coverage": by_coverage, "+ numbers, negation": by_rules, "Glossator": by_model}


def report_kinds(
    title: str, claims: Sequence[sets.LabelledClaim], rows: Sequence[Rows], limits: dict[str, float]
) -> None:
    """Print the share of correct verdicts for each kind, by each judge."""
    right: dict[tuple[bool, str], dict[str, list[bool]]] = defaultdict(lambda: defaultdict(list))
    for claim, row in zip(claims, rows, strict=True):
        for name, judge in JUDGES.items():
            verdict = bool(row) and judge(row)
            kinds = [claim.kind, *(["light rewrites, all"] if claim.kind in REWRITES else [])]
            for kind in kinds:
                right[claim.supported, kind][name].append(verdict == claim.supported)
    print(f"\n{title}\n| {'kind':24} | claims | " + " | ".join(JUDGES) + " |  |\n|---|---|---|---|---|---|")
    for supported, kind in sorted(right):
        shares = {name: statistics.mean(found) for name, found in right[supported, kind].items()}
        limit = limits.get(kind)
        verdict = (
            "" if limit is None else f"at least {limit:.0%}: {'holds' if shares['Glossator'] >= limit else 'FAILS'}"
        )
        what = f"{'accepts' if supported else 'catches'} {kind}"
        number = len(right[supported, kind]["Glossator"])
        print(
            f"| {what:32} | {number} | " + " | ".join(f"{share:.1%}" for share in shares.values()) + f" | {verdict} |"
        )


def report_gate(claims: Sequence[sets.LabelledClaim], rows: Sequence[Rows]) -> None:
    """Print the share that passes the strict gate, whose threshold is higher than that of a verdict."""
    passes: dict[str, list[bool]] = defaultdict(list)
    for claim, row in zip(claims, rows, strict=True):
        kind = "light rewrites" if claim.kind in REWRITES else "verbatim" if claim.supported else "false claims"
        passes[kind].append(bool(row) and all(max(score(window) for window in windows) >= SHOWN for windows in row))
    shares = ", ".join(f"{kind} {statistics.mean(found):.1%}" for kind, found in passes.items())
    print(f"pass the strict gate (score at least {SHOWN}): {shares}")


def report_shown(title: str, claims: Sequence[sets.LabelledClaim], rows: Sequence[Rows]) -> None:
    """Print the share of true and false sentences that the strict gate shows, by kind and in total."""
    shown: dict[tuple[bool, str], list[bool]] = defaultdict(list)
    for claim, row in zip(claims, rows, strict=True):
        passes = bool(row) and all(max(score(window) for window in windows) >= SHOWN for windows in row)
        for kind in (claim.kind, "all"):
            shown[claim.supported, kind].append(passes)
    print(f"\n| {title} | claims | shown by the strict gate |\n|---|---|---|")
    for (supported, kind), found in sorted(shown.items()):
        print(f"| {'true' if supported else 'false'}, {kind} | {len(found)} | {statistics.mean(found):.1%} |")


def report_area(title: str, claims: Sequence[sets.LabelledClaim], rows: Sequence[Rows]) -> None:
    """Print the area under the ROC curve: how often a true claim scores above a false one; and true ones shown at 5 %
    of the false."""
    scores = [min((max(map(score, windows)) for windows in row), default=0.0) for row in rows]
    true, false = ([s for c, s in zip(claims, scores, strict=True) if c.supported is label] for label in (True, False))
    above = sum((t > f) + 0.5 * (t == f) for t in true for f in false)
    threshold = statistics.quantiles(false, n=20)[-1]
    share = statistics.mean(s > threshold for s in true)
    print(f"{title}: area under the curve {above / len(true) / len(false):.3f}; at 5 % of false {share:.1%} of true")


def report_balanced_accuracy(title: str, claims: Sequence[sets.LabelledClaim], rows: Sequence[Rows]) -> None:
    """Print the mean of the accuracy on supported and on unsupported claims."""
    shares = []
    for judge in JUDGES.values():
        sides = {
            label: statistics.mean(
                (bool(r) and judge(r)) == label for c, r in zip(claims, rows, strict=True) if c.supported == label
            )
            for label in (True, False)
        }
        shares.append(statistics.mean(sides.values()))
    print(f"| {title} | {len(claims)} | " + " | ".join(f"{share:.1%}" for share in shares) + " |")


def report_cost(claims: Sequence[sets.LabelledClaim]) -> None:
    """Print the milliseconds per claim with prepared passages, without and with the token model."""
    for title, verifier, limit in (
        ("words alone", Verifier(), 2),
        ("with the token model (reader off)", Verifier(ColbertEncoder()), 40),
        ("with the reader", Verifier(ColbertEncoder(), OnnxReader()), 30),
    ):
        times = []
        for claim in claims:
            prepared = verifier.prepare(claim.passages)
            verifier.judge("This sentence makes the passages ready, 17 times over.", prepared)
            started = time.perf_counter()
            verifier.judge(claim.claim, prepared)
            times.append(1000 * (time.perf_counter() - started))
        middle, high = statistics.median(times), statistics.quantiles(times, n=20)[-1]
        holds = "holds" if middle <= limit else "FAILS"
        print(f"{title}: p50 {middle:.2f} ms a claim, p95 {high:.2f} ms (limit {limit} ms: {holds})")


def main() -> None:
    verifier = Verifier(ColbertEncoder(), OnnxReader())
    made = sets.mutations("book", 150)
    limits = LIMITS | {"light rewrites, all": 0.90}
    rows = sets.features("book", made, verifier)
    report_kinds("mutations of the sample book", made, rows, limits)
    report_gate(made, rows)
    by_hand = sets.by_hand("claims_book")
    rows = sets.features("hand", by_hand, verifier)
    report_kinds("claims about the sample book, by hand", by_hand, rows, {})
    report_shown("claims about the sample book, by hand", by_hand, rows)
    report_area("by hand", by_hand, rows)
    spoken = sets.by_hand("claims_languages", "test")
    kinds = {f"{language} {kind}": 0.9 for language in ("ar", "de", "es", "ur") for kind in ("number", "negation")}
    kinds |= {f"{language} rewrite": 0.8 for language in ("ar", "de", "es", "ur")}
    report_kinds(
        "four languages, the half not fitted to", spoken, sets.features("languages-test", spoken, verifier), kinds
    )
    for half in ("seen", "unseen"):
        pairs = sets.plain_pairs(f"plain_pairs_{half}")
        rows = sets.features(f"plain-{half}", pairs, verifier)
        report_shown(f"plain pairs, the {half} half", pairs, rows)
        report_area(f"plain pairs, the {half} half", pairs, rows)
    for title, books in {"development": written.DEVELOPMENT, "test": written.TEST}.items():
        paraphrases = written.claims(books)
        rows = sets.features(f"written-{title}", paraphrases, verifier)
        report_shown(f"written by language models, {title} books", paraphrases, rows)
        report_area(f"{title} books", paraphrases, rows)
    print("\n| balanced accuracy | claims | " + " | ".join(JUDGES) + " |\n|---|---|---|---|---|")
    for name, claims in (("wice", sets.wice()), ("begin", sets.begin()), ("summedits", sets.summedits(400))):
        report_balanced_accuracy(name, claims, sets.features(name, claims, verifier))
    report_cost([claim for claim in made if claim.kind != "verbatim"][::20])


if __name__ == "__main__":
    main()
