"""What a lane can compute alone: state whose keys follow the partitions."""

from __future__ import annotations

from contextlib import nullcontext

import pytest

from alerts.rules import ROOT
from tandem.engine.kept_state import KeptState
from tandem.engine.lanes import check_columns, check_lanes, followed_part, relied_on
from tandem.jobapi.errors import JobError
from tandem.manifest import SourceSpec

ORDERS = SourceSpec(name="orders", topics=("orders",), format="json", schema="customer STRING, product STRING")
PAID = SourceSpec(name="paid", topics=("paid", "refunded"), format="json", schema="customer STRING")


PAGE, SECTION = "docs/how-to/lanes.md", "grouping-by-something-else"


def kept(operator: str, *made: str) -> KeptState:
    return KeptState(operator, (), (), made, "form")


def by(source: SourceSpec, column: str) -> SourceSpec:
    return source.model_copy(update={"partitioned_by": column})


ALONE = {
    "by the record's key": ([ORDERS], kept("aggregation", "orders/key")),
    "by the key among others": ([ORDERS], kept("aggregation", "windows of 1 s", "orders/key")),
    "by the column that is said": ([by(ORDERS, "customer")], kept("dropDuplicates", "orders/value.customer")),
    "a column of a raw source": ([by(ORDERS, "customer")], kept("dropDuplicates", "orders/customer")),
    "a join by both keys": (
        [ORDERS, PAID],
        kept("join", "orders/key = paid+refunded/key", "orders/n = paid+refunded/n"),
    ),
    "a union of both keys": ([ORDERS, PAID], kept("aggregation", "orders/key or paid+refunded/key")),
    "without the form, by the columns": ([ORDERS], KeptState("aggregation", ("orders/key",))),
}
NOT_ALONE = {
    "by another column": ([ORDERS], kept("aggregation", "orders/value.product")),
    "by nothing": ([ORDERS], kept("aggregation")),
    "by something made of the key": ([ORDERS], kept("aggregation", "upper(orders/key)")),
    "of a source that follows nothing": ([by(ORDERS, "any")], kept("aggregation", "orders/key")),
    "a column named any": ([by(ORDERS, "any")], kept("aggregation", "orders/value.any")),
    "a join by one key": ([ORDERS, PAID], kept("join", "orders/key = paid+refunded/value.customer")),
    "a union of one key": ([ORDERS, PAID], kept("aggregation", "orders/key or paid+refunded/value.customer")),
    "a column that says as much": ([by(ORDERS, "customer")], kept("aggregation", "orders/key")),
}


@pytest.mark.parametrize(("sources", "state"), ALONE.values(), ids=ALONE)
def test_state_that_follows_the_partitions_is_taken(sources: list[SourceSpec], state: KeptState) -> None:
    check_lanes([state], ["Project"], sources, 4)


@pytest.mark.parametrize(("sources", "state"), NOT_ALONE.values(), ids=NOT_ALONE)
def test_other_state_is_refused_with_the_operator_and_the_remedies(sources: list[SourceSpec], state: KeptState) -> None:
    with pytest.raises(
        JobError,
        match=rf"cannot compute {state.operator} by .* alone.*4 lanes.*partitionedBy.*second job.*{PAGE}#{SECTION}",
    ):
        check_lanes([state], ["Project"], sources, 4)


def test_the_remedies_name_a_section_that_there_is() -> None:
    title = SECTION.replace("-", " ").capitalize()
    assert f"\n## {title}\n" in (ROOT / PAGE).read_text()


def test_one_of_several_is_enough_to_refuse() -> None:
    with pytest.raises(JobError, match="dropDuplicates"):
        check_lanes([kept("aggregation", "orders/key"), kept("dropDuplicates", "orders/n")], [], [ORDERS], 2)


@pytest.mark.parametrize("operator", ["GlobalLimit", "Offset", "Tail"])
def test_what_is_of_all_rows_is_refused(operator: str) -> None:
    with pytest.raises(JobError, match="which is of all rows"):
        check_lanes([], ["Project", operator], [ORDERS], 2)


AVRO = SourceSpec(
    name="orders", topics=("orders",), format="avro", key_format="avro", schema="customer STRING, product STRING"
)


@pytest.mark.parametrize(
    ("source", "key", "is_taken"),
    [
        (by(AVRO, "customer"), "orders/decoded_value_orders.customer", True),
        (by(AVRO, "customer"), "orders/decoded_value_orders.product", False),
        (by(AVRO, "value"), "orders/decoded_value_orders", True),
        (AVRO, "orders/decoded_key_orders", True),
        (AVRO, "orders/key", False),
        (AVRO, "orders/decoded_key_orders.id", False),
    ],
)
def test_the_columns_of_a_registry_are_the_decoded_ones(source: SourceSpec, key: str, is_taken: bool) -> None:
    with nullcontext() if is_taken else pytest.raises(JobError, match="cannot compute aggregation"):
        check_lanes([kept("aggregation", key)], [], [source], 2)


def test_a_column_that_the_registrys_schema_has_not_got_is_refused() -> None:
    check_columns([AVRO, by(AVRO, "any"), by(AVRO, "product")])
    with pytest.raises(JobError, match=r"source orders has no column city.*it has customer, product"):
        check_columns([by(AVRO, "city")])


@pytest.mark.parametrize(
    ("states", "names"),
    [
        ([], set()),
        ([kept("aggregation", "orders/key")], {"orders"}),
        ([kept("aggregation", "windows of 1 s", "paid+refunded/key")], {"paid"}),
        ([kept("join", "orders/key = paid+refunded/key")], {"orders", "paid"}),
    ],
    ids=["no state", "of one source", "of the other", "of both"],
)
def test_the_partitions_that_state_relies_on_are_known(states: list[KeptState], names: set[str]) -> None:
    assert relied_on(states, [ORDERS, PAID]) == names
    assert not relied_on(states, [by(ORDERS, "any"), by(PAID, "any")])


@pytest.mark.parametrize(
    ("sources", "made", "part"),
    [
        ([ORDERS], ("key",), 0),
        ([ORDERS], ("windows of 1 s", "key"), 1),
        ([by(ORDERS, "customer")], ("value.product", "value.customer"), 1),
        ([by(ORDERS, "customer")], ("value.product", "key"), None),
        ([by(ORDERS, "any")], ("key",), None),
        ([ORDERS, PAID], ("orders/n = paid+refunded/n", "orders/key = paid+refunded/key"), 1),
        ([ORDERS, PAID], ("key",), None),
    ],
)
def test_the_part_of_a_key_is_found_that_the_partitions_follow(
    sources: list[SourceSpec], made: tuple[str, ...], part: int | None
) -> None:
    """As it is noted beside a checkpoint: columns of an only source do not bear its name."""
    assert followed_part(kept("aggregation", *made), sources) == part
