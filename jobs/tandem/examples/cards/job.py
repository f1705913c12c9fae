"""Alerts about payment cards that have had too many large payments, at once at each further one.

Ordinary PySpark. `payments` is the source of `cards.yaml`. The real-time engine reports every row: each large payment of
such a card is an alert.
"""

from __future__ import annotations

from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - Spark's own convention


def job(payments: DataFrame, ctx: Any) -> DataFrame:
    """For each large payment of a card that has had too many of them: the card, and how many."""
    large, too_many = float(ctx.options["largeAmount"]), int(ctx.options["tooMany"])
    counted = payments.where(F.col("amount") >= large).groupBy("card").count()
    alerts = counted.where(F.col("count") >= too_many)
    return alerts.select(F.col("card").alias("key"), F.to_json(F.struct("card", "count")).alias("value"))
