"""The reader's network: it reads a passage once, and any number of short texts (claims, questions) against it.

Tokens of a text attend to the passage and to their own text; tokens of the passage attend to the passage only. So one
pass over a passage serves all texts about it: in training they share a batch, in use its keys and values are kept. All
tokens of a batch lie in one row, without padding: only attention needs rectangles.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
import torch.nn.functional as F  # noqa: N812 - the name that PyTorch code uses
from torch import Tensor, nn

from reader.base_weights import Weights

WIDTH, HEADS, INNER, VOCABULARY, MAX_POSITIONS = 384, 12, 1536, 30522, 512
MASKED = -1e4
DROPOUT = 0.1
LAYER_NAMES = {
    "mix": "attention.output.dense",
    "norm_attention": "attention.output.LayerNorm",
    "expand": "intermediate.dense",
    "contract": "output.dense",
    "norm_output": "output.LayerNorm",
}


class Tokens(NamedTuple):
    """The tokens of a batch in one row, and the indexes of each passage's and text's own, padded with -1.

    passages [example, token]; texts [example, text, token].
    """

    ids: Tensor
    types: Tensor
    positions: Tensor
    passages: Tensor
    texts: Tensor


Attention = Callable[[Tensor, Tensor | None], Tensor]
"""Attention over queries, keys and values of all tokens (and keys and values of earlier ones), for all tokens."""


def lay_out(passages: Sequence[Sequence[int]], texts: Sequence[Sequence[Sequence[int]]]) -> Tokens:
    """A batch of token ids as the network takes it; a text's positions follow those of its passage."""
    rows = [*passages, *(text for of_passage in texts for text in of_passage)]
    after = [len(p) for p, of_passage in zip(passages, texts, strict=True) for _ in of_passage]
    starts = [0] * len(passages) + after
    positions = [
        min(start + n, MAX_POSITIONS - 1) for start, row in zip(starts, rows, strict=True) for n in range(len(row))
    ]
    first = sum(map(len, passages))
    types = [0] * first + [1] * (len(positions) - first)
    ids = [token for row in rows for token in row]
    longest = max(len(text) for of_passage in texts for text in of_passage)
    of_texts = torch.full((len(passages), max(map(len, texts)), longest), -1)
    for n, of_passage in enumerate(texts):
        for m, text in enumerate(of_passage):
            of_texts[n, m, : len(text)] = torch.arange(first, first + len(text))
            first += len(text)
    return Tokens(*map(torch.tensor, (ids, types, positions)), _indexes(passages), of_texts)


def _indexes(rows: Sequence[Sequence[int]]) -> Tensor:
    indexes, first = torch.full((len(rows), max(map(len, rows))), -1), 0
    for n, row in enumerate(rows):
        indexes[n, : len(row)] = torch.arange(first, first + len(row))
        first += len(row)
    return indexes


