"""Orders under another key: what lanes by customer cannot group by product, the job `totals` can.

Ordinary PySpark, without state. `orders` is the source of `by-product.yaml`.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - Spark's own convention


def job(orders: DataFrame) -> DataFrame:
    """Each order that names a product, with the product as its key."""
    named = orders.where(F.col("product").isNotNull())  # rows without a key would go to any lane of the next job
    return named.select(F.col("product").alias("key"), F.to_json(F.struct("*")).alias("value"))
