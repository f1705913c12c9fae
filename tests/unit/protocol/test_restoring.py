"""Where a replica takes its state from: what is near and cheap first, and never what is after the last marker."""

from __future__ import annotations

import pytest

from tandem.protocol.restoring import Source, sources

F, S, M = Source.FOLLOWED, Source.STORE, Source.MACHINE


@pytest.mark.parametrize(
    ("local", "followed", "has_store", "expected"),
    [
        (-1, -1, False, (F, M)),
        (-1, -1, True, (S, M)),
        (995, -1, True, (M,)),
        (600, -1, True, (S, M)),
        (600, -1, False, (M,)),
        (995, 991, True, (F, M)),
        (995, 990, True, (M,)),
        (995, 998, True, (F, M)),
        (600, 700, True, (S, F, M)),
        (600, 700, False, (F, M)),
        (-1, 1_001, True, (S, M)),
    ],
)
def test_the_sources_in_their_order(local: int, followed: int, has_store: bool, expected: tuple[Source, ...]) -> None:
    assert sources(1_000, local, followed, has_store) == expected
