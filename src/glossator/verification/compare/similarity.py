"""Which word of a claim stands for which word of the evidence, in order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from glossator.verification.reading.lexicon import Unit, groups, opposites, units
from glossator.verification.reading.tokenizer import Token

_SKIP_CLAIM, _SKIP_SOURCE, _REPLACE, _UNLIKE = -0.45, -0.12, -0.3, -1.2
_MOST_CELLS = 60_000
_PREFIXES = frozenset(("un", "in", "im", "ir", "il", "non", "dis", "de", "mis", "anti", "counter", "under", "a"))
_LONG_VOWELS = str.maketrans("", "", "اویءئؤةه")
_ARTICLE, _ARABIC = "ال", "\u0600"
SAME = 0.5
"""From here on two words count as one."""


@dataclass(frozen=True, slots=True)
class Pair:
    """A claim's token and the source's token in its place; either may be missing."""

    claim: int | None
    source: int | None
    likeness: float


def alike(one: Token, other: Token) -> float:
    """How far two tokens say the same: 1 the same word, SAME and above one meaning, below 0 unlike."""
    if one.quantity or other.quantity:
        if one.quantity and other.quantity:
            return 1.0 if one.quantity.equals(other.quantity) else -0.1
        return 0.9 if one.form == other.form else _UNLIKE
    if one.family or other.family:
        return _marks(one, other)
    if one.form == other.form:
        return 1.0 if one.weight or other.weight else 0.5
    return _plain(one.stem, one.form, bool(one.weight), other.stem, other.form, bool(other.weight))


@lru_cache(1 << 18)
def _plain(stem: str, form: str, content: bool, other_stem: str, other_form: str, other_content: bool) -> float:
    """Two different words that mark nothing; the same pairs come up again and again."""
    if are_opposites(stem, other_stem) or _two_units(form, other_form):
        return 0.2
    if not content or not other_content:
        return _REPLACE if not content and not other_content else _UNLIKE
    return _content(stem, other_stem)


def _marks(one: Token, other: Token) -> float:
    """Marks of one family stand for each other, whether they agree or not."""
    if one.family == other.family:
        return 0.6 + 0.2 * (one.form == other.form) if one.kind == other.kind else 0.05
    if one.form == other.form:
        return 0.7 if "unit" in (one.family, other.family) else 0.3
    return _UNLIKE if one.weight or other.weight else -0.4


def clash(one: Token, other: Token) -> bool:
    """Whether two words exclude each other: opposites, or two units of one measure."""
    return are_opposites(one.stem, other.stem) or _two_units(one.form, other.form)


def _two_units(one: str, other: str) -> bool:
    if (first := _unit(one)) is None or (second := _unit(other)) is None:
        return False
    return first.dimension == second.dimension and first.factor != second.factor


@lru_cache(1 << 16)
def _unit(form: str) -> Unit | None:
    """The unit that a word names; a sign of one or two letters may be anything."""
    name = form.removeprefix(_ARTICLE)
    return units().get(name) if len(name) > 2 else None


def _content(one: str, other: str) -> float:
    if one == other:
        return 0.95
    if are_synonyms(one, other):
        return 0.85
    return 0.7 if _one_lemma(one, other) else _REPLACE


def are_synonyms(one: str, other: str) -> bool:
    """Whether two stems share a group."""
    known = groups()
    return one in known and other in known and not known[one].isdisjoint(known[other])


def are_opposites(one: str, other: str) -> bool:
    """Whether two stems oppose each other, by the list or by a prefix (stable, unstable)."""
    if other in opposites().get(one, ()):
        return True
    if one[-1:] != other[-1:]:
        return False
    short, long = (one, other) if len(one) < len(other) else (other, one)
    return len(short) > 3 and long.endswith(short) and long[: len(long) - len(short)] in _PREFIXES


def _one_lemma(one: str, other: str) -> bool:
    """Whether two stems look like forms of one word: they differ in a short ending only, or in the vowels of Arabic."""
    if one[0] > _ARABIC:
        root = arabic_root(one)
        return len(root) >= 3 and root == arabic_root(other)
    if one[:4] != other[:4]:
        return False
    differ = (place for place, (a, b) in enumerate(zip(one, other, strict=False)) if a != b)
    shared = next(differ, min(len(one), len(other)))
    longest = max(len(one), len(other))
    return shared >= 4 and longest - shared <= 3 and shared >= 0.7 * longest


@lru_cache(1 << 16)
def arabic_root(stem: str) -> str:
    """The consonants that the forms of an Arabic word share: without long vowels, and without what a verb or a noun
    of place, person or action puts before and after them."""
    root = stem.translate(_LONG_VOWELS)
    while len(root) > 3 and root[0] in "تنمس":
        root = root[1:]
    while len(root) > 3 and root[-1] in "تن":
        root = root[:-1]
    return root


def align(claim: Sequence[Token], source: Sequence[Token]) -> list[Pair]:
    """The best alignment in order; the source may go on before and after."""
    claim = claim[: max(1, _MOST_CELLS // max(1, len(source)))]
    rows, columns = len(claim), len(source)
    likeness = [[alike(c, s) for s in source] for c in claim]
    best = [0.0] * (columns + 1)
    moves: list[bytearray] = []
    for row in range(rows):
        best, move = _fill(best, likeness[row], _SKIP_CLAIM * (1.0 if claim[row].weight else 0.4), row == rows - 1)
        moves.append(move)
    return _trace(moves, likeness, rows, columns)


def _fill(above: list[float], likeness: list[float], skip: float, last: bool) -> tuple[list[float], bytearray]:
    """One row of the table: 0 is a pair, 1 leaves out the claim's token, 2 the source's."""
    over = 0.0 if last else _SKIP_SOURCE
    left = above[0] + skip
    row, move = [left], bytearray(b"\x01")
    for column, alike_here in enumerate(likeness):
        value, kind = above[column] + alike_here, 0
        if (down := above[column + 1] + skip) > value:
            value, kind = down, 1
        if (along := left + over) > value:
            value, kind = along, 2
        row.append(value)
        move.append(kind)
        left = value
    return row, move


def _trace(moves: list[bytearray], likeness: list[list[float]], row: int, column: int) -> list[Pair]:
    pairs: list[Pair] = []
    while row > 0:
        kind = moves[row - 1][column]
        if kind == 0:
            row, column = row - 1, column - 1
            pairs.append(Pair(row, column, likeness[row][column]))
        elif kind == 1:
            row -= 1
            pairs.append(Pair(row, None, 0.0))
        else:
            column -= 1
            pairs.append(Pair(None, column, 0.0))
    pairs += [Pair(None, source, 0.0) for source in range(column - 1, -1, -1)]
    return pairs[::-1]
