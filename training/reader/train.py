"""Trains a reader in stages; interrupted runs resume from the last checkpoint.

python -m reader.train NAME
"""

from __future__ import annotations

import argparse
import hashlib
import json
import time
from collections.abc import Iterator
from random import Random
from typing import Any

import torch

from glossator.read.reader import MODEL
from reader.base_weights import base_folder, read_weights, shipped_weights
from reader.data.examples import Example, ExampleReader, batches, with_extras
from reader.losses import Batch, losses
from reader.metrics import evaluate
from reader.model import Reader, half_precision
from reader.paths import DATA, MUTATIONS, OUTPUT, PUBLIC

DEVELOPMENT = frozenset({"astronomy", "cargo_howto", "curl", "fastapi", "flask_howto", "mypy_howto", "vagov"})
PLAIN_DEVELOPMENT = "operations"
"""Whole books, and short sources, that are never trained on: stages, weights and thresholds are chosen on them."""
HOWTO = "_howto"
"""How the names of files end that have only the questions of documentation users."""
SHIPPED = "shipped"
NOT_FOR_SHIPPING = ("function-words", "rte", "semantic-fragments", "sick")
"""Public sets without a licence, or with one that does not allow shipping what was trained on them."""
STAGES = "mutations:0.3,mixed:1,templates:1,mixed:1,written:1.2"
"""Easy things first: mutated sentences, then everything with public pairs, then what language models wrote."""
WARM_UP_STEPS = 60
AVERAGING = 0.995
"""The weights that are evaluated and shipped are a moving average over about 200 steps."""
MAX_NORM = 1.0
REPORT_STEPS = 20
LAYERS = 6


class Corpus:
    """All examples of a run, and the batches of its stages."""

    def __init__(self, options: argparse.Namespace) -> None:
        reader = self._reader = ExampleReader(base_folder() / "tokenizer.json")
        self.tokenizer = reader.tokenizer
        self._options, self._random = options, Random(options.seed)
        books = {path.name.split(".")[0]: reader.written(path) for path in sorted((DATA / "written").glob("*.gz"))}
        self.written = [e for book, examples in books.items() if book not in DEVELOPMENT for e in examples]
        self.development = [e for book in sorted(DEVELOPMENT) for e in books[book]][:: options.sample]
        plain = {path.name.split(".")[0]: reader.plain(path) for path in sorted((DATA / "plain").glob("*.gz"))}
        self.plain_development = plain.pop(PLAIN_DEVELOPMENT)[:: options.sample]
        self.plain = [e for examples in plain.values() for e in examples]
        self.mutations = reader.mutations(MUTATIONS)
        self.public = reader.public(PUBLIC, NOT_FOR_SHIPPING)

    def stage(self, name: str) -> list[list[Example]]:
        """One pass over the data of a stage; statements from templates are new in every pass."""
        options, random = self._options, self._random
        templates = self._reader.templates(options.templates, random.randrange(1 << 30)) if name != "mutations" else []
        if name == "templates":
            return batches(templates, options.tokens, random)
        if name == "public":
            return batches([*self.public, *templates, *self.plain], options.tokens, random)
        extras = (14, 4) if name == "mutations" else (options.mutations, options.others)
        written = self._half_howto() if name == "howto" else self.written
        examples = [*with_extras(written, self.mutations, *extras, random), *self.plain, *templates]
        if name == "mutations":
            examples = [_without_written_claims(example) for example in examples]
        if name == "mixed":
            examples += random.sample(self.public, int(len(self.public) * options.public))
        return batches([e for e in examples if e.texts], options.tokens, random)

    def _half_howto(self) -> list[Example]:
        """The questions that users of documentation ask, and as many passages of other books."""
        howto = [example for example in self.written if example.book.endswith(HOWTO)]
        others = [example for example in self.written if not example.book.endswith(HOWTO)]
        return [*howto, *self._random.sample(others, len(howto))]

    def plan(self) -> Iterator[list[Example]]:
        """The batches of all stages, in order; the same options give the same batches."""
        for stage in self._options.stages.split(","):
            name, _, passes = stage.partition(":")
            left = float(passes)
            while left > 0:
                made = self.stage(name)
                yield from made[: max(1, int(len(made) * min(1.0, left)))]
                left -= 1


