"""What two processes hold that computed the same is alike as text, whatever else their objects know."""

from __future__ import annotations

import collections
import enum
import functools
import logging
import os
import re
import tempfile
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, tzinfo
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tandem.engine.described import facts_of


class Zone(tzinfo):
    """Has no repr of its own."""


class Colour(enum.Enum):
    """Hashed by its name."""

    RED = 1


class Refresher(threading.Thread):
    """A job's own thread: its name and identity are drawn."""


class Lookup:
    """As jobs write them: plain values beside a client, a lock and a logger."""

    def __init__(self) -> None:
        self.by_name = {"a": 1}
        self.lock, self.log, self.sentinel = threading.Lock(), logging.getLogger("x"), object()
        self.client = socketless()
        self.worker = Refresher()


@dataclass
class Rule:
    """A dataclass with a compiled expression and a lock."""

    pattern: Any = field(default_factory=lambda: re.compile("a+"))
    lock: Any = field(default_factory=threading.Lock)


def socketless() -> Any:
    return collections.ChainMap({}, {})


MADE: dict[str, Callable[[], Any]] = {
    "an object of the job's": Lookup,
    "a dataclass": Rule,
    "a time in a zone without a repr": lambda: datetime(2026, 1, 2, tzinfo=Zone()),  # type: ignore[abstract]
    "a thread of the job's": Refresher,
    "a thread pool's lock": threading.RLock,
    "a member of an enumeration": lambda: Colour.RED,
    "a set of types": lambda: {int, str, Colour, Rule},
    "a partial": lambda: functools.partial(int, base=2),
    "a cached function": lambda: functools.lru_cache(lambda: object()),
    "a temporary folder": lambda: Path(tempfile.mkdtemp()) / "model.bin",
    "an array": lambda: np.arange(10.0),
    "a table": lambda: pd.DataFrame({"a": [1, 2], "b": ["x", None]}),
    "functions in a dict": lambda: {"up": lambda text: text.upper(), "down": str.lower},
    "many small objects": lambda: [[{"a": [index]}, Colour.RED, (index, {index})] for index in range(300)],
    "a list in itself": lambda: [one := [1], one.append(one)],
}


def text_of(value: Any) -> list[tuple[str, str]]:
    return list(facts_of([("value", "job.py:1", value)], lambda name: name == __name__).items())


@pytest.mark.parametrize("made", MADE.values(), ids=MADE)
def test_two_values_that_were_made_alike_are_alike(made: Callable[[], Any]) -> None:
    one, other = made(), made()

    assert text_of(one) == text_of(other)
    assert not re.search(r"0x[0-9a-f]{6}", str(text_of(one)))


def test_it_does_not_matter_whether_equal_values_are_one_object() -> None:
    shared = {"a": [1, 2]}

    assert text_of([shared, shared]) == text_of([{"a": [1, 2]}, {"a": [1, 2]}])


def test_the_environment_of_a_process_is_no_value_of_the_job(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONHASHSEED", "0")
    monkeypatch.setenv("HOSTNAME", "a")
    before = [text_of(os.environ), text_of(os.environ.copy())]
    monkeypatch.setenv("HOSTNAME", "b")

    assert [text_of(os.environ), text_of(os.environ.copy())] == before


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("a" * 1_000, "a" * 999 + "b"),
        ({"a": 1}, {"a": 2}),
        ([1, [2, [3]]], [1, [2, [4]]]),
        (b"a", b"b"),
        (list(range(5_000)), [*range(4_999), 0]),
        (np.arange(3), np.arange(4)),
        ({"x", "y"}, {"x", "z"}),
    ],
    ids=range(7),
)
def test_values_that_differ_are_different(one: Any, other: Any) -> None:
    assert text_of(one) != text_of(other)
