"""Orders by customer, counted by product: lanes of one job cannot, and say what can."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

import tandem.examples.products
from integration.engine import Job
from tandem.engine.lanes import check_lanes, topics_of_the_only
from tandem.engine.pruned import operators_of
from tandem.examples.products import by_product, totals
from tandem.examples.products.feed import ORDERS
from tandem.jobapi.errors import JobError
from tandem.manifest import load

pytestmark = pytest.mark.integration

FOLDER = Path(tandem.examples.products.__file__).parent
BY_PRODUCT, TOTALS = FOLDER / "by-product.yaml", FOLDER / "totals.yaml"


def check_plan(spark: SparkSession, folder: Path, path: Path, module: object) -> None:
    """As a replica does: the job of `module` over the sources of a manifest."""
    spec = load(path).spec
    sources = Job(spark, folder, spec.sources, spec.sinks).sources
    result: DataFrame = module.job(**sources)  # type: ignore[attr-defined]
    states, operators = operators_of(result, topics_of_the_only(spec.sources))
    check_lanes(states, operators, spec.sources, spec.lanes)


def test_lanes_by_customer_cannot_count_by_product_and_two_jobs_can(spark: SparkSession, tmp_path: Path) -> None:
    check_plan(spark, tmp_path / "first", BY_PRODUCT, by_product)
    check_plan(spark, tmp_path / "second", TOTALS, totals)
    with pytest.raises(JobError) as refused:
        check_plan(spark, tmp_path / "alone", BY_PRODUCT, totals)
    said = str(refused.value)
    assert f"cannot compute aggregation by {ORDERS}/value.product alone, and the job has 2 lanes" in said
    assert "follow column customer (partitionedBy: customer)" in said
    assert "publish the rows to a topic with that key, and keep the state in a second job that reads it" in said
    assert "docs/how-to/lanes.md#grouping-by-something-else" in said
    shown = (FOLDER / "README.md").read_text().replace("\n> ", " ")
    assert said.partition(". ")[0] in shown
