"""Which record of an epoch makes it fail: any epoch, any records that fail, few attempts."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import pytest

from tandem.engine.culprit import Culprit, first_culprit

ERROR = ValueError("the whole epoch")


class Epoch:
    """`fails` says of which rows an epoch fails; counts the attempts."""

    def __init__(self, fails: Callable[[Sequence[int]], bool]) -> None:
        self._fails = fails
        self.attempts = 0

    def __call__(self, rows: Sequence[int]) -> BaseException | None:
        self.attempts += 1
        return ValueError(f"{list(rows)}") if self._fails(rows) else None


@pytest.mark.parametrize("rows", [1, 2, 3, 10, 1_000])
def test_the_first_record_that_fails_by_itself_is_found_wherever_it_is(rows: int) -> None:
    for bad in {0, 1, rows // 2, rows - 1} & set(range(rows)):
        epoch = Epoch(lambda some, bad=bad: bad in some or rows - 1 in some)  # type: ignore[misc]

        found = first_culprit(range(rows), epoch, ERROR)

        assert found is not None
        assert (found.row, found.alone, str(found.error)) == (bad, True, f"[{bad}]")
        assert epoch.attempts <= math.ceil(math.log2(rows)) + 2


def test_records_that_fail_together_only_are_found_as_such() -> None:
    found = first_culprit(range(9), Epoch(lambda some: {2, 6} <= set(some)), ERROR)

    assert found == Culprit(6, alone=False, error=found.error) if found else False
    assert found is not None
    assert max(eval(str(found.error))) >= 6  # noqa: S307


def test_an_epoch_that_fails_without_any_record_has_no_culprit() -> None:
    assert first_culprit(range(5), Epoch(lambda _some: True), ERROR) is None
    assert first_culprit((), Epoch(lambda _some: True), ERROR) is None


def test_what_is_known_to_pass_is_not_tried_again() -> None:
    epoch = Epoch(lambda some: 7 in some)

    found = first_culprit(range(8), epoch, ERROR, passing=7)

    assert found is not None
    assert found.row == 7
    assert epoch.attempts == 1
