"""A pool of child processes that parse: a crash, timeout or excessive memory use affects only one file."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from queue import LifoQueue
from types import TracebackType
from typing import Any, Generic, TypeVar

from glossator.core.inference.cores import available_cores
from glossator.ingest.parsing.process import Item, ParserLimits, ParserProcess, invalid_result
from glossator.ingest.parsing.values import ParseContext, context_to_json

MAX_PROCESSES = 8

Result = TypeVar("Result")


class ParserPool(Generic[Result]):
    """Parses batches of items in child processes, which start when there is a batch for them; close it to end them.

    `parser` is a function, as `module:name`, that gets each item and the context and returns JSON; `convert` makes a
    result of that, and raises a ValueError, TypeError or KeyError if it is not what the parser should return.
    """

    def __init__(
        self,
        parser: str,
        context: ParseContext,
        convert: Callable[[Any], Result],
        limits: ParserLimits = ParserLimits(),  # noqa: B008 - frozen
        max_processes: int = MAX_PROCESSES,
    ) -> None:
        self._settings: dict[str, object] = {"parser": parser, "context": context_to_json(context)}
        self._convert = convert
        self._limits = limits
        processes = min(available_cores(), max_processes)
        self._executor = ThreadPoolExecutor(processes, "parser")
        self._idle: LifoQueue[ParserProcess | None] = LifoQueue()  # one that runs is taken before one is started
        for _ in range(processes):
            self._idle.put(None)
        self._closed = threading.Event()

    def submit(self, items: Sequence[tuple[object, int | None]]) -> list[Future[Result]]:
        """Begin to parse items in one process, given the size of the text of each, if it is known.

        Each has a result, or a SourceError that says why there is none.
        """
        futures: list[Future[Result]] = [Future() for _ in items]
        limited = [Item(value, self._limits.cpu_seconds_for(size)) for value, size in items]
        self._executor.submit(self._parse, deque(zip(limited, futures, strict=True)))
        return futures

    def close(self) -> None:
        """End all child processes."""
        self._closed.set()
        self._executor.shutdown(cancel_futures=True)
        while not self._idle.empty():
            if (process := self._idle.get()) is not None:
                process.stop()

    def __enter__(self) -> ParserPool[Result]:
        return self

    def __exit__(
        self, _type: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self.close()

    def _parse(self, waiting: deque[tuple[Item, Future[Result]]]) -> None:
        """Parse a batch; if the process ends, another one continues after the item that ended it."""
        while waiting and not self._closed.is_set():
            process = _running(self._idle.get())
            try:
                process = process or ParserProcess(self._settings, self._limits)
                process.request([item for item, _ in waiting])
                self._settle(*waiting.popleft(), process)
                while waiting and process.is_running and not self._closed.is_set():
                    self._settle(*waiting.popleft(), process)
            except Exception as error:  # whoever waits for a result must not wait forever
                while waiting:
                    waiting.popleft()[1].set_exception(error)
            finally:
                self._idle.put(_running(process))

    def _settle(self, item: Item, future: Future[Result], process: ParserProcess) -> None:
        try:
            future.set_result(self._convert(process.response(item)))
        except (ValueError, TypeError, KeyError):
            future.set_exception(invalid_result())
        except Exception as error:
            future.set_exception(error)


def _running(process: ParserProcess | None) -> ParserProcess | None:
    """The process, unless it has ended."""
    if process is not None and not process.is_running:
        process.stop()
        return None
    return process
