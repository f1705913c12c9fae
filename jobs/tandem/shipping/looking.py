"""Looking for a shorter base while following goes on: a store may take minutes to answer, and deltas do not wait for it."""

import threading
from collections.abc import Callable

from tandem.shipping.state import FollowedState

Spawn = Callable[[Callable[[], None]], None]
"""Calls what it is given: at once, or on a thread of its own."""


def on_a_thread(call: Callable[[], None]) -> None:
    """Nobody waits for it: a store that never answers leaves it behind."""
    threading.Thread(target=call, name="base", daemon=True).start()


class Look:
    """One look at a time, which may take as long as it likes.

    `spawn` : by what it is made.
    """

    def __init__(self, spawn: Spawn = on_a_thread) -> None:
        self._spawn = spawn
        self._lock = threading.Lock()
        self._found: FollowedState | None = None
        self._error: Exception | None = None
        self._is_unwanted = False
        self.is_under_way = False
        """From `begin` on, until `ended` has given what was found."""
        self._has_ended = False

    def begin(self, look: Callable[[], FollowedState | None]) -> None:
        """Look. There is no look under way."""
        self._has_ended = False
        self._spawn(lambda: self._run(look))
        self.is_under_way = True

    def ended(self) -> tuple[FollowedState | None] | None:
        """What the look has found, once; None while there is nothing to be said. Raises what the look has raised."""
        with self._lock:
            if not self._has_ended:
                return None
            self.is_under_way, self._has_ended = False, False
            found, error, self._found, self._error = self._found, self._error, None, None
        if error is not None:
            raise error
        return (found,)

    def give_up(self) -> None:
        """What is found from now on is removed."""
        with self._lock:
            self._is_unwanted = True
            found, self._found = self._found, None
        if found is not None:
            found.remove()

    def _run(self, look: Callable[[], FollowedState | None]) -> None:
        found, error = None, None
        try:
            found = look()
        except Exception as raised:
            error = raised
        with self._lock:
            is_wanted = not self._is_unwanted
            self._found, self._error, self._has_ended = found if is_wanted else None, error, True
        if found is not None and not is_wanted:
            found.remove()
