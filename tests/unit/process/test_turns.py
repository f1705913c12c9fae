"""Threads take short turns in the processes that epochs pass through."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pytest

import tandem.orderer.main
import tandem.replica.main
from tandem.process.info import ExitCode, kept_handlers
from tandem.process.turns import INTERVAL_S, take_short_turns


@pytest.fixture(autouse=True)
def kept() -> Iterator[None]:
    before, objects = sys.getswitchinterval(), gc.get_threshold()
    with kept_handlers():
        yield
    sys.setswitchinterval(before)
    gc.unfreeze()
    gc.set_threshold(*objects)


class Watched:
    """The life of a process: how long its turns are whenever it says that it does its work."""

    metrics_port = 0

    def __init__(self) -> None:
        self.turns_s: list[float] = []

    @contextmanager
    def announced(self, *_: object) -> Iterator[int]:
        yield 0

    def came_up(self) -> None:
        self.turns_s.append(sys.getswitchinterval())

    def ended(self, error: Exception, *_: object) -> ExitCode:
        if isinstance(error, EnoughError):
            return ExitCode.OK
        raise error

    def stopped(self) -> ExitCode:
        return ExitCode.OK


class EnoughError(Exception):
    """The test has seen what it looks for."""


def enough(*_: object) -> None:
    raise EnoughError


def nothing(*_: object) -> None:
    pass


def test_a_turn_is_much_shorter_than_pythons() -> None:
    take_short_turns()
    assert sys.getswitchinterval() == pytest.approx(INTERVAL_S)
    assert INTERVAL_S <= 0.001


def test_a_replica_takes_them_when_it_stands_by(monkeypatch: pytest.MonkeyPatch) -> None:
    life: Any = Watched()

    def stand_by(_stopping: object, came_up: Any) -> bool:
        came_up()
        return False

    main: Any = tandem.replica.main
    monkeypatch.setattr(
        main, "_setting", lambda *_: SimpleNamespace(incarnation="", reporter=SimpleNamespace(ends=nothing))
    )
    monkeypatch.setattr(main, "_watch_topics", nothing)
    monkeypatch.setattr(main, "Prepared", SimpleNamespace(of=nothing))
    monkeypatch.setattr(main, "warm_up", nothing)
    monkeypatch.setattr(main, "Warm", SimpleNamespace(of=lambda *_: SimpleNamespace(stand_by=stand_by)))
    manifest: Any = None
    assert main.run(manifest, "replica-0", life, ("", 0)) is ExitCode.OK
    assert life.turns_s == [pytest.approx(INTERVAL_S)]


def test_an_orderer_takes_them_when_it_orders(monkeypatch: pytest.MonkeyPatch) -> None:
    life: Any = Watched()
    main: Any = tandem.orderer.main
    monkeypatch.setattr(main, "_build", lambda *_: SimpleNamespace(loop=SimpleNamespace(step=enough)))
    manifest: Any = SimpleNamespace(whole="job", lane=None)
    assert main.run(manifest, "orderer-0", "replica-0", life, ("", 0)) is ExitCode.OK
    assert life.turns_s == [pytest.approx(INTERVAL_S)]
