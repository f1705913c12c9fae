"""By what plans of Spark keep their state: which changes of code are another key, and which only say the same otherwise."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from integration.engine import Job, kafka_sink
from tandem.engine.kept_state import KeptState, difference
from tandem.engine.pruned import described, pruned
from tandem.manifest import SourceSpec

pytestmark = pytest.mark.integration

_SCHEMA = "id STRING, other STRING, n INT, price DOUBLE, at TIMESTAMP, tags ARRAY<STRING>, m MAP<STRING, INT>"

States = Callable[[Callable[[DataFrame, DataFrame], DataFrame]], list[KeptState]]
Plan = Callable[[DataFrame, DataFrame], DataFrame]


@pytest.fixture(scope="module")
def states(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[States]:
    """What a plan of the sources `left` and `right` keeps its state by."""
    left = SourceSpec(name="left", topics=("l",), format="json", schema=_SCHEMA)
    right = SourceSpec(name="right", topics=("r",), format="json", schema=_SCHEMA)
    job = Job(spark, Path(tmp_path_factory.mktemp("job")), [left, right], [kafka_sink()])
    right_names = job.sources["right"].select([F.col(name).alias(f"r_{name}") for name in job.sources["right"].columns])

    def found(plan: Plan) -> list[KeptState]:
        job.sources["left"].createOrReplaceTempView("events")
        frame = plan(job.sources["left"], right_names)
        kept = described(spark, pruned(frame))
        assert kept
        assert all(one.form for one in kept)
        return kept

    yield found
    job.stop()


def by(*keys: str | Callable[[], Column]) -> Plan:
    """Counts by keys; a text is SQL."""

    def plan(left: DataFrame, _: DataFrame) -> DataFrame:
        columns = [F.expr(key) if isinstance(key, str) else key() for key in keys]
        return left.withWatermark("at", "1 minute").groupBy(*columns).count()

    return plan


def sql(text: str) -> Plan:
    return lambda left, _: left.sparkSession.sql(text)


def joined(condition: str, how: str = "inner") -> Plan:
    return lambda left, right: left.join(right, F.expr(condition), how)


def _window(length: str, slide: str | None = None, start: str | None = None) -> Plan:
    return by(lambda: F.window("at", length, slide, start))


def _unpivoted(key: str, column: str = "price") -> Plan:
    def plan(left: DataFrame, _: DataFrame) -> DataFrame:
        columns = left.selectExpr("id", "other", "cast(n as double) AS n", f"{column} AS price")
        return columns.unpivot(["id", "other"], ["n", "price"], "what", "v").groupBy(key).count()

    return plan


def _function(of: Callable[[str], str]) -> Callable[[], Column]:
    return lambda: F.udf(of, "string")("id")


def _groups(key: str, fields: str) -> Plan:
    """A function that keeps these fields of each group."""
    return lambda d, _: (
        d.withColumn("k", F.expr(key))
        .groupBy("k")
        .applyInPandasWithState(lambda _key, frames, _state: frames, "id STRING", fields, "append", "NoTimeout")
    )


IN_OUT = "came INT, went INT, last STRUCT<n: INT, m: INT>"
OTHERS: dict[str, tuple[Plan, Plan]] = {
    "a function": (by("id"), by("upper(id)")),
    "another function": (by("lower(id)"), by("upper(id)")),
    "a function by another name": (by("id"), lambda d, _: d.withColumn("id", F.upper("id")).groupBy("id").count()),
    "fewer groups": (by("n"), by("n % 10")),
    "another number of groups": (by("n % 10"), by("n % 100")),
    "days for hours": (by("date_trunc('hour', at)"), by("date_trunc('day', at)")),
    "days by a cast": (by("at"), by("cast(cast(at as date) as timestamp)")),
    "another text of a time": (by("date_format(at, 'yyyy-MM')"), by("date_format(at, 'yyyy-MM-dd')")),
    "whole numbers as text": (by("cast(price as string)"), by("cast(cast(price as int) as string)")),
    "a part of a text": (by("substring(id, 1, 2)"), by("substring(id, 1, 3)")),
    "another field of a map": (by("m['a']"), by("m['b']")),
    "another threshold": (
        by("CASE WHEN n > 5 THEN 'many' ELSE 'few' END"),
        by("CASE WHEN n > 6 THEN 'many' ELSE 'few' END"),
    ),
    "other names for some": (by("id"), by("CASE WHEN id = 'de' THEN 'Germany' ELSE id END")),
    "another constant": (by("id", lambda: F.lit("a")), by("id", lambda: F.lit("b"))),
    "columns swapped": (by("id", "other"), by("other", "id")),
    "operands swapped where it matters": (by("n - 1"), by("1 - n")),
    "a comparison turned": (by("n < 5"), by("n > 5")),
    "a function of Python": (by("id"), by(_function(str.upper))),
    "a longer window": (_window("1 minute"), _window("2 minutes")),
    "a longer sliding window": (_window("2 minutes", "1 minute"), _window("3 minutes", "1 minute")),
    "a sliding window": (_window("2 minutes"), _window("2 minutes", "1 minute")),
    "another slide": (_window("4 minutes", "1 minute"), _window("4 minutes", "2 minutes")),
    "another start": (_window("1 minute", None, "10 seconds"), _window("1 minute", None, "20 seconds")),
    "a start": (_window("1 minute"), _window("1 minute", None, "20 seconds")),
    "a start of a sliding window": (
        _window("2 minutes", "1 minute", "10 seconds"),
        _window("2 minutes", "1 minute", "20 seconds"),
    ),
    "a key beside an unpivot": (_unpivoted("id"), _unpivoted("other")),
    "another column of an unpivot": (_unpivoted("v"), _unpivoted("v", "price * 2")),
    "another gap": (by(lambda: F.session_window("at", "10 seconds")), by(lambda: F.session_window("at", "20 seconds"))),
    "a gap by column": (
        by(lambda: F.session_window("at", "10 seconds")),
        by(lambda: F.session_window("at", F.col("other"))),
    ),
    "windows of other windows": tuple(  # type: ignore[dict-item]
        lambda d, _, length=length: (
            d.withWatermark("at", "1 minute")
            .groupBy(F.window("at", "1 minute"))
            .count()
            .groupBy(F.window(F.window_time("window"), length))
            .count()
        )
        for length in ("2 minutes", "4 minutes")
    ),
    "duplicates of a function": (
        lambda d, _: d.select("id").dropDuplicates(),
        lambda d, _: d.select(F.upper("id").alias("id")).dropDuplicates(),
    ),
    "distinct rows": (sql("SELECT DISTINCT id FROM events"), sql("SELECT DISTINCT upper(id) AS id FROM events")),
    "a WITH clause": (
        sql("WITH e AS (SELECT id AS k FROM events) SELECT k, count(*) AS c FROM e GROUP BY k"),
        sql("WITH e AS (SELECT upper(id) AS k FROM events) SELECT k, count(*) AS c FROM e GROUP BY k"),
    ),
    "a join by a function": (joined("id = r_id"), joined("id = upper(r_id)")),
    "groups of a function": (_groups("id", "n INT"), _groups("upper(id)", "n INT")),
    "one side of a union": (
        lambda d, r: d.select("id").union(r.select("r_id")).groupBy("id").count(),
        lambda d, r: d.select("id").union(r.select(F.upper("r_id"))).groupBy("id").count(),
    ),
    "elements of another list": (
        lambda d, _: d.select(F.explode("tags").alias("t")).groupBy("t").count(),
        lambda d, _: d.select(F.explode(F.slice("tags", 1, 2)).alias("t")).groupBy("t").count(),
    ),
}

ALIKE: dict[str, tuple[Plan, Plan]] = {
    "another name": (by("upper(id)"), by(lambda: F.expr("upper(id)").alias("k"))),
    "in a column before": (by("upper(id)"), lambda d, _: d.withColumn("k", F.upper("id")).groupBy("k").count()),
    "renamed before": (by("upper(id)"), lambda d, _: d.withColumnRenamed("id", "x").groupBy(F.upper("x")).count()),
    "by SQL": (by("upper(id)"), sql("SELECT upper(id), count(*) FROM events GROUP BY 1")),
    "by a WITH clause": (
        by("upper(id)"),
        sql("WITH e AS (SELECT upper(id) AS k FROM events) SELECT k, count(*) AS c FROM e GROUP BY k"),
    ),
    "other rows and columns": (
        by("upper(id)"),
        lambda d, _: d.where("n > 5").groupBy(F.upper("id")).agg(F.count("*").alias("c")),
    ),
    "operands in another order": (by("n + 1 + length(id)"), by("length(id) + (1 + n)")),
    "a comparison from the other side": (by("n > 5"), by("5 < n")),
    "a list in another order": (by("id IN ('a', 'b')"), by("id IN ('b', 'a')")),
    "a constant that is computed": (by("n % 3600"), by("n % (60 * 60)")),
    "a constant of another type": (by("n % 10"), by(lambda: F.col("n") % F.lit(10).cast("int"))),
    "a unit by another name": (by("date_trunc('day', at)"), by("date_trunc('DD', at)")),
    "a length in another unit": (_window("60 seconds"), _window("1 minute")),
    "a gap in another unit": (
        by(lambda: F.session_window("at", "90 seconds")),
        by(lambda: F.session_window("at", "1 minute 30 seconds")),
    ),
    "a try": (by("cast(id as int)"), by("try_cast(id as int)")),
    "null as a text": (by("id"), by("coalesce(id, 'none')")),
    "null as a text, by nvl": (by("id"), by("nvl(id, 'none')")),
    "null as a text, by a case": (by("id"), by("CASE WHEN id IS NULL OR id = '' THEN 'none' ELSE id END")),
    "empty as null": (by("id"), by("nullif(trim(id), '')")),
    "between": (by("n BETWEEN 1 AND 5"), by("n >= 1 AND n <= 5")),
    "null as a text, by if": (by("upper(id)"), by("if(isnotnull(id), upper(id), 'none')")),
    "an element with more care": (by("tags[0]"), by("try_element_at(tags, 1)")),
    "a key with more care": (by("m['a']"), by("element_at(m, 'a')")),
    "a division with more care": (by("n / price"), by("try_divide(n, price)")),
    "a needless cast": (by("upper(id)"), by("upper(cast(id as string))")),
    "the text of a number": (by("concat(n, '')"), by("concat(cast(n as string), '')")),
    "another function of Python": (by(_function(str.upper)), by(_function(lambda text: text.strip().upper()))),
    "a join the other way round": (joined("id = r_id"), joined("r_id = id")),
    "a join with a condition more": (joined("id = r_id"), joined("id = r_id AND other = 'x' AND r_n > n")),
    "elements by another name": (
        lambda d, _: d.select(F.explode("tags").alias("t")).groupBy("t").count(),
        lambda d, _: d.select(F.explode("tags").alias("u")).groupBy("u").count(),
    ),
    "a union the other way round": (
        lambda d, r: d.select("id").union(r.select(F.upper("r_id"))).groupBy("id").count(),
        lambda d, r: r.select(F.upper("r_id")).union(d.select("id")).groupBy("upper(r_id)").count(),
    ),
    "a function of a higher order by other names": (
        by("transform(tags, x -> upper(x))"),
        by("transform(tags, tag -> upper(tag))"),
    ),
}


@pytest.mark.parametrize("name", OTHERS)
def test_another_expression_is_another_key(states: States, name: str) -> None:
    before, after = OTHERS[name]
    found = difference(states(before), states(after))
    assert found is not None
    assert len(found) < 400, found


@pytest.mark.parametrize("name", ALIKE)
def test_the_same_expression_written_otherwise_is_the_same_key(states: States, name: str) -> None:
    before, after = (states(plan) for plan in ALIKE[name])
    assert difference(before, after) is None


def test_what_differs_is_said_as_the_job_has_it(states: States) -> None:
    words = difference(states(by("id", "n % 10")), states(by("upper(id)", "n % 100")))
    assert words == (
        "operator 0 (aggregation) kept its state by l/value.id, remainder(l/value.n, 10), "
        "now by upper(l/value.id), remainder(l/value.n, 100)"
    )
    words = difference(states(_window("1 minute")), states(_window("1 minute", None, "20 seconds")))
    assert words is not None
    assert "windows of 60 s" in words


def _sums(*which: str) -> Plan:
    return lambda left, _: left.groupBy("id").agg(*(F.expr(one) for one in which))


def _counts(*conditions: str) -> Plan:
    """A count of the rows of each condition, as sinks are."""

    def plan(left: DataFrame, _: DataFrame) -> DataFrame:
        first, second = (left.where(one).groupBy("id").count() for one in conditions)
        return first.union(second)

    return plan


GAINS, LOSSES = "sum(CASE WHEN n > 0 THEN n ELSE 0 END)", "sum(CASE WHEN n < 0 THEN -n ELSE 0 END)"
SWAPPED: dict[str, tuple[Plan, Plan]] = {
    "sums": (_sums(GAINS, LOSSES), _sums(LOSSES, GAINS)),
    "counts with a FILTER": tuple(  # type: ignore[dict-item]
        _sums(*(f"count(*) FILTER (WHERE n {sign} 0)" for sign in signs)) for signs in ("<>", "><")
    ),
    "rows": (_counts("n > 9", "n <= 9"), _counts("n <= 9", "n > 9")),
    "fields": (_groups("id", IN_OUT), _groups("id", "went INT, came INT, last STRUCT<n: INT, m: INT>")),
    "a field beside a new one": (_groups("id", "a INT, b INT"), _groups("id", "b INT, c INT")),
    "fields of a field": (_groups("id", IN_OUT), _groups("id", "came INT, went INT, last STRUCT<m: INT, n: INT>")),
    "rows of a join": tuple(  # type: ignore[dict-item]
        lambda d, r, ways=ways: d.join(r, F.expr(f"id = r_id AND {ways[0]}")).union(
            d.join(r, F.expr(f"id = r_id AND {ways[1]}"))
        )
        for ways in (("n > r_n", "n < r_n"), ("n < r_n", "n > r_n"))
    ),
}


@pytest.mark.parametrize("name", SWAPPED)
def test_what_differs_only_in_an_expression_or_its_rows_must_not_change_places(states: States, name: str) -> None:
    before, after = (states(plan) for plan in SWAPPED[name])
    assert difference(before, before) is None
    found = difference(before, after)
    assert found is not None
    assert len(found) < 400, found


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (_sums(GAINS, LOSSES), _sums(GAINS.replace("> 0", "> 1"), LOSSES)),
        (_counts("n > 9", "n <= 9"), _counts("n > 10", "n <= 10")),
        (_counts("n > 9", "n <= 9"), _counts("n > 9", "n < 9")),
        (_groups("id", IN_OUT), _groups("id", "arrived INT, went INT, last STRUCT<n: INT, m: INT>")),
    ],
)
def test_expressions_and_rows_may_be_corrected(states: States, before: Plan, after: Plan) -> None:
    assert difference(states(before), states(after)) is None


def test_a_note_of_an_older_tandem_does_not_name_the_fields_of_a_function_s_state(states: States) -> None:
    found = states(_groups("id", IN_OUT))
    assert found[0].values == ("came", "went", "last", "last.n", "last.m")
    assert difference([replace(one, values=()) for one in found], found) is None
