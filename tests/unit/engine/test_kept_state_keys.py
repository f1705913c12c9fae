"""By what state is kept: which changes of code another state would be taken for."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tandem.engine.kept_state import KeptState, check_state, difference, note_state, noted_states
from tandem.engine.state_keys import _text
from tandem.jobapi.errors import JobError

BY_CUSTOMER = KeptState("aggregation", ("orders/value.customer",), ("sum(orders/value.n)", "sum(orders/value.m)"))


@pytest.mark.parametrize(
    ("new", "expected"),
    [
        (BY_CUSTOMER, None),
        (
            KeptState("aggregation", ("orders/value.product",), BY_CUSTOMER.values),
            "customer, now by orders/value.product",
        ),
        (KeptState("aggregation", (), BY_CUSTOMER.values), "now by nothing"),
        (KeptState("aggregation", BY_CUSTOMER.keys, BY_CUSTOMER.values[::-1]), r"kept sum\(orders/value.n\), sum"),
        (KeptState("aggregation", BY_CUSTOMER.keys, ("min(orders/value.n)", "sum(orders/value.m)")), "now min"),
        (
            KeptState(
                "aggregation", BY_CUSTOMER.keys, ("sum(orders/value.n+orders/value.paid)", "sum(orders/value.m)")
            ),
            None,
        ),
        (KeptState("dropDuplicates", ("orders/value.product",)), None),
    ],
)
def test_what_is_taken_for_another_state(new: KeptState, expected: str | None, tmp_path: Path) -> None:
    note_state(tmp_path, [BY_CUSTOMER])
    if expected is None:
        check_state(tmp_path, [new])
    else:
        with pytest.raises(JobError, match=expected):
            check_state(tmp_path, [new])


ID = KeptState("aggregation", ("l/id",), made=("l/id",), form="1")


@pytest.mark.parametrize(
    ("new", "expected"),
    [
        (ID, None),
        (replace(ID, made=("upper(l/id)",)), "by l/id, now by upper"),
        (replace(ID, made=("upper(l/id)",), form="2"), None),
        (replace(ID, made=(), form=""), None),
        (replace(ID, keys=("l/other",), made=("l/other",), form="2"), "by l/id, now by l/other"),
        (replace(ID, keys=("l/id+l/other",)), None),
    ],
)
def test_expressions_are_compared_where_both_codes_are_described_alike(
    new: KeptState, expected: str | None, tmp_path: Path
) -> None:
    note_state(tmp_path, [ID])
    if expected is None:
        check_state(tmp_path, [new])
    else:
        with pytest.raises(JobError, match=expected):
            check_state(tmp_path, [new])


def test_a_note_of_an_older_tandem_has_columns_only(tmp_path: Path) -> None:
    (tmp_path / "operators").write_text('[{"operator": "aggregation", "keys": ["l/id"], "values": []}]')
    check_state(tmp_path, [replace(ID, made=("upper(l/id)",))])
    with pytest.raises(JobError, match="now by l/other"):
        check_state(tmp_path, [replace(ID, keys=("l/other",))])


def test_state_of_a_plan_that_could_not_be_read_is_taken_as_it_is(tmp_path: Path) -> None:
    note_state(tmp_path, [BY_CUSTOMER])
    note_state(tmp_path, None)
    assert noted_states(tmp_path) is None
    check_state(tmp_path, [ID])
    note_state(tmp_path, [BY_CUSTOMER])
    check_state(tmp_path, None)


@pytest.mark.parametrize("written", ["metadata", "v2/0"])  # by aggregations and the like; by transformWithState
def test_a_note_of_no_state_beside_state_is_of_a_plan_that_could_not_be_read(tmp_path: Path, written: str) -> None:
    note_state(tmp_path, [])
    assert noted_states(tmp_path) == []
    metadata = tmp_path / "state" / "0" / "_metadata" / written
    metadata.parent.mkdir(parents=True)
    metadata.touch()
    assert noted_states(tmp_path) is None
    check_state(tmp_path, [BY_CUSTOMER])


def test_code_that_keeps_state_cannot_go_on_from_code_that_kept_none(tmp_path: Path) -> None:
    note_state(tmp_path, [])
    check_state(tmp_path, [])
    with pytest.raises(
        JobError, match=r"left none, and the code now keeps some \(aggregation by orders/value.customer\)"
    ):
        check_state(tmp_path, [BY_CUSTOMER])


def test_columns_that_change_places_are_noticed_beside_one_that_is_another() -> None:
    old = replace(BY_CUSTOMER, values=("sum(n)", "sum(m)", "max(x)"))
    assert difference([old], [replace(old, values=("sum(m)", "sum(n)", "max(y)"))]) is not None
    assert difference([old], [replace(old, values=("sum(m)", "sum(o)", "max(y)"))]) is not None
    assert difference([old], [replace(old, values=("sum(o)", "sum(m)", "max(y)"))]) is None


def test_sinks_in_another_order_would_swap_their_states() -> None:
    by_product = KeptState("aggregation", ("orders/value.product",))
    assert difference([BY_CUSTOMER, by_product], [by_product, BY_CUSTOMER]) is not None


GAINS, LOSSES = "sum(gains(l/n))", "sum(losses(l/n))"
SUMS = replace(ID, values=("sum(l/n)", "sum(l/n)"), computed=(GAINS, LOSSES))
OF_ROWS = KeptState("dropDuplicates", ("l/id",), form="1")
THREE = replace(SUMS, values=("sum(l/n)",) * 3, computed=(GAINS, LOSSES, "max(l/n)"))
OF_N, OF_M = (replace(ID, values=(f"sum(l/{one})",)) for one in "nm")
MANY, FEW = replace(ID, rows=("n > 9", "x")), replace(ID, rows=("n < 9", "x"))


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (
            [SUMS],
            [replace(SUMS, computed=(LOSSES, GAINS))],
            r"operator 0 \(aggregation\) kept sum\(gains.*, now sum\(losses",
        ),
        ([SUMS], [replace(SUMS, computed=(GAINS, "sum(abs(l/n))"))], None),
        ([SUMS], [replace(SUMS, computed=(LOSSES, GAINS), form="2")], None),
        ([replace(SUMS, computed=())], [SUMS], None),
        ([SUMS, MANY, FEW], [SUMS, FEW, MANY], r"operator 1 \(aggregation\) kept rows with n > 9, now rows with n < 9"),
        ([MANY, FEW], [FEW, FEW], None),
        (
            [MANY, FEW],
            [FEW, replace(MANY, rows=("n > 8", "x"))],
            "kept rows with n > 9, now rows with n < 9, as operator 1 did",
        ),
        (
            [MANY, FEW],
            [replace(FEW, rows=("n < 8", "x")), MANY],
            "kept rows with n < 9, now rows with n > 9, as operator 0 did",
        ),
        ([MANY, FEW], [replace(one, rows=(f"n {sign} 8", "x")) for one, sign in ((MANY, ">"), (FEW, "<"))], None),
        ([MANY, FEW], [MANY, FEW], None),
        ([MANY, OF_ROWS], [OF_ROWS, MANY], None),
        ([replace(one, rows=()) for one in (MANY, FEW)], [FEW, MANY], None),
        ([THREE], [replace(THREE, computed=(LOSSES, GAINS, "max(abs(l/n))"))], r"kept sum\(gains.*, now sum\(losses"),
        ([SUMS], [replace(SUMS, computed=(LOSSES, "sum(abs(l/n))"))], r"kept sum\(gains.*, now sum\(losses.*one after"),
        ([SUMS], [replace(SUMS, computed=(LOSSES, LOSSES))], None),
        (
            [THREE],
            [replace(THREE, computed=(LOSSES, "max(l/n)", "sum(abs(l/n))"))],
            r"kept sum\(gains.*, now sum\(losses",
        ),
        ([MANY, FEW, SUMS], [FEW, MANY, replace(SUMS, rows=("n > 1",))], "operator 0 .* kept rows with n > 9, now"),
        (
            [replace(MANY, computed=("count(x)",)), FEW],
            [FEW, replace(MANY, computed=("count(y)",))],
            "kept count.*n > 9",
        ),
        ([OF_N, OF_M], [replace(OF_M, rows=("x",)), replace(OF_N, rows=("x",))], r"kept sum\(l/n\), now sum\(l/m\)"),
        (
            [OF_N, OF_M],
            [OF_M, replace(OF_N, values=("sum(l/o)",))],
            "kept sum.*, as operator 1 did .*one after the other",
        ),
    ],
)
def test_what_differs_in_expressions_only_must_not_change_places(
    old: list[KeptState], new: list[KeptState], expected: str | None, tmp_path: Path
) -> None:
    note_state(tmp_path, old)
    if expected is None:
        check_state(tmp_path, new)
    else:
        with pytest.raises(JobError, match=expected):
            check_state(tmp_path, new)


def test_columns_that_a_join_keeps_are_compared_too() -> None:
    kept = KeptState("join", ("a/id = b/id",), ("a/id", "a/x", "|", "b/id"))
    assert difference([kept], [KeptState("join", kept.keys, ("a/id", "a/y", "|", "b/id"))]) is not None


def test_state_of_an_older_tandem_is_taken_as_it_is(tmp_path: Path) -> None:
    check_state(tmp_path, [BY_CUSTOMER])


def test_a_note_is_never_written_into_a_shared_file(tmp_path: Path) -> None:
    note_state(tmp_path / "one", [BY_CUSTOMER])
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "operators").hardlink_to(tmp_path / "one" / "operators")
    note_state(tmp_path / "other", [KeptState("dropDuplicates", ("orders/value.product",))])
    check_state(tmp_path / "one", [BY_CUSTOMER])


def test_what_spark_numbers_otherwise_in_each_process_is_no_other_column() -> None:
    first, again = (frozenset({f"orders/_gen_alias_{n}", f"max(x#{n}L)", f"orders/tags[[B@{n}f]"}) for n in (4, 17))
    assert _text(first) == _text(again)
    assert _text(frozenset({"orders/x_1"})) != _text(frozenset({"orders/x_2"}))
