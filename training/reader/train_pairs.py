"""Trains the encoder that reads a claim or a question together with its evidence.

python -m reader.train_pairs NAME --start RUN
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate

import torch
from torch import Tensor

from glossator.read.reader import PAIRS
from reader.base_weights import shipped_weights
from reader.data.examples import Example, Text, with_extras
from reader.data.pair_examples import Group, Pair, PairMaker, pair_batches, some_questions, with_pair_at
from reader.losses import CONTRADICTION_WEIGHT, binary_loss, margin_loss, token_loss
from reader.metrics import answer_figures, support_figures
from reader.model import Reader, half_precision
from reader.pairs import read_pairs
from reader.train import HOWTO, SHIPPED, Corpus, Run, options

STAGES = "public:0.45,written:1"
PAIRS_AT_ONCE = 24


class PairCorpus(Corpus):
    """The same data, in pairs."""

    def __init__(self, options: argparse.Namespace) -> None:
        super().__init__(options)
        self._maker = PairMaker(self.tokenizer)
        self.development_pairs = {
            "written": self._groups(e for e in self.development if not e.book.endswith(HOWTO)),
            "howto": self._groups(e for e in self.development if e.book.endswith(HOWTO)),
            "plain": self._groups(self.plain_development),
        }

    def _groups(self, examples: Iterable[Example]) -> list[Group]:
        found = []
        for example in examples:
            group = self._maker.group(example)
            kept = [n for n, (t, p) in enumerate(zip(example.texts, group, strict=True)) if self._usable(example, t, p)]
            place = {n: at for at, n in enumerate(kept)}
            found.append(tuple(Pair(group[n].source, with_pair_at(group[n].text, place)) for n in kept))
        return [group for group in found if group]

    def _usable(self, example: Example, text: Text, pair: Pair) -> bool:
        is_question = text.answered is not None
        return text.supported is not None or (is_question and self._maker.evidence_kept(example, text, pair))

    def stage(self, name: str) -> list[list[Group]]:  # type: ignore[override]
        options, random = self._options, self._random
        templates = self._reader.templates(options.templates, random.randrange(1 << 30))
        short = [*templates, *self.plain]
        if name == "public":
            examples = [*self.public, *short]
        elif name == "plain":
            examples = short
        else:
            written = list(with_extras(self.written, self.mutations, options.mutations, options.others, random))
            public = random.sample(self.public, int(len(self.public) * options.public))
            examples = [*written, *short, *self.plain, *public]
        groups = self._groups(some_questions(examples, options.questions, random))
        return pair_batches(groups, options.tokens, random)


def read(model: Reader, pairs: Sequence[Pair]) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """What the encoder says of pairs."""
    return read_pairs(model, [(pair.source, pair.text.ids[1:]) for pair in pairs])


def pair_losses(model: Reader, groups: Sequence[Group]) -> dict[str, Tensor]:
    """The weighted losses of a batch, by name; each counts by its share of the texts."""
    pairs = [pair for group in groups for pair in group]
    texts = [pair.text for pair in pairs]
    supported, contradicted, answered, unsupported = read(model, pairs)
    marked = [None if text.unsupported_tokens is None else text.unsupported_tokens[1:] for text in texts]
    differing = _differing(groups)
    found = {
        "support": _by_share(binary_loss, supported, [text.supported for text in texts]),
        "contradiction": _by_share(
            binary_loss, contradicted, [text.contradicted for text in texts], CONTRADICTION_WEIGHT
        ),
        "answer": _by_share(binary_loss, answered, [text.answered for text in texts]),
        "pair": margin_loss(supported, differing),
        "token": token_loss(unsupported, marked),
    }
    if found["pair"] is not None:
        found["pair"] = found["pair"] * (2 * len(differing) / len(texts))
    return {name: value for name, value in found.items() if value is not None}


def _by_share(
    loss: Callable[..., Tensor | None], logits: Tensor, labels: Sequence[bool | None], weight: float = 1.0
) -> Tensor | None:
    known = sum(label is not None for label in labels)
    found = loss(logits, labels, weight)
    return None if found is None else found * (known / len(labels))


def _differing(groups: Sequence[Group]) -> list[tuple[int, int]]:
    """The indexes of each false claim and of the true one that it differs from."""
    firsts = accumulate((len(group) for group in groups), initial=0)
    return [
        (first + n, first + pair.text.pair)
        for first, group in zip(firsts, groups, strict=False)
        for n, pair in enumerate(group)
        if pair.text.pair is not None
    ]


@torch.no_grad()
def evaluate_pairs(model: Reader, groups: Sequence[Group]) -> dict[str, float]:
    """Areas under the curve, and the shares shown and refused at fixed error rates."""
    was_training = model.training
    model.eval()
    pairs = sorted((pair for group in groups for pair in group), key=lambda pair: pair.tokens)
    support: list[tuple[bool, float]] = []
    answer: list[tuple[bool, float]] = []
    for first in range(0, len(pairs), PAIRS_AT_ONCE):
        some = pairs[first : first + PAIRS_AT_ONCE]
        with half_precision():
            supported, _, answered, _ = read(model, some)
        for n, pair in enumerate(some):
            if pair.text.supported is not None:
                support.append((pair.text.supported, float(supported[n])))
            if pair.text.answered is not None:
                answer.append((pair.text.answered, float(answered[n])))
    model.train(was_training)
    return support_figures(support) | answer_figures(answer)


class PairRun(Run):
    """A run over pairs."""

    def make_corpus(self) -> Corpus:
        return PairCorpus(self.options)

    def _start(self) -> None:
        """From an earlier run, of either encoder; or from the encoder for pairs in the package."""
        if self.options.start == SHIPPED:
            shipped = {name: torch.tensor(value) for name, value in shipped_weights(PAIRS).items()}
            self.model.load_state_dict(shipped, strict=False)  # it does not point at sentences
        else:
            super()._start()

    def losses(self, examples: Sequence[Group]) -> dict[str, Tensor]:  # type: ignore[override]
        return pair_losses(self.model, examples)

    def count(self, examples: Sequence[Group]) -> int:  # type: ignore[override]
        return sum(pair.tokens for group in examples for pair in group)

    def evaluate(self) -> dict[str, float]:
        averaged = Reader(self.options.layers)
        averaged.load_state_dict(self.average)
        found = {}
        for name, groups in self.corpus.development_pairs.items():  # type: ignore[attr-defined]
            found |= {f"{name}_{what}": value for what, value in evaluate_pairs(averaged, groups).items()}
        return found


def main() -> None:
    chosen = options(STAGES)
    torch.set_num_threads(chosen.threads)
    torch.manual_seed(chosen.seed)
    PairRun(chosen).train()


if __name__ == "__main__":
    main()
