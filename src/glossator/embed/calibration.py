"""Relevance calibration: fitted for the built-in model, rescaled for others by their cosines on reference pairs."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources

import numpy as np

from glossator.core.errors import EmbeddingModelUnavailable
from glossator.core.ports import Calibration, Progress, no_progress
from glossator.core.text.sentences import split_sentences
from glossator.core.types import Chunk, Embedding, QueryEmbedding

REFERENCE_PAIRS = (
    (
        "Photosynthesis",
        "Where does the oxygen that plants give off come from?",
        "Leaves catch light with chlorophyll. The oxygen that a plant releases comes from water, which is split by the"
        " energy of the light. The hydrogen goes into sugar together with carbon dioxide from the air.",
    ),
    (
        "Roman aqueducts",
        "How did the Romans keep water flowing without pumps?",
        "An aqueduct carried water to the city over many miles. The channel fell a little all the way, so that the"
        " water ran by its own weight. Arches bridged the valleys, and tunnels went through the hills.",
    ),
    (
        "Compilers",
        "Why does a compiler turn a program into an intermediate form first?",
        "A parser reads the source and builds a tree. Translating the tree into an intermediate form lets the same"
        " optimisations serve many languages and many processors. The back end then emits machine code.",
    ),
    (
        "Interest rates",
        "What happens to bond prices when rates go up?",
        "A central bank sets the rate at which banks borrow. When interest rates rise, the bonds that are already in"
        " circulation lose value, because new ones pay more. Short bonds lose less than long ones.",
    ),
    (
        "Vaccines",
        "Why do some vaccines need a second dose?",
        "A vaccine shows the body a harmless part of a germ. The first dose leaves only a few memory cells, and a"
        " booster weeks later multiplies them so that protection lasts. Side effects pass within days.",
    ),
    (
        "Volcanoes",
        "what makes some eruptions explosive and others gentle",
        "Magma rises because it is lighter than the rock around it. Thick magma traps its gases until they burst out,"
        " while runny magma lets them escape quietly. Ash may travel around the globe.",
    ),
    (
        "Chess openings",
        "Which squares should I fight for in the first moves?",
        "Develop knights before bishops, and castle early. The four squares in the middle of the board matter most at"
        " the start, for pieces placed there reach both wings. Do not move the same piece twice.",
    ),
    (
        "Glaciers",
        "How can solid ice flow down a valley?",
        "Snow that outlasts many summers is pressed into ice. Under its own weight the ice deforms like stiff dough and"
        " also slides over its wet bed. Where it melts it leaves ridges of rubble.",
    ),
    (
        "The violin",
        "What does the sound post inside a violin do?",
        "The top is spruce and the back is maple. A small wooden post between top and back passes vibrations from one"
        " to the other and holds the top up against the strings. It is not glued.",
    ),
    (
        "Brewing coffee",
        "My coffee tastes bitter; what should I change?",
        "Grind the beans just before use. Bitterness comes from extracting too much: use a coarser grind, cooler water"
        " or less time. A sour cup asks for the opposite.",
    ),
    (
        "Honeybees",
        "How do bees tell each other where the flowers are?",
        "A colony holds one queen and thousands of workers. A forager that comes home dances on the comb, and the angle"
        " and length of her run give direction and distance. Drones appear in spring.",
    ),
    (
        "Railway signals",
        "Why can two trains not be in the same block?",
        "A line is divided into blocks, each guarded by a signal. The signal stays red while a train is inside, so that"
        " the one behind always has room to stop. Axle counters tell when a block is clear.",
    ),
    (
        "Domain names",
        "How long may a resolver keep an address before it asks again?",
        "Names are resolved from the root downwards. Every record carries a time to live, the number of seconds for"
        " which a resolver may answer from its cache. Lower it before you move a server.",
    ),
    (
        "Earthquakes",
        "How do seismologists find out where a quake began?",
        "Rock on both sides of a fault sticks and then slips. The delay between the fast and the slow waves gives the"
        " distance from a station, and three stations fix the place. Aftershocks follow for weeks.",
    ),
    (
        "Diabetes",
        "What does insulin do in the body?",
        "The pancreas watches the sugar in the blood. Insulin tells muscle and fat cells to take up glucose, which"
        " lowers the level in the blood. In type 1 diabetes the cells that make it are destroyed.",
    ),
    (
        "Papermaking",
        "Why does old newsprint turn yellow?",
        "Fibres are beaten, spread on a screen and pressed. Cheap paper keeps the lignin of the wood, which darkens in"
        " light and air. Paper made of cotton stays white for centuries.",
    ),
    (
        "Whales",
        "How can a sperm whale stay under water for an hour?",
        "Sperm whales hunt squid in the deep. Their muscles store oxygen in large amounts of myoglobin, and on a dive"
        " the heart slows and blood goes to the brain alone. They rest at the surface afterwards.",
    ),
    (
        "Copyright",
        "Do I have to register a photo to own the rights in it?",
        "Copyright protects works, not ideas. It arises by itself when a work is made, and no registration is needed."
        " In most countries it ends seventy years after the author's death.",
    ),
    (
        "Concrete",
        "Why must fresh concrete be kept wet?",
        "Cement, sand, gravel and water are mixed. The cement hardens by binding water, so a surface that dries out in"
        " the first days stays weak and cracks. Steel bars take up the tension.",
    ),
    (
        "Database indexes",
        "When does adding an index make things slower?",
        "An index lets the database find rows without reading the whole table. Each insert and update must also change"
        " every index, so a table that is mostly written suffers from many of them. Drop those that no query uses.",
    ),
    (
        "Sleep",
        "What is the use of dreaming sleep for memory?",
        "A night has four or five cycles. In the phase with rapid eye movements the brain seems to strengthen what was"
        " learned during the day. Deep sleep comes mostly in the first half of the night.",
    ),
    (
        "Elections",
        "How are seats shared out under proportional representation?",
        "Voters choose between lists of candidates. Every party receives seats in proportion to its share of the votes,"
        " often only if it passes a threshold. Governments are then usually coalitions.",
    ),
    (
        "Caching in HTTP",
        "How does a browser check that its copy is still fresh without loading it again?",
        "A response says how long it may be kept. After that time the browser sends the stored tag back, and the server"
        " answers 304 with an empty body if nothing has changed. Private pages should say so.",
    ),
    (
        "Sailing",
        "How can a boat sail towards the wind?",
        "A sail works like a wing. With the keel to stop it from drifting sideways, the boat is drawn forward at an"
        " angle to the wind, and it zigzags to reach a place upwind. Reef early when it blows.",
    ),
)
"""A heading, a question, and a passage that answers it, on topics that no calibration set covers."""

MIN_GAP = 0.02
"""The mean cosine of answering passages must exceed that of others by this much for a model to be usable."""


@dataclass(frozen=True, slots=True)
class ReferenceCosines:
    """Mean cosines of questions with passages that do not answer them, and with the one that does.

    `dense` compares whole passages, `sentence` the nearest sentence of each.
    """

    dense: tuple[float, float]
    sentence: tuple[float, float]

    @property
    def distinguishes_answers(self) -> bool:
        """Whether answering passages are clearly nearer than the rest."""
        return min(high - low for low, high in (self.dense, self.sentence)) >= MIN_GAP


BUILT_IN_COSINES = ReferenceCosines(dense=(0.4429, 0.6998), sentence=(0.3826, 0.6592))
"""Those of the built-in model, measured by

    .venv/bin/python -c "from glossator.embed import calibration, local; from glossator.core.ports import no_progress
    e = local.LocalEmbedder(local.built_in_model())
    queries = [e.embed_query(q) for q in calibration.reference_questions()]
    chunks = e.embed_chunks(calibration.reference_passages(), no_progress)
    print(calibration.measure_cosines(queries, chunks))"