def _without_written_claims(example: Example) -> Example:
    """Only what is easy: mutations, texts about other passages, and questions."""
    easy = tuple(
        t
        for t in example.texts
        if t.pair is None and (t.kind == "far" or t.unsupported_tokens or t.answered is not None)
    )
    return Example(example.book, example.number, example.ids, example.sentences, easy)


class Run:
    """A training run: the model, its optimiser and the average of its weights."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        self.folder = OUTPUT / options.name
        self.folder.mkdir(parents=True, exist_ok=True)
        self.corpus = self.make_corpus()
        self.plan = list(self.corpus.plan())
        self.model = Reader(options.layers)
        self._start()
        self._freeze()
        trained = [p for p in self.model.parameters() if p.requires_grad]
        decayed = [p for p in trained if p.ndim > 1]
        others = [p for p in trained if p.ndim <= 1]
        groups: list[dict[str, Any]] = [
            {"params": decayed, "weight_decay": 0.01},
            {"params": others, "weight_decay": 0.0},
        ]
        self.optimiser = torch.optim.AdamW(groups, lr=options.rate, betas=(0.9, 0.98), fused=True)
        self.average = {name: value.clone() for name, value in self.model.state_dict().items()}
        self.step = 0
        self._resume()
        self.began = time.monotonic()

    def make_corpus(self) -> Corpus:
        return Corpus(self.options)

    def losses(self, examples: list[Example]) -> dict[str, torch.Tensor]:
        return losses(self.model, Batch.of(examples))

    def count(self, examples: list[Example]) -> int:
        """The number of tokens of a batch."""
        return sum(example.tokens for example in examples)

    def _start(self) -> None:
        if self.options.start:
            self.model.load_state_dict(start_weights(self.options.start))
            return
        weights = read_weights(base_folder())
        layers = 1 + max(int(name.split(".")[2]) for name in weights if name.startswith("encoder.layer."))
        taken = [round((n + 1) * layers / self.options.layers) - 1 for n in range(self.options.layers)]
        self.model.start_from(weights, taken)

    def _freeze(self) -> None:
        """Word embeddings are never trained; freezing the lowest layers too saves time."""
        model, count = self.model, self.options.frozen
        below = (model.positions, model.types, model.norm, *model.layers[:count]) if count else ()
        for part in (model.words, *below):
            part.requires_grad_(False)
        for part in model.modules():
            if isinstance(part, torch.nn.Dropout):
                part.p = self.options.dropout

    def _resume(self) -> None:
        checkpoint = self.folder / "checkpoint.pt"
        if checkpoint.exists():
            saved = torch.load(checkpoint)
            self.model.load_state_dict(saved["model"])
            self.optimiser.load_state_dict(saved["optimiser"])
            self.average, self.step = saved["average"], saved["step"]
            self.log(resumed=self.step)

    def log(self, **values: object) -> None:
        line = json.dumps({"step": self.step, "time": round(time.time()), **values}, default=str)
        print(line, flush=True)
        with (self.folder / "log.jsonl").open("a") as file:
            file.write(line + "\n")

    def save(self) -> None:
        """Write the checkpoint and the averaged weights, each at once."""
        saved = {"model": self.model.state_dict(), "optimiser": self.optimiser.state_dict()}
        saved |= {"average": self.average, "step": self.step}
        for name, value in (("checkpoint.pt", saved), ("reader.pt", self.average)):
            torch.save(value, self.folder / f"{name}.part")
            (self.folder / f"{name}.part").replace(self.folder / name)

    def train(self) -> None:
        self.log(options=vars(self.options), data=fingerprint(), steps=len(self.plan))
        self.model.train()
        tokens, mean = 0, dict[str, float]()
        for examples in self.plan[self.step :]:
            parts = self._update(examples)
            tokens += self.count(examples)
            mean |= {name: 0.97 * mean.get(name, value) + 0.03 * value for name, value in parts.items()}
            if self.step % REPORT_STEPS == 0:
                speed = round(tokens / (time.monotonic() - self.began))
                self.log(tokens_per_second=speed, **{name: round(value, 4) for name, value in mean.items()})
            if self.step % self.options.evaluate == 0 or self.step == len(self.plan):
                self.log(**self.evaluate())
                self.save()

    def _update(self, examples: list[Example]) -> dict[str, float]:
        self.step += 1
        last = self.options.last_rate
        decay = last + (1 - last) * (1 - self.step / len(self.plan))
        for group in self.optimiser.param_groups:
            group["lr"] = self.options.rate * min(self.step / WARM_UP_STEPS, decay)
        with half_precision():
            parts = self.losses(examples)
        self.optimiser.zero_grad()
        torch.stack(list(parts.values())).sum().backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), MAX_NORM)
        self.optimiser.step()
        share = min(AVERAGING, self.step / (self.step + 9))
        trained = {name: p.detach() for name, p in self.model.named_parameters() if p.requires_grad}
        torch._foreach_lerp_([self.average[name] for name in trained], list(trained.values()), 1 - share)
        return {name: value.item() for name, value in parts.items()}

    def evaluate(self) -> dict[str, float]:
        """Figures of the averaged weights on the development books."""
        averaged = Reader(self.options.layers)
        averaged.load_state_dict(self.average)
        plain = evaluate(averaged, self.corpus.plain_development)
        return evaluate(averaged, self.corpus.development) | {f"plain_{name}": value for name, value in plain.items()}


def start_weights(start: str) -> dict[str, torch.Tensor]:
    """The weights that a run starts from: those in the package, or those of a run by its name."""
    if start == SHIPPED:
        return {name: torch.tensor(value) for name, value in shipped_weights(MODEL).items()}
    return torch.load(OUTPUT / start / "reader.pt")


def fingerprint() -> str:
    """A hash over the training data."""
    digest = hashlib.sha256()
    for path in sorted([*(DATA / "written").glob("*.gz"), *(DATA / "plain").glob("*.gz")]):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def options(stages: str = STAGES) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("name", help="names the run's folder")
    parser.add_argument("--stages", default=stages, help="stage:passes, in order")
    parser.add_argument("--start", default="", help=f"an earlier run to start from, or {SHIPPED}")
    parser.add_argument("--layers", type=int, default=LAYERS, help="of an encoder")
    parser.add_argument("--frozen", type=int, default=0, help="lowest layers that are not trained")
    parser.add_argument("--dropout", type=float, default=0.1)
    parser.add_argument("--rate", type=float, default=1.2e-4)
    parser.add_argument("--last-rate", type=float, default=0.05, help="share of the rate that is left at the end")
    parser.add_argument("--tokens", type=int, default=2200, help="a batch")
    parser.add_argument("--mutations", type=int, default=6, help="a passage")
    parser.add_argument("--others", type=int, default=4, help="texts about other passages, a passage")
    parser.add_argument("--templates", type=int, default=6000, help="statements from templates in a pass")
    parser.add_argument("--public", type=float, default=0.25, help="share of the public pairs in a mixed pass")
    parser.add_argument("--questions", type=float, default=0.5, help="share of the questions that are read in pairs")
    parser.add_argument("--evaluate", type=int, default=400, help="steps between evaluations")
    parser.add_argument("--sample", type=int, default=1, help="evaluate one in so many passages")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


def main() -> None:
    chosen = options()
    torch.set_num_threads(chosen.threads)
    torch.manual_seed(chosen.seed)
    Run(chosen).train()


if __name__ == "__main__":
    main()
