"""How many orders and pieces there are of each product.

Ordinary PySpark. `orders` is the source of `totals.yaml`: what the job `by_product` publishes.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - Spark's own convention


def job(orders: DataFrame) -> DataFrame:
    """The totals of each product of which there are new orders."""
    totals = orders.groupBy("product").agg(F.count("*").alias("orders"), F.sum("pieces").alias("pieces"))
    return totals.select(F.col("product").alias("key"), F.to_json(F.struct("*")).alias("value"))
