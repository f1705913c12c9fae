"""Operators of drawn plans by what they keep: keys of all types, and aggregates of all kinds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from integration.timed_inputs import Timed

Operator = Callable[[Timed], DataFrame]

KEYS: Final[Mapping[str, str]] = {
    "int": "n % 7",
    "long that may be null": "NULLIF(CAST(n % 3 AS BIGINT), 0L)",
    "decimal": "CAST(n % 4 AS DECIMAL(12, 3)) / 8",
    "wide decimal": "CAST(n % 4 - 2 AS DECIMAL(38, 6))",
    "date": "DATE_ADD(DATE'2024-06-01', n % 3)",
    "timestamp": "DATE_TRUNC('HOUR', at) + INTERVAL 1 MICROSECOND",
    "time without a zone": "CAST(DATE_TRUNC('MINUTE', at) AS TIMESTAMP_NTZ)",
    "interval": "MAKE_DT_INTERVAL(0, 0, n % 3)",
    "binary": "UNHEX(ELT(n % 3 + 1, '00', 'ff00', ''))",
    "boolean": "n % 2 = 0",
    "double": "ELT(n % 5 + 1, '-0.0', '0.0', 'NaN', '1.5', NULL)::DOUBLE",
    "float": "ELT(n % 4 + 1, '-0.0', '0.0', 'NaN', '-Infinity')::FLOAT",
    "struct": "NAMED_STRUCT('a', id, 'b', n % 2, 'c', NAMED_STRUCT('d', ELT(n % 3 + 1, '-0.0', '0', 'NaN')::DOUBLE))",
    "array": "ARRAY(ELT(n % 3 + 1, '-0.0', '0', 'NaN')::DOUBLE, NULL)",
}
"""Columns to group, join and deduplicate by."""

AGGREGATES: Final[Mapping[str, tuple[str, ...]]] = {
    "decimals": ("SUM(n::DECIMAL(20, 4) / 7)", "AVG(n::DECIMAL(38, 10))", "MIN((n % 9)::DECIMAL(30, 2))"),
    "try": ("TRY_SUM((n % 2 + 1) * 4611686018427387903)", "TRY_AVG(n)", "TRY_SUM(9e18::BIGINT)"),
    "floating": (
        "SUM(n / 7.0D)",
        "AVG(SIN(n))",
        "STDDEV(n)",
        "CORR(n, SIN(n))",
        "KURTOSIS(n)",
        "REGR_SLOPE(n, SIN(n))",
    ),
    "not a number": (
        "MAX(ELT(n % 4 + 1, '-0.0', '0', 'NaN', '1')::DOUBLE)",
        "MIN(ELT(n % 2 + 1, '-0.0', '0')::DOUBLE)",
    ),
    "percentiles": (
        "APPROX_PERCENTILE(n, ARRAY(0.25, 0.5))",
        "PERCENTILE(n, 0.3)",
        "MEDIAN(n)",
        "HISTOGRAM_NUMERIC(n, 3)",
    ),
    "mode": ("MODE(n % 3)", "MODE(id)", "MODE() WITHIN GROUP (ORDER BY n % 5 DESC)"),
    "listagg": ("LISTAGG(id, ',')", "LISTAGG(n::STRING, '-') WITHIN GROUP (ORDER BY n::STRING DESC)"),
    "sets": (
        "COLLECT_SET(n % 5)",
        "COLLECT_SET(ELT(n % 3 + 1, '-0.0', '0', 'NaN')::DOUBLE)",
        "COLLECT_LIST(STRUCT(id, n))",
    ),
    "sketches": (
        *("HLL_SKETCH_ESTIMATE(HLL_SKETCH_AGG(n))", "HEX(HLL_SKETCH_AGG(id))", "APPROX_COUNT_DISTINCT(n)"),
        *("HEX(COUNT_MIN_SKETCH(n, 0.5d, 0.5d, 1))", "HEX(BITMAP_CONSTRUCT_AGG(BITMAP_BIT_POSITION(n)))"),
    ),
    "other sketches": ("APPROX_TOP_K(n % 5, 3)", "HEX(THETA_SKETCH_AGG(n))", "HEX(HLL_SKETCH_AGG(n, 4))"),
    "structs": ("MAX(STRUCT(n % 3, id))", "MAX_BY(id, n)", "MIN_BY(STRUCT(n, at), SIN(n))", "ANY_VALUE(STRUCT(id, n))"),
    "maps": ("LAST(MAP(id, n))", "FIRST(MAP(id, n), true)", "COLLECT_LIST(MAP(id, ARRAY(n)))", "LAST(ARRAY(n, NULL))"),
    "variants": (
        "LAST(PARSE_JSON(CONCAT('{\"n\":', n, ', \"id\":\"', id, '\"}')))",
        "COLLECT_LIST(PARSE_JSON(CONCAT('[', n, ', 1.50]')))",
    ),
    "bits": ("BIT_XOR(n)", "BOOL_OR(n % 3 = 0)", "COUNT_IF(n % 2 = 0)", "SUM(n) FILTER (WHERE n % 3 > 0)"),
}
"""What is aggregated together, in SQL."""


def with_key(frame: DataFrame) -> DataFrame:
    """Rows for a sink: all columns as JSON; the column `k` as their key, whatever its type."""
    return frame.select(F.to_json(F.struct("k")).alias("key"), F.to_json(F.struct("*")).alias("value"))


def _sides(streams: Timed, key: str) -> tuple[DataFrame, DataFrame]:
    right = streams.right.withColumnsRenamed({"rid": "id", "m": "n", "rat": "at"}).withColumn("rk", F.expr(key))
    renamed = right.withColumnsRenamed({"id": "rid", "n": "m", "at": "rat"})
    return streams.left.withColumn("k", F.expr(key)), renamed


def _joined(how: str, key: str) -> Operator:
    def join(streams: Timed) -> DataFrame:
        left, right = _sides(streams, key)
        near = F.expr("k = rk AND rat BETWEEN at - INTERVAL 1 MINUTE AND at + INTERVAL 2 MINUTES")
        return with_key(left.join(right, near, how))

    return join


def _by(key: str, made: Callable[[DataFrame], DataFrame]) -> Operator:
    return lambda streams: with_key(made(streams.left.withColumn("k", F.expr(key))))


BY_KEY: Final[Mapping[str, Operator]] = {
    f"{operator} by {name}": make(key)
    for name, key in KEYS.items()
    for operator, make in {
        "windows": lambda key: _by(key, lambda d: d.groupBy("k", F.window("at", "1 minute")).agg(F.sum("n"))),
        "sessions": lambda key: _by(key, lambda d: d.groupBy("k", F.session_window("at", "90 seconds")).count()),
        "first": lambda key: _by(key, lambda d: d.dropDuplicates(["k", "at"])),
        "first within": lambda key: _by(key, lambda d: d.dropDuplicatesWithinWatermark(["k"])),
        "distinct": lambda key: _by(key, lambda d: d.select("k").distinct()),
        "inner join": lambda key: _joined("inner", key),
        "full outer join": lambda key: _joined("full_outer", key),
    }.items()
}


def _aggregated(groups: Callable[[DataFrame], DataFrame], texts: tuple[str, ...]) -> Operator:
    def aggregate(streams: Timed) -> DataFrame:
        columns = [F.expr(text).alias(f"v{place}") for place, text in enumerate(texts)]
        return with_key(groups(streams.left).agg(*columns).withColumn("k", F.lit("x")))

    return aggregate


BY_AGGREGATE: Final[Mapping[str, Operator]] = {
    f"{operator} of {name}": _aggregated(groups, texts)
    for name, texts in AGGREGATES.items()
    for operator, groups in {
        "windows": lambda d: d.groupBy("id", F.window("at", "2 minutes")),
        "sessions": lambda d: d.groupBy("id", F.session_window("at", "90 seconds")),
    }.items()
}

RUNNING: Final[Mapping[str, Operator]] = {
    **{
        f"{operator} of {name}": _aggregated(groups, texts)
        for name, texts in AGGREGATES.items()
        for operator, groups in {
            "running values": lambda d: d.groupBy("id"),
            "values of all": lambda d: d.groupBy(),
        }.items()
    },
    **{
        f"running count by {name}": _by(key, lambda d: d.groupBy("k").agg(F.count("*"), F.last("at")))
        for name, key in KEYS.items()
    },
    "cube": lambda streams: with_key(streams.left.cube("id", F.expr("n % 2 AS b")).count().withColumn("k", F.lit("x"))),
    "pivot": lambda streams: with_key(
        streams.left.groupBy(F.expr("n % 3 AS k")).pivot("id", ["a", "b"]).agg(F.sum("n"), F.max("at"))
    ),
}
"""Aggregations without a watermark, for the output mode update."""


def _near(streams: Timed, how: str) -> DataFrame:
    near = F.expr("id = rid AND rat BETWEEN at - INTERVAL 1 MINUTE AND at + INTERVAL 2 MINUTES")
    return streams.left.join(streams.right, near, how)


def _kept_rows(streams: Timed) -> DataFrame:
    """A join that keeps a map, a struct, a VARIANT, a decimal and an array of each row."""
    left = streams.left.selectExpr(
        *("id AS k", "at", "MAP(id, n) AS map", "STRUCT(n, STRUCT(id)) AS struct", "n::DECIMAL(30, 5) AS decimal"),
        *("PARSE_JSON(CONCAT('{\"n\":', n, '}')) AS variant", "ARRAY(n, NULL) AS array", "CAST(id AS BINARY) AS bytes"),
    )
    near = F.expr("k = rid AND rat BETWEEN at - INTERVAL 1 MINUTE AND at + INTERVAL 2 MINUTES")
    return with_key(left.join(streams.right, near, "left_outer"))


def _window(length: str, slide: str, offset: str) -> Operator:
    return lambda streams: with_key(
        streams.left.groupBy(F.col("id").alias("k"), F.window("at", length, slide, offset)).agg(F.sum("n"), F.last("n"))
    )


CHAINS: Final[Mapping[str, Operator]] = {
    "windows with an offset": _window("1 minute", "1 minute", "17 seconds"),
    "sliding windows with an offset": _window("2 minutes", "45 seconds", "17 seconds"),
    "windows of a left outer join": lambda streams: with_key(
        _near(streams, "left_outer").groupBy(F.col("id").alias("k"), F.window("at", "1 minute")).agg(F.count("rid"))
    ),
    "windows of a right outer join": lambda streams: with_key(
        _near(streams, "right_outer").groupBy(F.col("rid").alias("k"), F.window("rat", "1 minute")).agg(F.sum("n"))
    ),
    "windows of a full outer join": lambda streams: with_key(
        _near(streams, "full_outer").groupBy(F.col("id").alias("k"), F.window("at", "1 minute")).agg(F.sum("m"))
    ),
    "windows of a semi join": lambda streams: with_key(
        _near(streams, "left_semi").groupBy(F.col("id").alias("k"), F.window("at", "1 minute")).count()
    ),
    "sessions of a left outer join": lambda streams: with_key(
        _near(streams, "left_outer").groupBy(F.col("id").alias("k"), F.session_window("at", "1 minute")).count()
    ),
    "duplicates of a semi join": lambda streams: with_key(
        _near(streams, "left_semi").dropDuplicates(["id", "at"]).withColumnRenamed("id", "k")
    ),
    "sessions of the first ones": lambda streams: with_key(
        streams.left.dropDuplicates(["id", "at"])
        .groupBy(F.col("id").alias("k"), F.session_window("at", "90 seconds"))
        .agg(F.sum("n"))
    ),
    "sessions of the first ones within": lambda streams: with_key(
        streams.left.dropDuplicatesWithinWatermark(["id", "n"])
        .groupBy(F.col("id").alias("k"), F.session_window("at", "90 seconds"))
        .agg(F.sum("n"))
    ),
    "join of the first ones": lambda streams: with_key(
        streams.left.dropDuplicates(["id", "at"])
        .join(streams.right, F.expr("id = rid AND rat BETWEEN at AND at + INTERVAL 2 MINUTES"), "left_outer")
        .withColumnRenamed("id", "k")
    ),
    "join that keeps nested values": _kept_rows,
    "limit": lambda streams: with_key(streams.left.limit(4).withColumnRenamed("id", "k")),
    "limit of windows": lambda streams: with_key(
        streams.left.groupBy(F.col("id").alias("k"), F.window("at", "1 minute")).count().limit(3)
    ),
    "windows of all": lambda streams: with_key(
        streams.left.groupBy(F.window("at", "1 minute")).agg(F.max("n"), F.count("*")).withColumn("k", F.lit("x"))
    ),
}

VALUES: Final[Mapping[str, Operator]] = {**BY_KEY, **BY_AGGREGATE, **CHAINS}
"""Those of the output mode append."""
