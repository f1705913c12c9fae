"""What two processes hold that computed the same is alike as text, whatever else their objects know."""

from __future__ import annotations

import argparse
import array
import collections
import configparser
import enum
import functools
import logging
import os
import re
import tempfile
import threading
import types
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


def section(value: str, defaults: Any = None) -> configparser.ConfigParser:
    parser = configparser.ConfigParser(defaults, interpolation=None)
    parser.read_dict({"rates": {"EUR": value}})
    return parser


def rated(rate: float) -> Callable[[], float]:
    """A function that would be described by what it takes with it."""
    return lambda: rate


class Proxy:
    """Of a library: asking it for anything has effects."""

    def __getattr__(self, name: str) -> Any:
        raise AssertionError(name)


Proxy.__module__ = "a.library"

HOLDING: dict[str, Callable[[Any], Any]] = {
    "a partial's argument": lambda value: functools.partial(int, value),
    "a partial's keyword": lambda value: functools.partial(int, base=value),
    "a partial's function": lambda value: functools.partial(rated(value)),
    "a cached function": lambda value: functools.lru_cache(rated(value)),
    "a cached function in a list": lambda value: [functools.cache(rated(value))],
    "a namespace": lambda value: types.SimpleNamespace(rate=value),
    "arguments of a command": lambda value: argparse.Namespace(rate=value),
    "a deque": lambda value: collections.deque([value]),
    "an array of numbers": lambda value: array.array("d", [value]),
    "maps in a row": lambda value: collections.ChainMap({}, {"EUR": value}),
    "settings of a file": lambda value: section(str(value)),
    "settings of a file with an environment": lambda value: section(str(value), os.environ),
    "defaults of a file": lambda value: section("1", {"USD": str(value)}),
}


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
    "what asks nobody": Proxy,
    "a namespace in itself": lambda: [one := types.SimpleNamespace(), setattr(one, "one", one)],
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


@pytest.mark.parametrize("holding", HOLDING.values(), ids=HOLDING)
def test_what_an_object_of_the_standard_library_holds_is_compared(holding: Callable[[Any], Any]) -> None:
    assert text_of(holding(1)) == text_of(holding(1))
    assert text_of(holding(1)) != text_of(holding(2))


@pytest.mark.parametrize("kind", [staticmethod, classmethod, property, functools.cached_property])
def test_what_a_method_or_property_of_the_job_s_class_does_is_compared(kind: Callable[[Any], Any]) -> None:
    def made(rate: float) -> type:
        return type("Rates", (), {"__module__": __name__, "rate": kind(rated(rate))})

    assert text_of(made(1)) == text_of(made(1))
    assert text_of(made(1)) != text_of(made(2))


def test_it_does_not_matter_whether_equal_values_are_one_object() -> None:
    shared = {"a": [1, 2]}

    assert text_of([shared, shared]) == text_of([{"a": [1, 2]}, {"a": [1, 2]}])


def environments() -> list[Any]:
    return [os.environ, os.environ.copy(), collections.ChainMap({}, os.environ), section("1", os.environ)]


def test_the_environment_of_a_process_is_no_value_of_the_job(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONHASHSEED", "0")
    monkeypatch.setenv("HOSTNAME", "a")
    before = [text_of(one) for one in environments()]
    monkeypatch.setenv("HOSTNAME", "b")

    assert [text_of(one) for one in environments()] == before


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
