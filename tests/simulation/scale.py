"""The product's long times, and what is random in it, scaled down to a simulated run; put back afterwards."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import count
from types import SimpleNamespace
from typing import Any

from simulation.slots import SimulatedMember
from tandem.coordination import slots
from tandem.core import lag
from tandem.snapshots import restoring, snapshotter, store, usable

LEASE_MS = 60
LOOK_EVERY_MS = 10
LOOK_S = 0.2
IDLE_MS = 50.0


class _Silent:
    """Logs nothing."""

    def __getattr__(self, _: str) -> Callable[..., None]:
        return lambda *_args, **_fields: None


def _one_by_one(function: Callable[[Any], None], items: Iterable[Any], _workers: int) -> None:
    for item in list(items):
        function(item)


@contextmanager
def scaled_down() -> Iterator[None]:
    """As long as this is entered snapshots and slots keep simulated time, one thread, names by number, and quiet."""
    numbers = count()
    names = SimpleNamespace(uuid4=lambda: SimpleNamespace(hex=f"{next(numbers):08x}"))
    instead: tuple[tuple[Any, str, Any], ...] = (
        (snapshotter, "_LEASE_MS", LEASE_MS),
        (snapshotter, "_log", _Silent()),
        (store, "_LOOK_EVERY_MS", LOOK_EVERY_MS),
        (store, "_log", _Silent()),
        (store, "for_each", _one_by_one),
        (restoring, "for_each", _one_by_one),
        (store, "uuid", names),
        (usable, "_log", _Silent()),
        (slots, "Member", SimulatedMember),
        (slots, "_LOOK_S", LOOK_S),
        (slots, "_log", _Silent()),
        (slots, "uuid", names),
        (lag, "_IDLE_MS", IDLE_MS),
    )
    kept = [(module, name, getattr(module, name)) for module, name, _ in instead]
    for module, name, value in instead:
        setattr(module, name, value)
    try:
        yield
    finally:
        for module, name, value in kept:
            setattr(module, name, value)
