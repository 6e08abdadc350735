"""The reader's network: it reads a passage once, and any number of short texts (claims, questions) against it.

Tokens of a text attend to the passage and to their own text; tokens of the passage attend to the passage only. So one
pass over a passage serves all texts about it: in training they share a batch, in use its keys and values are kept. All
tokens of a batch lie in one row, without padding: only attention needs rectangles.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
import torch.nn.functional as F  # noqa: N812 - the name that PyTorch code uses
from torch import Tensor, nn

from reader.base_weights import Weights

WIDTH, HEADS, INNER, VOCABULARY, MAX_POSITIONS = 384, 12, 1536, 30522, 512
DROPOUT = 0.1
MASKED = -1e4
LAYER_NAMES = {
    "mix": "attention.output.dense",
    "norm_attention": "attention.output.LayerNorm",
    "expand": "intermediate.dense",
    "contract": "output.dense",
    "norm_output": "output.LayerNorm",
}


class Tokens(NamedTuple):
    """The tokens of a batch in one row, and the indexes of each passage's and text's own, padded with -1."""

    ids: Tensor
    types: Tensor
    positions: Tensor
    passages: Tensor
    texts: Tensor
    owner: Tensor
    """The index of each text's passage."""


class Group(NamedTuple):
    """Sequences of one kind: indexes of the tokens of each and of those it attends to, padded with -1."""

    tokens: Tensor
    readable: Tensor


def lay_out(passages: Sequence[Sequence[int]], texts: Sequence[Sequence[int]], owner: Sequence[int]) -> Tokens:
    """A batch of token ids as the network takes it; a text's positions follow those of its passage."""
    rows = [*passages, *texts]
    starts = [0] * len(passages) + [len(passages[n]) for n in owner]
    positions = [
        min(start + n, MAX_POSITIONS - 1) for start, row in zip(starts, rows, strict=True) for n in range(len(row))
    ]
    types = [0] * sum(map(len, passages)) + [1] * sum(map(len, texts))
    ids = [token for row in rows for token in row]
    first = sum(map(len, passages))
    return Tokens(
        *map(torch.tensor, (ids, types, positions)), _indexes(passages, 0), _indexes(texts, first), torch.tensor(owner)
    )


def _indexes(rows: Sequence[Sequence[int]], first: int) -> Tensor:
    indexes = torch.full((len(rows), max(map(len, rows))), -1)
    for n, row in enumerate(rows):
        indexes[n, : len(row)] = torch.arange(first, first + len(row))
        first += len(row)
    return indexes


@dataclass(frozen=True)
class Reading:
    """What the reader says of each text, as logits, and of each of its tokens."""

    supported: Tensor
    contradicted: Tensor
    answered: Tensor
    unsupported_tokens: Tensor
    pointers: Tensor
    """For each text and token of its passage: how well the token's sentence answers the text."""


class Layer(nn.Module):
    """One transformer layer."""

    def __init__(self) -> None:
        super().__init__()
        self.attention = nn.Linear(WIDTH, 3 * WIDTH)
        self.mix = nn.Linear(WIDTH, WIDTH)
        self.norm_attention, self.norm_output = (nn.LayerNorm(WIDTH, eps=1e-12) for _ in range(2))
        self.expand, self.contract = nn.Linear(WIDTH, INNER), nn.Linear(INNER, WIDTH)
        self.dropout = nn.Dropout(DROPOUT)

    def forward(self, inputs: Tensor, groups: Sequence[Group], past: Tensor | None) -> tuple[Tensor, Tensor]:
        """The tokens' next states, and their keys and values; `past` are keys and values of tokens read earlier."""
        query, keys_values = self.attention(inputs).split((WIDTH, 2 * WIDTH), dim=1)
        known = keys_values if past is None else torch.cat([past, keys_values])
        joined = torch.cat([_attend(query, known, group)[group.tokens >= 0] for group in groups])
        hidden = self.norm_attention(inputs + self.dropout(self.mix(joined)))
        return self.norm_output(hidden + self.dropout(self.contract(F.gelu(self.expand(hidden))))), keys_values


def _attend(query: Tensor, known: Tensor, group: Group) -> Tensor:
    key, value = known.split(WIDTH, dim=1)
    rows = [
        _heads(values, indexes)
        for values, indexes in ((query, group.tokens), (key, group.readable), (value, group.readable))
    ]
    mask = torch.where(group.readable >= 0, 0.0, MASKED)[:, None, None, :]
    return F.scaled_dot_product_attention(*rows, attn_mask=mask).transpose(1, 2).flatten(2)


