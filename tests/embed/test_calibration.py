"""Calibration: the built-in model's cosines, and the rescaled calibration of other models."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import pytest

from embedding_server import EmbeddingServer, Fault, remote_embedder
from glossator.core.errors import EmbeddingModelUnavailable
from glossator.core.ports import no_progress
from glossator.embed import calibration
from glossator.embed.calibration import BUILT_IN_COSINES, ReferenceCosines
from glossator.embed.local import LocalEmbedder, built_in_model


def test_stored_cosines_match_the_built_in_model() -> None:
    embedder = LocalEmbedder(built_in_model())
    queries = [embedder.embed_query(question) for question in calibration.reference_questions()]
    passages = embedder.embed_chunks(calibration.reference_passages(), no_progress)
    cosines = calibration.measure_cosines(queries, passages)
    assert cosines.dense == pytest.approx(BUILT_IN_COSINES.dense, abs=0.005)
    assert cosines.sentence == pytest.approx(BUILT_IN_COSINES.sentence, abs=0.005)
    assert calibration.calibrate(BUILT_IN_COSINES) == embedder.calibration


def relevance(weights: Sequence[float], dense: float, sentence: float) -> float:
    """The logit of the relevance model, with all other features set to 1."""
    return weights[0] + weights[1] * dense + weights[2] * sentence + sum(weights[3:])


def test_rescaled_cosines_give_the_same_relevance() -> None:
    def squeezed(cosines: tuple[float, float], factor: float, offset: float) -> tuple[float, float]:
        return (offset + factor * cosines[0], offset + factor * cosines[1])

    base = calibration.built_in_calibration()
    rescaled = calibration.calibrate(
        ReferenceCosines(squeezed(BUILT_IN_COSINES.dense, 0.3, 0.6), squeezed(BUILT_IN_COSINES.sentence, 0.2, 0.7))
    )
    for dense, sentence in ((0.5, 0.4), (0.8, 0.7), (0.6, 0.9)):
        for original, other in ((base.book, rescaled.book), (base.selection, rescaled.selection)):
            expected = relevance(original, dense, sentence)
            assert relevance(other, 0.6 + 0.3 * dense, 0.7 + 0.2 * sentence) == pytest.approx(expected)
    assert rescaled.dense * 0.3 == pytest.approx(base.dense)
    assert rescaled.sentence * 0.2 == pytest.approx(base.sentence)


def test_calibration_is_measured_once(embedding_server: EmbeddingServer) -> None:
    embedder = remote_embedder(embedding_server)
    with ThreadPoolExecutor(4) as pool:
        results = set(pool.map(lambda _: embedder.calibration, range(4)))
    assert len(results) == 1
    assert [len(texts) for texts in embedding_server.texts] == [24, 96]
    assert embedder.calibration != calibration.built_in_calibration()


def test_failed_calibration_is_repeated(embedding_server: EmbeddingServer) -> None:
    embedder = remote_embedder(embedding_server)
    embedding_server.faults = [Fault(401)]
    with pytest.raises(EmbeddingModelUnavailable):
        _ = embedder.calibration
    assert embedder.calibration.book


def test_model_that_gives_equal_vectors_is_rejected(embedding_server: EmbeddingServer) -> None:
    embedding_server.change_vectors = lambda rows: [[1.0, 2.0, 3.0] for _ in rows]
    with pytest.raises(EmbeddingModelUnavailable, match="'words' does not distinguish answers from unrelated passages"):
        _ = remote_embedder(embedding_server).calibration
