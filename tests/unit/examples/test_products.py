"""Two jobs, one behind the other: the second reads what the first publishes, as it publishes it."""

from __future__ import annotations

import json
from pathlib import Path

import tandem.examples.products
from tandem.examples.products.feed import ORDERS, PRODUCTS, events
from tandem.manifest import load

FOLDER = Path(tandem.examples.products.__file__).parent


def test_the_second_job_reads_what_the_first_publishes_and_has_each_product_in_a_lane() -> None:
    by_product, totals = (load(FOLDER / f"{name}.yaml").spec for name in ("by-product", "totals"))
    (orders, between), (published,) = (*by_product.sources, *totals.sources), by_product.sinks
    assert (by_product.lanes, totals.lanes) == (2, 2)
    assert (orders.topics, orders.partitioned_by) == ((ORDERS,), "customer")
    assert (published.topic, published.partition_by) == (*between.topics, "key")
    assert (between.partitioned_by, between.isolation_level) == ("product", "read_committed")


def test_the_same_seed_gives_the_same_orders_keyed_by_customer() -> None:
    sent = list(events(500))
    assert sent == list(events(500)) != list(events(500, seed=2))
    bodies = [json.loads(event.value) for event in sent]
    assert all(event.key.decode() == body["customer"] for event, body in zip(sent, bodies, strict=True))
    assert {body["product"] for body in bodies} == set(PRODUCTS)
