"""Streaming grep and grouping by key (data Artisans): lines with a pattern, and lines keyed by what stands in them."""

from __future__ import annotations

from typing import Any

import numpy as np
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from bench.workloads.base import Block, Engine, Epochs, Feed, Row, Workload, chance, numbers_of
from bench.workloads.text import constant, digits, rows, table

_SYLLABLES = ("ba", "ce", "di", "fo", "gu", "ha", "je", "ki")
WORDS = [f"{a}{b}{c} ".encode() for a in _SYLLABLES for b in _SYLLABLES for c in _SYLLABLES]
"""All of one length, with the space behind them."""
_WORDS_A_LINE = 12
KEY_BYTES = 8


def grep(lines: DataFrame, ctx: Any) -> DataFrame:
    """The lines in which the pattern (a regular expression) is."""
    found = lines.where(F.col("value").cast("string").rlike(ctx.options["pattern"]))
    return found.select("value")


def group(lines: DataFrame) -> DataFrame:
    """Each line with its first 8 bytes as its key: the sink has those of a key in one partition."""
    return lines.select(F.substring("value", 1, KEY_BYTES).alias("key"), "value")


def found(epochs: Epochs, _engine: Engine) -> list[list[Row]]:
    """The lines with the word `gudiba` or `gudiki`."""
    words = (b"gudiba", b"gudiki")
    return [[Row(None, r.value) for r in epoch if any(word in r.value for word in words)] for epoch in epochs]


def keyed(epochs: Epochs, _engine: Engine) -> list[list[Row]]:
    """Every record, by its key."""
    return [[Row(record.value[:KEY_BYTES], record.value) for record in epoch] for epoch in epochs]


def _lines(feed: Feed, seed: int, number: int) -> Block:
    """A number and twelve words."""
    numbers = numbers_of(number)
    drawn = chance(feed, seed, number).integers(0, len(WORDS), (len(numbers), _WORDS_A_LINE))
    words = table(WORDS)[drawn].reshape(len(numbers), -1)
    values = rows((digits(numbers, 12), constant(b" ", len(numbers)), words), feed.record_bytes)
    return Block([None] * len(values), values, (numbers % feed.partitions).tolist())


def _keyed_lines(feed: Feed, seed: int, number: int) -> Block:
    """A key, which the record itself does not have, and a number. All lines of a key are in one partition."""
    numbers = numbers_of(number)
    keys = chance(feed, seed, number).integers(0, feed.keys, len(numbers))
    space = constant(b" ", len(numbers))
    values = rows((constant(b"k", len(numbers)), digits(keys, 7), space, digits(numbers, 12), space), feed.record_bytes)
    return Block([None] * len(values), values, np.remainder(keys, feed.partitions).tolist())


GREP = Workload(
    "grep",
    "data Artisans: lines in which a pattern is; published: 1,500,000 lines/s on a core",
    grep,
    (Feed("lines", _lines, rate=20_000, record_bytes=100),),
    found,
    options={"pattern": "gudi(ba|ki)"},
    paper={"lines": 1_500_000},
)
GROUPING = Workload(
    "grouping",
    "data Artisans: records divided by key, without other work; published: 720,000/s on a core",
    group,
    (Feed("lines", _keyed_lines, rate=20_000, record_bytes=100),),
    keyed,
    paper={"lines": 720_000},
)
