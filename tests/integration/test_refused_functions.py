"""What a job's function may not do is refused, with its line and with what to do instead."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from integration.planning_replica import Replica, add, body
from tandem.engine.file_columns import check_file_columns
from tandem.jobapi.errors import JobError

pytestmark = [pytest.mark.integration, pytest.mark.timeout(300)]

OF_TANDEM = {
    "a debug query": (
        "events.writeStream.format('console').start()",
        "starts a query of its own. Tandem starts the query",
    ),
    "a debug query that is awaited": (
        "events.writeStream.format('console').start().awaitTermination()",
        "starts a query of its own. Tandem starts the query",
    ),
    "foreachBatch": (
        "events.writeStream.foreachBatch(lambda frame, number: None).start()",
        "hands rows to a function of its own",
    ),
    "foreach that is not started": ("events.writeStream.foreach(print)", "hands rows to a function of its own"),
    "a table that it writes": ("ctx.spark.range(3).write.parquet('written')", "writes a table of its own"),
    "rows into a folder in SQL": (
        "ctx.spark.sql(\"INSERT OVERWRITE DIRECTORY 'x' USING parquet SELECT 1\")",
        "writes a table of its own",
    ),
    "rows into a table in SQL": (
        "ctx.spark.sql('WITH r AS (SELECT 1 a) INSERT INTO t SELECT a FROM r')",
        "writes a table of its own",
    ),
    "rows of a DataFrame in SQL": (
        "ctx.spark.sql('INSERT INTO t SELECT * FROM {rows}', rows=ctx.spark.range(3))",
        "writes a table of its own",
    ),
    "a table with rows in SQL": ("ctx.spark.sql('CREATE TABLE t2 AS SELECT 1 a')", "writes a table of its own"),
    "rows in a script": (
        "ctx.spark.sql('BEGIN IF true THEN INSERT INTO t SELECT 1; END IF; END')",
        "writes a table of its own",
    ),
    "a merge": (
        "ctx.spark.range(3).mergeInto('t', F.expr('true')).whenMatched().delete().merge()",
        "writes a table of its own",
    ),
    "a table by the time of its files": (
        "ctx.spark.read.option('modifiedAfter', '2026-01-01T00:00:00').parquet(ctx.options['rates'])",
        "a table by when its files were written, modifiedAfter",
    ),
    "settings that come too late": (
        "type(ctx.spark).builder.appName('x').master('local').config('spark.sql.extensions', 'a.B').getOrCreate()",
        "has no effect in a session that runs. Set spec.spark.conf[spark.sql.extensions] instead",
    ),
    "a query into a table": ("events.writeStream.toTable('t')", "starts a query of its own. Tandem starts the query"),
    "waiting for any query": ("ctx.spark.streams.awaitAnyTermination()", "waits for a query"),
    "a stream of its own": ("ctx.spark.readStream.format('rate').load()", "opens a stream of its own"),
    "the session's end": ("ctx.spark.stop()", "stops Spark, which Tandem still needs"),
    "a checkpoint of a table": ("ctx.spark.range(3).localCheckpoint()", "cuts off a DataFrame's plan"),
    "files as an RDD": ("ctx.spark.sparkContext.textFile('job.py')", "reads files past Tandem"),
    "a table by JDBC": ("ctx.spark.read.format('jdbc').option('url', 'jdbc:x').load()", "a static table from jdbc"),
}


@pytest.mark.parametrize(("line", "said"), OF_TANDEM.values(), ids=OF_TANDEM)
def test_what_is_tandems_to_do_is_refused_with_its_line(replica: Callable[..., Replica], line: str, said: str) -> None:
    with pytest.raises(JobError) as refused:
        replica(body(line)).plan()

    assert said in str(refused.value)
    assert "job.py:5" in str(refused.value)


def test_a_query_is_refused_also_where_the_code_hides_it(replica: Callable[..., Replica]) -> None:
    hidden = ("try:", "    events.writeStream.format('console').start()", "except Exception:", "    pass")
    with pytest.raises(JobError, match="starts a query of its own"):
        replica(body(*hidden)).plan()
    with pytest.raises(JobError, match="opens a stream of its own"):
        replica(
            body(before="from pyspark.sql import SparkSession\nSparkSession.builder.getOrCreate().readStream.load()")
        )


def test_views_and_functions_made_by_the_function_do_not_stand_in_the_way_of_its_next_call(
    replica: Callable[..., Replica], spark: SparkSession
) -> None:
    sql = 'ctx.spark.sql("SELECT e.key, same(e.value) value FROM e JOIN global_temp.g ON e.offset = g.offset")'
    made = replica(
        body(
            "events.createTempView('e')",
            "events.createGlobalTempView('g')",
            "ctx.spark.udf.register('f', len)",
            "ctx.spark.sql('CREATE TEMPORARY FUNCTION same(x BINARY) RETURNS BINARY RETURN x')",
            "ctx.spark.sql('CREATE TEMPORARY FUNCTION pairs(x INT) RETURNS TABLE (y INT) RETURN SELECT x')",
            returns=sql,
            before="from pyspark.sql import SparkSession\nspark = SparkSession.builder.getOrCreate()\n"
            "spark.sql('CREATE OR REPLACE TEMPORARY FUNCTION of_module(x INT) RETURNS INT RETURN x')",
        )
    )

    made.tried()

    assert not spark.catalog.tableExists("e")
    assert spark.catalog.functionExists("of_module")
    assert spark.catalog.functionExists("f"), "a module may register it once"
    assert not spark.catalog.functionExists("same")


def test_words_of_sql_that_write_nothing_are_no_writes(replica: Callable[..., Replica]) -> None:
    queries = ("SELECT 'insert' AS k", "SELECT replace(k, 'e') AS k FROM {rows}", "BEGIN SELECT 'update' AS k; END")
    first, second, third = (f"ctx.spark.sql({query!r}" for query in queries)
    lines = (f"rows = {first})", f"rows = {second}, rows=rows)", f"rows = rows.union({third}))")
    replica(body(*lines, returns="events.join(rows, F.col('k') == F.col('key')).select('key', 'value')")).plan()


def test_what_a_function_leaves_for_its_next_call_is_refused(replica: Callable[..., Replica]) -> None:
    kept = body("global KEPT", "KEPT = KEPT or events", before="KEPT = None", returns="KEPT.select('key', 'value')")
    made = replica(kept)
    made.plan()
    with pytest.raises(JobError, match="a DataFrame of an earlier call"):
        made.plan()
    made = replica(body("ctx.spark.sql('CREATE TABLE kept_t (a INT) USING parquet')"))
    made.plan()
    with pytest.raises(JobError, match=r"called more than once.*CREATE TABLE IF NOT EXISTS"):
        made.plan()


ASKING = {
    "counting": ("events.count()", "A stream has no rows while the function runs"),
    "showing": ("events.show()", "A stream has no rows while the function runs"),
    "writing": ("events.write.parquet('/tmp/x')", "A stream has no rows while the function runs"),
    "leaving": ("import sys; sys.exit(3)", "A replica runs on: return the DataFrame"),
    "a misspelt setting": (
        "ctx.spark.conf.set('spark.sql.ansi.enable', 'false')",
        "Did you mean spark.sql.ansi.enabled",
    ),
    "a static setting": ("ctx.spark.conf.set('spark.executor.memory', '4g')", "set it in spec.spark.conf"),
    "a setting of the JVM": (
        "type(ctx.spark).builder.config('spark.driver.memory', '8g').getOrCreate()",
        "Set spec.spark.driverMemory instead, or remove the line",
    ),
    "a setting of the JVM in a SparkConf": (
        "import pyspark; conf = pyspark.SparkConf().set('spark.sql.warehouse.dir', '/tables'); "
        "type(ctx.spark).builder.config(conf=conf).getOrCreate()",
        "sets spark.sql.warehouse.dir to /tables",
    ),
    "a setting of Tandem's": (
        "ctx.spark.conf.set('spark.sql.shuffle.partitions', '7')",
        "Set spec.spark.parallelism instead",
    ),
}


@pytest.mark.parametrize(("line", "said"), ASKING.values(), ids=ASKING)
def test_what_cannot_be_in_a_function_is_refused_with_what_to_do(
    replica: Callable[..., Replica], spark: SparkSession, line: str, said: str
) -> None:
    before = spark._jsparkSession.sessionState().conf().clone()
    try:
        with pytest.raises(JobError, match=said):
            replica(body(line)).plan()
    finally:
        conf = spark._jsparkSession.sessionState().conf()
        conf.settings().clear()
        conf.settings().putAll(before.settings())


def test_what_a_program_says_of_itself_stands_in_no_way(replica: Callable[..., Replica]) -> None:
    said = "appName('mine').master('local[8]').config('spark.mine', 'x').config('spark.sql.caseSensitive', False)"
    conf = "config(conf=SparkConf().setAppName('mine'))"
    replica(
        body(
            f"type(ctx.spark).builder.{said}.getOrCreate()",
            f"type(ctx.spark).builder.{conf}.getOrCreate()",
            before="from pyspark import SparkConf",
        )
    ).prepared()


RESULTS = {
    "a table": (
        "return ctx.spark.range(3).selectExpr('string(id) value')",
        "sink out: .* reads none of the job's sources",
    ),
    "one of a dict": ("return {'out': ctx.spark.range(3)}", "sink out: .* reads none of the job's sources"),
}


@pytest.mark.parametrize(("line", "said"), RESULTS.values(), ids=RESULTS)
def test_rows_that_no_source_gives_are_refused(replica: Callable[..., Replica], line: str, said: str) -> None:
    with pytest.raises(JobError, match=said):
        replica(body(line)).plan()


@pytest.mark.parametrize(
    ("url", "remedy"),
    [
        ("s3a://lake/rates", r"org\.apache\.hadoop:hadoop-aws:\d+\.\d+\.\d+"),
        ("s3://lake/rates", "write s3a://lake/rates"),
        ("abfss://lake@shop.dfs.core.windows.net/rates", "hadoop-azure"),
    ],
)
def test_a_table_in_a_store_that_spark_has_no_package_for_is_refused_with_the_package(
    replica: Callable[..., Replica], url: str, remedy: str
) -> None:
    with pytest.raises(JobError, match=remedy):
        replica(body(returns=f"events.join(ctx.spark.read.parquet({url!r}), 'key').select('key', 'value')")).plan()


BESIDE = "events.join(STATIC, F.col('key').cast('string') == F.col('currency')).select('key', 'value')"
PAST = {
    "files in SQL": BESIDE.replace("STATIC", "ctx.spark.sql('SELECT currency FROM parquet.`RATES`')"),
    "a table of a catalogue": BESIDE.replace("STATIC", "ctx.spark.table('known')"),
    "a table in a subquery": "events.where('offset > (SELECT max(rate) FROM parquet.`RATES`)').select('key', 'value')",
}


@pytest.mark.parametrize("frame", PAST.values(), ids=PAST)
def test_tables_that_are_read_past_tandem_are_refused(
    replica: Callable[..., Replica], spark: SparkSession, tmp_path: Path, frame: str
) -> None:
    add(tmp_path / "rates", "a.parquet", EUR=1.1)
    spark.sql("CREATE TABLE IF NOT EXISTS known (currency STRING) USING parquet")

    with pytest.raises(JobError, match="past Tandem"):
        replica(body(returns=frame.replace("RATES", str(tmp_path / "rates")))).plan()


RATES = "ctx.spark.read.parquet(ctx.options['rates'])"


@pytest.mark.parametrize(
    "rows", ["rows.rdd, rows.schema", "rows.rdd.map(lambda row: (row[0], row[1])), 'currency STRING, rate DOUBLE'"]
)
def test_a_table_that_is_read_as_an_rdd_is_refused(replica: Callable[..., Replica], tmp_path: Path, rows: str) -> None:
    add(tmp_path / "rates", "a.parquet", EUR=1.1)
    returns = BESIDE.replace("STATIC", f"ctx.spark.createDataFrame({rows})")

    with pytest.raises(JobError, match=r"made of the RDD of another one \((FileScanRDD|DataSourceRDD)\)"):
        replica(body(f"rows = {RATES}", returns=returns)).plan()
    replica(
        body("rows = ctx.spark.createDataFrame([('EUR', 1.1)], 'currency STRING, rate DOUBLE')", returns=returns)
    ).plan()


FILES = "ctx.spark.read.format('binaryFile').load(ctx.options['rates'])"
OF_FILES = {
    "where it is": (f"{RATES}.selectExpr('currency', '_metadata.file_path AS m')", "_metadata.file_path"),
    "when it was written": (
        f"{RATES}.where('_metadata.file_modification_time > timestamp_seconds(0)').withColumn('m', F.lit('x'))",
        "_metadata.file_modification_time",
    ),
    "all": (f"{RATES}.select('currency', F.to_json('_metadata').alias('m'))", "_metadata"),
    "its name": (f"{RATES}.selectExpr('currency', '_metadata.file_name || _metadata.file_size AS m')", None),
    "nothing": (f"{RATES}.selectExpr('currency', 'currency AS m')", None),
    "where a picture is": (f"{FILES}.selectExpr('path AS currency', 'hex(content) AS m')", "path"),
    "when a picture was written": (
        f"{FILES}.selectExpr('modificationTime AS m', 'length AS currency')",
        "modificationTime",
    ),
    "a picture": (f"{FILES}.withColumn('currency', F.hex('content')).withColumn('m', F.lit('x'))", None),
}


@pytest.mark.parametrize(("table", "said"), OF_FILES.values(), ids=OF_FILES)
def test_where_a_tables_files_are_and_when_they_were_written_is_refused(
    replica: Callable[..., Replica], tmp_path: Path, table: str, said: str | None
) -> None:
    add(tmp_path / "rates", "a.parquet", EUR=1.1)
    returns = BESIDE.replace("STATIC", table).replace("'value')", "F.col('m').cast('string').alias('value'))")
    plan = replica(body(returns=returns)).plan()

    if said is None:
        check_file_columns(plan.frame)
        return
    with pytest.raises(JobError, match=f"reads {said} of"):
        check_file_columns(plan.frame)
