"""Which watermarks may be idle: by the sources that they are over."""

from __future__ import annotations

from typing import Any

import pytest

from tandem.engine.idle_inputs import idle_after, without_watermark
from tandem.manifest import Duration, SourceSpec
from tandem.manifest.streams import TableSpec

RELATION = {"class": "a.StreamingExecutionRelation", "num-children": 0, "output": []}


def of_topics(*topics: str) -> list[dict[str, Any]]:
    """What `split_sources` makes of the one stream."""
    attribute = {"class": "e.AttributeReference", "num-children": 0, "name": "topic", "exprId": {"id": 1}}
    literals = [{"class": "e.Literal", "num-children": 0, "value": topic} for topic in topics]
    condition = [{"class": "e.In", "num-children": 1 + len(topics)}, attribute, *literals]
    return [{"class": "a.Filter", "num-children": 1, "condition": condition}, RELATION]


def watermark(name: str, *below: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Over one source, or over the union of several."""
    union = [{"class": "a.Union", "num-children": len(below)}] if len(below) > 1 else []
    node = {"class": "a.EventTimeWatermark", "num-children": 1, "nodeId": name}
    return [node, *union, *(one for part in below for one in part)]


def source(*topics: str, idle_s: int | None = None) -> SourceSpec:
    return SourceSpec(name=topics[0], topics=topics, idle_timeout=None if idle_s is None else Duration(idle_s * 1_000))


ORDERS, REFUNDS, REST = source("orders", "more", idle_s=5), source("refunds", idle_s=60), source("rest")


@pytest.mark.parametrize(
    ("plan", "expected"),
    [
        (watermark("w", of_topics("orders", "more")), {"w": 5_000}),
        (watermark("w", of_topics("refunds"), of_topics("more", "orders")), {"w": 60_000}),
        (watermark("w", of_topics("rest")), {}),
        (watermark("w", of_topics("refunds"), of_topics("rest")), {}),
        (watermark("w", [of_topics("rest")[0] | {"num-children": 1}, *of_topics("refunds")]), {"w": 60_000}),
    ],
)
def test_a_watermark_is_idle_when_all_its_sources_may_be(plan: list[dict[str, Any]], expected: dict[str, int]) -> None:
    assert idle_after(plan, [ORDERS, REFUNDS, REST]) == expected


def test_the_only_source_of_a_job_has_no_filter() -> None:
    assert idle_after(watermark("w", [RELATION]), [REFUNDS]) == {"w": 60_000}


@pytest.mark.parametrize(
    ("plan", "expected"),
    [
        (watermark("w", of_topics("orders", "more")), ["refunds"]),
        (watermark("w", of_topics("orders", "more"), of_topics("refunds")), []),
        (watermark("w", of_topics("orders", "more"), of_topics("rest")), ["orders", "refunds"]),
        (of_topics("orders", "more"), ["orders", "refunds"]),
    ],
)
def test_a_time_out_that_no_watermark_heeds_is_found(plan: list[dict[str, Any]], expected: list[str]) -> None:
    assert without_watermark(plan, [ORDERS, REFUNDS, REST]) == expected


def test_the_time_out_of_the_only_source_is_heeded_by_any_watermark() -> None:
    assert without_watermark(watermark("w", [RELATION]), [ORDERS]) == []
    assert without_watermark([RELATION], [ORDERS]) == ["orders"]
    assert without_watermark([RELATION], [REST]) == []


def test_the_only_stream_beside_a_table_has_no_filter_either() -> None:
    rates = SourceSpec(name="rates", topics=("rates",), table=TableSpec(key=("key",)))
    plan = watermark("w", [RELATION])
    assert idle_after(plan, [REFUNDS, rates]) == {"w": 60_000}
    assert without_watermark(plan, [rates, ORDERS]) == []
    assert without_watermark([RELATION], [rates, ORDERS]) == ["orders"]
