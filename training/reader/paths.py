"""Where training data is read from, and where runs are written to."""

from __future__ import annotations

import os
from pathlib import Path

DATA = Path(__file__).resolve().parents[1] / "data"
SHARED = Path(__file__).resolve().parents[3] / "shared" / "data" / "reader"
"""Material that is not part of the project: public pairs, and books to test on."""
OUTPUT = Path(os.environ.get("GLOSSATOR_TRAINING", Path.home() / ".cache" / "glossator-training"))
MUTATIONS = OUTPUT / "mutations.jsonl.gz"
PUBLIC = (SHARED / "public.jsonl.gz", OUTPUT / "further_public.jsonl.gz")
"""Public pairs, where they exist; training/data/README.md says what they consist of."""
