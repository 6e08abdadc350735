"""What the reader is trained for: one loss for each kind of label."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F  # noqa: N812 - the name that PyTorch code uses
from torch import Tensor

from reader.data.examples import Example, Text
from reader.model import Reader, Reading, Tokens, lay_out

SMOOTHING = 0.03
CONTRADICTION_WEIGHT, PAIR_WEIGHT, TOKEN_WEIGHT, POINTER_WEIGHT = 0.3, 0.5, 0.5, 0.5
UNSUPPORTED_TOKEN_WEIGHT = torch.tensor(3.0)
"""Unsupported tokens are rare."""
PAIR_MARGIN = 1.0


@dataclass(frozen=True)
class Batch:
    """Examples, their texts, and the index of each text's example."""

    examples: Sequence[Example]
    texts: Sequence[Text]
    owner: Sequence[int]
    tokens: Tokens

    @classmethod
    def of(cls, examples: Sequence[Example]) -> Batch:
        texts = [text for example in examples for text in example.texts]
        owner = [n for n, example in enumerate(examples) for _ in example.texts]
        return cls(
            examples, texts, owner, lay_out([e.ids for e in examples], [[t.ids for t in e.texts] for e in examples])
        )


def losses(model: Reader, batch: Batch) -> dict[str, Tensor]:
    """The weighted losses of a batch, by name."""
    reading = model(batch.tokens)
    found = {
        "support": binary_loss(reading.supported, [text.supported for text in batch.texts]),
        "contradiction": binary_loss(
            reading.contradicted, [text.contradicted for text in batch.texts], CONTRADICTION_WEIGHT
        ),
        "answer": binary_loss(reading.answered, [text.answered for text in batch.texts]),
        "pair": margin_loss(reading.supported, _pairs(batch)),
        "token": token_loss(reading.unsupported_tokens, [text.unsupported_tokens for text in batch.texts]),
        "pointer": _pointers(reading, batch),
    }
    return {name: value for name, value in found.items() if value is not None}


def binary_loss(logits: Tensor, labels: Sequence[bool | None], weight: float = 1.0) -> Tensor | None:
    known = [n for n, label in enumerate(labels) if label is not None]
    if not known:
        return None
    targets = torch.tensor([1 - SMOOTHING if labels[n] else SMOOTHING for n in known])
    return weight * F.binary_cross_entropy_with_logits(logits[known], targets)


def _pairs(batch: Batch) -> list[tuple[int, int]]:
    first, pairs = 0, []
    for example in batch.examples:
        pairs += [(first + n, first + t.pair) for n, t in enumerate(example.texts) if t.pair is not None]
        first += len(example.texts)
    return pairs


def margin_loss(logits: Tensor, pairs: Sequence[tuple[int, int]]) -> Tensor | None:
    """A false claim should score below the true one that it differs from."""
    if not pairs:
        return None
    false, true = map(list, zip(*pairs, strict=True))
    return PAIR_WEIGHT * F.softplus(PAIR_MARGIN - (logits[true] - logits[false])).mean()


def token_loss(logits: Tensor, unsupported: Sequence[Sequence[bool] | None]) -> Tensor | None:
    """Tokens without support should be marked, where it is known which they are."""
    labels = torch.full(logits.shape, -1.0)
    for n, marked in enumerate(unsupported):
        if marked is not None:
            labels[n, : len(marked)] = torch.tensor(marked, dtype=torch.float)
    known = labels >= 0
    if not known.any():
        return None
    return TOKEN_WEIGHT * F.binary_cross_entropy_with_logits(
        logits[known], labels[known], pos_weight=UNSUPPORTED_TOKEN_WEIGHT
    )


def sentence_logits(reading: Reading, text: int, example: Example) -> Tensor:
    """How well each sentence of a passage answers a text."""
    return torch.stack([reading.pointers[text, first:last].mean() for first, last in example.sentences])


def _pointers(reading: Reading, batch: Batch) -> Tensor | None:
    found = []
    for n, text in enumerate(batch.texts):
        if text.evidence:
            chosen = F.log_softmax(sentence_logits(reading, n, batch.examples[batch.owner[n]]), dim=0)
            found.append(-torch.logsumexp(chosen[list(text.evidence)], dim=0))
    return POINTER_WEIGHT * torch.stack(found).mean() if found else None
