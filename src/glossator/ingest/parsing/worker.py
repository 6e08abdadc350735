"""The child process: parses one item at a time, within limits of time and memory."""

from __future__ import annotations

import gc
import json
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from typing import BinaryIO

from glossator.core.errors import SourceError
from glossator.ingest.parsing.values import ParseContext, context_from_json

LENGTH_BYTES = 8


def main() -> None:
    """Serve requests from standard input until it is closed; the first message has the limits and the context.

    A request is a list of items with their limits of time; each item gets a response.
    """
    requests, responses = sys.stdin.buffer, _own_output()
    settings = json.loads(read_message(requests) or b"{}")
    module, _, name = settings["parser"].partition(":")
    parse = getattr(import_module(module), name)
    context = context_from_json(settings["context"])
    _limit_memory(settings["max_memory_bytes"])
    gc.disable()  # a parsed page is a large cycle, and alive until it is done: looking for garbage before is in vain
    while (message := read_message(requests)) is not None:
        for item, max_cpu_seconds in json.loads(message):
            _limit_time(max_cpu_seconds)
            result = response(parse, item, context)
            gc.collect()  # before the response: a crash in it belongs to this item
            gc.freeze()  # what is left now are modules and caches, which need not be looked at again
            write_message(responses, result)


def read_message(stream: BinaryIO, max_bytes: int | None = None) -> bytes | None:
    """The next message; None at the end of the stream, a ValueError if it is too long."""
    header = stream.read(LENGTH_BYTES)
    if len(header) < LENGTH_BYTES:
        return None
    length = int.from_bytes(header, "big")
    if max_bytes is not None and length > max_bytes:
        raise ValueError("the message is too long")
    message = stream.read(length)
    return message if len(message) == length else None


def write_message(stream: BinaryIO, message: bytes) -> None:
    stream.write(len(message).to_bytes(LENGTH_BYTES, "big"))
    stream.write(message)
    stream.flush()


def _own_output() -> BinaryIO:
    """Standard output for responses alone: what a library prints goes to standard error."""
    responses = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    return responses


def response(parse: Callable[[object, ParseContext], str], item: object, context: ParseContext) -> bytes:
    """What a parser returns for an item, or why it fails."""
    try:
        return f'{{"value": {parse(item, context)}}}'.encode()
    except SourceError as error:
        failure = (error.message, error.remedy)
    except MemoryError:
        failure = ("reading it needs too much memory.", "Split the file.")
    except RecursionError:
        failure = ("it is nested too deeply.", "Simplify the file.")
    except Exception as error:  # a bug of a parser costs one file, not the ingest
        failure = (f"the file cannot be parsed ({type(error).__name__}).", "Check that it is not damaged.")
    return json.dumps({"error": failure}).encode()


def _limit_memory(max_bytes: int) -> None:
    """Limit the address space; no file is written, and no core dump."""
    with suppress(ImportError, ValueError, OSError):
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
        resource.setrlimit(resource.RLIMIT_AS, (max_bytes, max_bytes))


def _limit_time(seconds: int) -> None:
    """Limit the processor time of the next file; the system ends the process beyond it."""
    with suppress(ImportError, ValueError, OSError):
        import resource

        usage = resource.getrusage(resource.RUSAGE_SELF)
        hard = resource.getrlimit(resource.RLIMIT_CPU)[1]
        resource.setrlimit(resource.RLIMIT_CPU, (int(usage.ru_utime + usage.ru_stime) + seconds, hard))


if __name__ == "__main__":
    main()