"""


def reference_questions() -> list[str]:
    """The questions of the reference pairs."""
    return [question for _, question, _ in REFERENCE_PAIRS]


def reference_passages() -> list[Chunk]:
    """The passages of the reference pairs, as chunks."""
    return [
        Chunk("", "", "", heading, (), heading, (heading,), "", 0, 0, len(text), text, tuple(split_sentences(text)))
        for heading, _, text in REFERENCE_PAIRS
    ]


def measure_cosines(queries: Sequence[QueryEmbedding], passages: Sequence[Embedding]) -> ReferenceCosines:
    """The cosines of a model that embedded the reference questions and passages."""
    dense = [[float(query.vector @ passage.vector) for passage in passages] for query in queries]
    nearest = [[float((p.sentences.astype(np.float32) @ q.sentence).max()) for p in passages] for q in queries]
    return ReferenceCosines(_means(dense), _means(nearest))


def _means(rows: list[list[float]]) -> tuple[float, float]:
    """The mean off the diagonal, and on it."""
    cosines = np.array(rows)
    diagonal = np.eye(len(cosines), dtype=bool)
    return float(cosines[~diagonal].mean()), float(cosines[diagonal].mean())


def measure_calibration(
    embed_query: Callable[[str], QueryEmbedding],
    embed_chunks: Callable[[Sequence[Chunk], Progress], Sequence[Embedding]],
    model: str,
) -> Calibration:
    """The calibration of a model by its cosines on the reference pairs; one that cannot tell them apart is refused."""
    queries = [embed_query(question) for question in reference_questions()]
    cosines = measure_cosines(queries, embed_chunks(reference_passages(), no_progress))
    if not cosines.distinguishes_answers:
        raise EmbeddingModelUnavailable(
            f"{model} does not distinguish answers from unrelated passages.",
            "Set GLOSSATOR_EMBEDDER to an embedding model.",
        )
    return calibrate(cosines)


@cache
def built_in_calibration() -> Calibration:
    """The calibration of the built-in model, made by bench/fit/calibrate.py."""
    values = json.loads(resources.files("glossator.embed").joinpath("calibration.json").read_text("utf-8"))
    return Calibration(**(values | {name: tuple(values[name]) for name in ("book", "selection")}))


def calibrate(cosines: ReferenceCosines) -> Calibration:
    """The built-in calibration, rescaled for a model with other cosines.

    A linear map takes that model's cosines to the built-in model's. It is folded into the weights, as both are linear.
    """
    base = built_in_calibration()
    dense = _linear_map(cosines.dense, BUILT_IN_COSINES.dense)
    sentence = _linear_map(cosines.sentence, BUILT_IN_COSINES.sentence)

    def rescaled(weights: tuple[float, ...]) -> tuple[float, ...]:
        bias, dense_weight, sentence_weight, *rest = weights
        bias += dense_weight * dense[1] + sentence_weight * sentence[1]
        return (bias, dense_weight * dense[0], sentence_weight * sentence[0], *rest)

    return Calibration(
        base.dense * dense[0], base.sentence * sentence[0], base.sparse, rescaled(base.book), rescaled(base.selection)
    )


def _linear_map(source: tuple[float, float], target: tuple[float, float]) -> tuple[float, float]:
    """Slope and offset of the line through two points: from the numbers of `source` to those of `target`."""
    slope = (target[1] - target[0]) / (source[1] - source[0])
    return slope, target[0] - slope * source[0]