def _heads(values: Tensor, indexes: Tensor) -> Tensor:
    """The values at rows of indexes as [row, head, token, width of a head]."""
    return values.view(-1, HEADS, WIDTH // HEADS)[indexes.clamp(min=0)].transpose(1, 2)


class Reader(nn.Module):
    """The encoder with its heads: support, contradiction, answer, unsupported words, and the sentence that answers."""

    def __init__(self, layers: int) -> None:
        super().__init__()
        self.words = nn.Embedding(VOCABULARY, WIDTH)
        self.positions = nn.Embedding(MAX_POSITIONS, WIDTH)
        self.types = nn.Embedding(2, WIDTH)
        self.norm = nn.LayerNorm(WIDTH, eps=1e-12)
        self.layers = nn.ModuleList(Layer() for _ in range(layers))
        self.support, self.contradiction, self.answer = (nn.Linear(3 * WIDTH, 1) for _ in range(3))
        self.unsupported_token = nn.Linear(WIDTH, 1)
        self.point_from, self.point_to = nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, WIDTH)
        for pointer in (self.point_from, self.point_to):  # begin with plain similarity
            nn.init.eye_(pointer.weight)
            nn.init.zeros_(pointer.bias)

    def forward(self, tokens: Tokens) -> Reading:
        """Read texts against their passages, all at once."""
        passages, texts, owner = tokens.passages, tokens.texts, tokens.owner
        readable = torch.cat([passages[owner], texts], dim=1)
        hidden, _ = self.encode(tokens, (Group(passages, passages), Group(texts, readable)))
        of_texts, targets = hidden[texts.clamp(min=0)], self.point_to(hidden)[passages.clamp(min=0)][owner]
        pointers = (targets @ self.point_from(mean(of_texts, texts >= 0))[:, :, None]).squeeze(-1)
        return Reading(*self.judge(of_texts, texts >= 0), pointers / WIDTH**0.5)

    def encode(self, tokens: Tokens, groups: Sequence[Group], past: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """The states of all tokens after the last layer, and their keys and values by layer."""
        hidden = self.norm(self.words(tokens.ids) + self.positions(tokens.positions) + self.types(tokens.types))
        kept = []
        for number, layer in enumerate(self.layers):
            hidden, keys_values = layer(hidden, groups, None if past is None else past[number])
            kept.append(keys_values)
        return hidden, torch.stack(kept)

    def judge(self, texts: Tensor, present: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Logits of support, contradiction and answer for each text, and of missing support for each token."""
        pooled = _pool(texts, present)
        heads = (self.support(pooled), self.contradiction(pooled), self.answer(pooled), self.unsupported_token(texts))
        supported, contradicted, answered, unsupported_tokens = (values.squeeze(-1) for values in heads)
        return supported, contradicted, answered, unsupported_tokens

    def start_from(self, weights: Weights, layers: Sequence[int]) -> None:
        """Copy a pretrained encoder: these of its layers."""
        named = {"words": "word_embeddings", "positions": "position_embeddings", "types": "token_type_embeddings"}
        state = {
            f"{mine}.weight": torch.tensor(weights[f"embeddings.{theirs}.weight"]) for mine, theirs in named.items()
        }
        for part in ("weight", "bias"):
            state[f"norm.{part}"] = torch.tensor(weights[f"embeddings.LayerNorm.{part}"])
            for to, taken in enumerate(layers):
                source = f"encoder.layer.{taken}"
                for mine, theirs in LAYER_NAMES.items():
                    state[f"layers.{to}.{mine}.{part}"] = torch.tensor(weights[f"{source}.{theirs}.{part}"])
                joint = [
                    torch.tensor(weights[f"{source}.attention.self.{n}.{part}"]) for n in ("query", "key", "value")
                ]
                state[f"layers.{to}.attention.{part}"] = torch.cat(joint)
        self.load_state_dict(state, strict=False)


def mean(texts: Tensor, present: Tensor) -> Tensor:
    """The mean of each text's tokens."""
    mask = present[..., None]
    return (texts * mask).sum(1) / mask.sum(1)


def _pool(texts: Tensor, present: Tensor) -> Tensor:
    """The first token, the mean and the maximum of each text."""
    highest = texts.masked_fill(~present[..., None], MASKED).amax(1)
    return torch.cat([texts[:, 0], mean(texts, present), highest], dim=1)