class TogetherAttention:
    """Attention of passages and all their texts in one batch: the keys of a passage are laid out once for all texts."""

    def __init__(self, tokens: Tokens) -> None:
        passages, texts = tokens.passages, tokens.texts
        self.examples, self.count, self.length = texts.shape
        self.passages, self.texts = passages.clamp(min=0).flatten(), texts.clamp(min=0).flatten()
        self.passage_mask = torch.where(passages >= 0, 0.0, MASKED)[:, None, None, :]
        self.text_mask = torch.where(texts >= 0, 0.0, MASKED)[:, None, :, None, :]
        self.order = torch.cat([(passages >= 0).flatten(), (texts >= 0).flatten()]).nonzero().squeeze(1)

    def __call__(self, values: Tensor, past: Tensor | None) -> Tensor:
        query, key, value = self._heads(values, self.passages)
        to_passage = query @ key.transpose(2, 3) + self.passage_mask.to(query.dtype)
        of_passages = (to_passage.softmax(-1).to(value.dtype) @ value).transpose(1, 2).flatten(2)
        text_query, text_key, text_value = self._heads(values, self.texts)
        own_query, own_key, own_value = (
            part.unflatten(2, (self.count, self.length)) for part in (text_query, text_key, text_value)
        )
        to_own = (own_query @ own_key.transpose(3, 4) + self.text_mask.to(query.dtype)).flatten(2, 3)
        to_passage = text_query @ key.transpose(2, 3) + self.passage_mask.to(query.dtype)
        shares = torch.cat([to_passage, to_own], dim=3).softmax(-1).to(value.dtype)
        read, own = shares.split((to_passage.shape[3], self.length), dim=3)
        own = own.unflatten(2, (self.count, self.length)) @ own_value
        of_texts = (read @ value + own.flatten(2, 3)).transpose(1, 2).flatten(2)
        joined = torch.cat([of_passages.flatten(0, 1), of_texts.flatten(0, 1)])
        return joined.index_select(0, self.order)

    def _heads(self, values: Tensor, indexes: Tensor) -> list[Tensor]:
        """Queries, keys and values as [example, head, token, width of a head]; queries are scaled."""
        laid_out = values.index_select(0, indexes).view(self.examples, -1, 3, HEADS, WIDTH // HEADS)
        query, key, value = (part.transpose(1, 2) for part in laid_out.unbind(2))
        return [query * (WIDTH // HEADS) ** -0.5, key, value]


def attend_to_earlier(values: Tensor, past: Tensor | None) -> Tensor:
    """Attention of one sequence to itself and to tokens read earlier: a passage, or a text after its passage."""
    query, key, value = (part.unflatten(1, (HEADS, -1)).transpose(0, 1) for part in values.split(WIDTH, dim=1))
    if past is not None:
        key, value = torch.cat([past[0], key], dim=1), torch.cat([past[1], value], dim=1)
    shares = (query * (WIDTH // HEADS) ** -0.5) @ key.transpose(1, 2)
    return (shares.softmax(-1) @ value).transpose(0, 1).flatten(1)


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
        self.drop = nn.Dropout(DROPOUT)

    def forward(self, inputs: Tensor, attend: Attention, past: Tensor | None) -> tuple[Tensor, Tensor]:
        """The tokens' next states, and their keys and values; `past` are keys and values of tokens read earlier."""
        values = self.attention(inputs)
        hidden = self.norm_attention(inputs + self.drop(self.mix(attend(values, past))))
        states = self.norm_output(hidden + self.drop(self.contract(F.gelu(self.expand(hidden)))))
        return states, values[:, WIDTH:]


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
        hidden, _ = self.encode(tokens, TogetherAttention(tokens))
        with torch.autocast("cpu", enabled=False):
            return self._read(hidden.float(), tokens)

    def _read(self, hidden: Tensor, tokens: Tokens) -> Reading:
        present = tokens.texts >= 0
        of_texts = hidden[tokens.texts[present.any(2)].clamp(min=0)]
        present = present[present.any(2)]
        targets = self.point_to(hidden)[tokens.passages.clamp(min=0)]
        owner = (tokens.texts[:, :, 0] >= 0).nonzero()[:, 0]
        sources = self.point_from(mean(of_texts, present))
        pointers = (targets[owner] @ sources[:, :, None]).squeeze(-1)
        return Reading(*self.judge(of_texts, present), pointers / WIDTH**0.5)

    def encode(self, tokens: Tokens, attend: Attention, past: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """The states of all tokens after the last layer, and their keys and values by layer."""
        hidden = self.norm(self.words(tokens.ids) + self.positions(tokens.positions) + self.types(tokens.types))
        kept = []
        for number, layer in enumerate(self.layers):
            hidden, keys_values = layer(hidden, attend, None if past is None else past[number])
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


def half_precision() -> torch.autocast:
    """Matrix products in bfloat16, which recent CPUs compute much faster."""
    return torch.autocast("cpu", dtype=torch.bfloat16)


def mean(texts: Tensor, present: Tensor) -> Tensor:
    """The mean of each text's tokens."""
    mask = present[..., None]
    return (texts * mask).sum(1) / mask.sum(1)


def _pool(texts: Tensor, present: Tensor) -> Tensor:
    """The first token, the mean and the maximum of each text."""
    highest = texts.masked_fill(~present[..., None], MASKED).amax(1)
    return torch.cat([texts[:, 0], mean(texts, present), highest], dim=1)
