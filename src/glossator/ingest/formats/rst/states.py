"""State machines of docutils that create states lazily; each list item and each block has one."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from docutils.parsers.rst.states import NestedStateMachine


class _States(dict[str, Any]):
    """The states of a machine by name."""

    def __init__(self, machine: LazyStateMachine, classes: Iterable[type[Any]]) -> None:
        super().__init__()
        self._machine = machine
        self._classes = {state.__name__: state for state in classes}
        self.is_running = False

    def __missing__(self, name: str) -> Any:
        state = self[name] = self._classes[name](self._machine, self._machine.debug)
        if self.is_running:
            state.runtime_init()
        return state


class LazyStateMachine(NestedStateMachine):
    """Uses two or three of its thirteen states, whose transitions take longer to make than most text to parse."""

    states: _States

    def add_states(self, state_classes: Iterable[type[Any]]) -> None:
        """Remember the classes of the states."""
        self.states = _States(self, state_classes)

    def runtime_init(self) -> None:
        """Initialize the states that there are; later ones are initialized when they are made."""
        super().runtime_init()
        self.states.is_running = True
