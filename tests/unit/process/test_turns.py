"""Threads take short turns in the processes that epochs pass through."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import tandem.orderer.main
import tandem.replica.main
from tandem.process.turns import INTERVAL_S, take_short_turns


@pytest.fixture(autouse=True)
def kept() -> Iterator[None]:
    before = sys.getswitchinterval()
    yield
    sys.setswitchinterval(before)


def test_a_turn_is_much_shorter_than_pythons() -> None:
    take_short_turns()
    assert sys.getswitchinterval() == pytest.approx(INTERVAL_S)
    assert INTERVAL_S <= 0.001


@pytest.mark.parametrize("module", [tandem.replica.main, tandem.orderer.main])
def test_replicas_and_orderers_take_them(module: object) -> None:
    source = Path(str(getattr(module, "__file__", ""))).read_text()
    assert "    take_short_turns()\n" in source
