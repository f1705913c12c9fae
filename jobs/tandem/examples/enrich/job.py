"""Payments with the score of a service that never answers the same twice, and yet all replicas publish the same.

`payments` is the source of `enrich.yaml`. `ctx.ask` records in the log what the service answered first; every replica,
also one that computes the epoch again next week, uses that.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from http.client import HTTPConnection
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - Spark's own convention

TIMEOUT_S = 2.0


def job(payments: DataFrame, ctx: Any) -> DataFrame:
    """Each payment with its score (null if the service was away), when it was scored, and whether it is drawn for review."""
    service = ctx.options["service"]
    score = ctx.ask("score", lambda records: scores(service, records), timeout=TIMEOUT_S, retries=2, batch=200)
    scored = payments.select(
        "id",
        "amount",
        score.cast("double").alias("score"),
        ctx.epoch_time().alias("scored"),
        (ctx.rng() < float(ctx.options["reviewShare"])).alias("review"),
    )
    return scored.select(F.col("id").cast("string").alias("key"), F.to_json(F.struct("*")).alias("value"))


def scores(service: str, records: Sequence[Any]) -> list[str | None]:
    """One request for all records: `POST /scores` with a list of their values; a list of numbers or nulls comes back."""
    values = [(record.value or b"").decode(errors="replace") for record in records]
    connection = HTTPConnection(service, timeout=TIMEOUT_S)
    try:
        connection.request("POST", "/scores", json.dumps(values), {"Content-Type": "application/json"})
        response = connection.getresponse()
        if response.status != 200:
            raise OSError(f"{service} answered {response.status} {response.reason}")
        return [None if answer is None else str(answer) for answer in json.loads(response.read())]
    finally:
        connection.close()
