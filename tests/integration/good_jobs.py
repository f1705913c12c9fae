"""Jobs as people write them, which no check may refuse: one module of many."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from textwrap import indent

from integration.good_modules import HEAD, HELPER, SESSION, SHOP
from tandem.manifest import Manifest, load

GOOD: Mapping[str, str] = {
    "a function with all of the module": "return text(events).select(described('text').alias('value'))",
    "a function for pandas": "return events.select(predicted(col('offset').cast('double')).cast('string').alias('value'))",
    "partials, decorators and lambdas": """
        upper = udf(functools.partial(named, by="x", upper=True), "string")
        again = udf(retried()(lambda text: str(text)), "string")
        blocked = udf(lambda text: text in BLOCKED.value, "boolean")
        chosen = udf(lambda text, names=tuple(BY_NAME): text in names, T.BooleanType())
        columns = [upper("text"), again("text"), blocked("text").cast("string"), chosen("text").cast("string")]
        return text(events).select(F.concat_ws("-", *columns).alias("value"))""",
    "functions by name": """
        ctx.spark.udf.register("shout", lambda text: str(text).upper(), "string")
        ctx.spark.udf.register("described", described)
        return text(events).selectExpr("shout(text) AS key", "described(text) AS value")""",
    "a WITH clause, used twice, views and values": """
        text(events).createOrReplaceTempView("events")
        return ctx.spark.sql('''
            WITH known AS (SELECT code, country FROM countries WHERE code <> 'x'),
                 more AS (SELECT * FROM known UNION ALL SELECT * FROM VALUES ('c', 'Chile') AS t(code, country))
            SELECT e.key, m.country AS value FROM events e JOIN more m ON e.text = m.code
            JOIN known k ON k.code = m.code WHERE e.text IN (SELECT code FROM known)''')""",
    "a WITH clause over the stream": """
        text(events).createOrReplaceTempView("events")
        return ctx.spark.sql('''
            WITH parsed AS (SELECT key, text, offset FROM events)
            SELECT key, text AS value FROM parsed WHERE offset % 2 = 0
            UNION ALL SELECT key, upper(text) FROM parsed WHERE offset > (SELECT max(id) FROM range(3))''')""",
    "SQL with DataFrames and parameters": """
        return ctx.spark.sql("SELECT key, value FROM {rows} JOIN {names} ON {names}.code = :code",
                             rows=events, names=COUNTRIES, args={"code": "a"})""",
    "static rows in every way": """
        session = ctx.spark
        rows = session.createDataFrame([Row(n=1, m="a"), Row(n=2, m="b")])
        dicts = session.createDataFrame([{"n": 1, "k": 1.5}, {"n": 2, "k": None}])
        frame = session.createDataFrame(pd.DataFrame({"n": [1, 2], "when": pd.to_datetime(["2024-01-01", "2024-01-02"])}))
        arrow = session.createDataFrame(pa.table({"n": [1, 2], "t": ["x", "y"]}))
        parallel = session.sparkContext.parallelize([(1, "p"), (2, "q")]).toDF(["n", "p"])
        numbers = session.range(10).withColumnRenamed("id", "n").where("n > 0").cache()
        static = rows.join(dicts, "n").join(frame, "n").join(arrow, "n").join(parallel, "n").join(numbers, "n", "left_semi")
        return events.join(F.broadcast(static), col("offset") == col("n"), "left").select("key", col("m").alias("value"))""",
    "cogrouped static rows": """
        def together(left, right):
            return pd.merge(left, right, on="code")
        both = COUNTRIES.groupBy("code").cogroup(COUNTRIES.withColumnRenamed("country", "name").groupBy("code"))
        static = both.applyInPandas(together, "code STRING, country STRING, name STRING")
        first = Window.partitionBy("code").orderBy(F.desc("name"))
        static = static.withColumn("row", F.row_number().over(first)).where("row = 1")
        return text(events).join(static, col("text") == col("code")).select("key", col("name").alias("value"))""",
    "functions of a higher order": """
        letters = F.split("text", "")
        made = F.transform(letters, lambda x: F.upper(x))
        made = F.filter(made, lambda x: F.exists(letters, lambda y: F.upper(y) == x))
        total = F.aggregate(made, lit(0), lambda sum, x: sum + F.length(x), lambda sum: sum * 2)
        pairs = F.zip_with(letters, made, lambda x, y: F.concat(x, y))
        sql = expr("transform(split(text, ''), x -> concat(x, 'y'))")
        maps = F.transform_values(F.create_map(lit("a"), col("offset")), lambda k, v: v + 1)
        return text(events).select(F.to_json(F.struct(made, total, pairs, sql, maps)).alias("value"))""",
    "bytes, headers, a partition, no key": """
        headers = F.array(F.struct(lit("kind").alias("key"), lit(b"order").alias("value")))
        return events.select(lit(None).alias("key"), F.concat(lit(bytearray(b"a")), "value", expr("X'0aff'")).alias("value"),
                             headers.alias("headers"), F.pmod("offset", lit(2)).cast("int").alias("partition"))""",
    "windows": """
        late = events.withWatermark("timestamp", "1 minute")
        counted = late.groupBy(F.window("timestamp", "1 minute", "30 seconds"), "key")
        return (counted.agg(F.count("*").alias("n"), F.approx_count_distinct("value"), F.collect_set("offset").alias("all"))
                .select("key", F.to_json(F.struct("window.start", "n", "all")).alias("value")))""",
    "sessions": """
        counted = events.withWatermark("timestamp", "1 minute").groupBy(F.session_window("timestamp", "5 seconds"), "key")
        return counted.count().select("key", col("count").cast("string").alias("value"))""",
    "a stream joined with itself": """
        left = events.withWatermark("timestamp", "1 minute").alias("l")
        right = events.withWatermark("timestamp", "2 minutes").alias("r")
        near = expr("l.key = r.key AND r.timestamp BETWEEN l.timestamp AND l.timestamp + INTERVAL 1 MINUTE")
        return left.join(right, near, "leftOuter").select("l.key", col("r.value").alias("value"))""",
    "two sources joined": """
        paid = orders.withColumn("at", col("metadata.timestamp")).withWatermark("at", "1 minute")
        seen = text(events).withWatermark("timestamp", "1 minute")
        near = (col("text") == col("product")) & (col("at") >= col("timestamp"))
        return seen.join(paid, near).select(col("text").alias("key"), col("product").alias("value"))""",
    "unions of one frame": """
        parsed = text(events).where("text IS NOT NULL")
        return parsed.union(parsed).unionByName(parsed.withColumn("more", lit(1)), allowMissingColumns=True)""",
    "duplicates": "return events.dropDuplicates(['key', 'offset']).select('key', 'value')",
    "duplicates within a watermark": """
        late = events.withWatermark("timestamp", "1 minute")
        return late.dropDuplicatesWithinWatermark(["key"]).select("key", "value")""",
    "counts by key": "return orders.groupBy('product').agg(F.sum('amount')).select(F.to_json(F.struct('*')).alias('value'))",
    "exploded and parsed": """
        schema = "items ARRAY<STRUCT<n: INT, tags: MAP<STRING, STRING>>>"
        parsed = text(events).select("key", F.from_json("text", schema).alias("r"))
        rows = parsed.select("key", F.posexplode_outer("r.items").alias("at", "item")).select("*", F.explode("item.tags"))
        return rows.select("item.n", col("value").alias("value"))""",
    "a topic that is the input's": "return orders.withColumn('value', F.to_json(F.struct('*')))",
    "a topic in rows that go through pandas": """
        def same(frames: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
            for frame in frames:
                yield frame
        rows = events.drop("metadata", "timestamp")
        return rows.mapInPandas(same, rows.schema).mapInArrow(lambda batches: batches, rows.schema)""",
    "groups through pandas": """
        def sums(key, frame):
            return pd.DataFrame({"value": [str(frame["amount"].sum())]})
        return orders.groupBy("product").applyInPandas(sums, "value STRING")""",
    "states through pandas": """
        def counted(key, frames, state: GroupState):
            n = sum(len(frame) for frame in frames) + (state.get[0] if state.exists else 0)
            state.update((n,))
            yield pd.DataFrame({"value": [f"{key[0]} {n}"]})
        grouped = orders.groupBy("product")
        return grouped.applyInPandasWithState(counted, "value STRING", "n LONG", "append", GroupStateTimeout.NoTimeout)""",
    "a processor": """
        grouped = orders.groupBy("product")
        return grouped.transformWithStateInPandas(Counting(), "value STRING", "Append", "None")""",
    "settings read and set": """
        assert ctx.spark.conf.get("spark.sql.session.timeZone")
        ctx.spark.conf.set("spark.sql.session.timeZone", "Etc/UTC")
        ctx.spark.conf.set("spark.sql.shuffle.partitions", 1)
        ctx.spark.conf.set("spark.sql.adaptive.enabled", False)
        ctx.spark.conf.set("spark.sql.caseSensitive", False)
        ctx.spark.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", 5000)
        ctx.spark.sparkContext.setLogLevel("ERROR")
        assert not ctx.spark.catalog.tableExists("nowhere")
        LOG.info("%s %s", ctx.spark.version, ctx.spark.sparkContext.applicationId)
        return events.select("key", "value")""",
    "what the log knows, and questions": """
        seen = F.date_format(ctx.epoch_time(source="events"), "yyyy")
        drawn = ctx.rng(source="events").cast("string")
        asked = ctx.ask("who", lambda records: [None for _ in records], source="events")
        known = ctx.determinant("model", lambda time_ms: time.time(), "DOUBLE", source="events")
        return events.select(F.concat_ws("-", seen, drawn, asked, known.cast("string")).alias("value"))""",
    "tables of files": """
        path = ctx.options["countries"]
        one = ctx.spark.read.option("header", True).csv(path)
        other = ctx.spark.read.format("csv").schema("code STRING, name STRING").options(header="true").load(path)
        static = one.drop("name").join(other.hint("broadcast"), "code").na.fill("?").dropna()
        return text(events).join(static, col("text") == col("code"), "left").select("key", col("name").alias("value"))""",
    "many operators": """
        chosen = F.when(col("offset") > 1, "x").otherwise(lit("y"))
        parsed = (text(events).withColumns({"a": chosen, "b": F.coalesce("text", "key")}).repartition(4, "key")
                  .withColumnRenamed("b", "c").fillna({"c": ""}).drop("a").alias("p").hint("none"))
        parsed = parsed.observe("rows", F.count(lit(1)).alias("n"))
        parsed = parsed.transform(lambda frame: frame.where(~col("c").isin("x", "y")))
        columns = [F.date_trunc("day", "timestamp"), F.to_timestamp(lit("2024-01-01")), lit(dt.date(2024, 1, 1)),
                   lit(dt.timedelta(days=1)).cast("string"), F.xxhash64("key"), F.sha2("value", 256), lit([1, 2]),
                   lit(Decimal("1.5")), lit(np.float64(2)), col("metadata.seq")]
        return parsed.select("p.key", F.to_json(F.struct(*columns)).alias("value"))""",
    "rows for a table": """
        return events.select(
            col("offset").cast("decimal(38,9)").alias("d"), F.to_date("timestamp").alias("day"), "timestamp",
            col("timestamp").cast("timestamp_ntz").alias("ntz"), F.struct("topic", F.array("partition")).alias("nested"),
            F.create_map(lit("a"), F.struct("offset")).alias("m"), "value", lit(1.5).alias("f"), lit(True).alias("ok"),
            F.when(col("offset") > 1, col("offset")).alias("maybe"), lit("x").cast("varchar(3)").alias("v"))""",
}
"""What the job does → the body of a function of `events` (raw), `orders` (JSON) and `ctx`."""

_ORDERS = "product STRING, amount DOUBLE, topic STRING"
TABLES = ("rows for a table",)


def function_of(name: str) -> str:
    return f"good_{list(GOOD).index(name)}"


def written(folder: Path, names: Sequence[str] = ()) -> Manifest:
    """The manifest of a job with a sink for each of `names` (default: all)."""
    names = names or tuple(GOOD)
    (folder / "countries").mkdir(exist_ok=True)
    (folder / "countries" / "a.csv").write_text("code,name\na,Austria\n")
    for name, text in {"words": HELPER, "session": SESSION, "shop": SHOP}.items():
        (folder / f"{name}.py").write_text(text)
    functions = [
        f"def {function_of(name)}(events, orders, ctx):\n{indent(_lines(GOOD[name]), '    ')}\n" for name in GOOD
    ]
    each = ", ".join(f"{function_of(name)!r}: {function_of(name)}(events, orders, ctx)" for name in names)
    job = f"def job(events, orders, ctx):\n    return {{{each}}}\n"
    end = 'if __name__ == "__main__":\n    job()\n'
    (folder / "job.py").write_text("\n\n".join([HEAD.lstrip(), *functions, job, end]))
    sinks = [
        {
            "name": function_of(name),
            **({"parquet": {"path": "lake"}} if name in TABLES else {"topic": function_of(name)}),
        }
        for name in names
    ]
    spec = {
        "job": {"file": "job.py", "options": {"countries": str(folder / "countries")}},
        "kafka": {"bootstrapServers": "localhost:1"},
        "zookeeper": {"connect": "localhost:2"},
        "sources": [
            {"name": "events", "topics": ["in"]},
            {
                "name": "orders",
                "topics": ["orders"],
                "format": "json",
                "schema": "product STRING, amount DOUBLE, topic STRING",
            },
        ],
        "sinks": sinks,
    }
    tree = {"apiVersion": "tandem.dev/v1alpha1", "kind": "ReplicatedStreamJob", "metadata": {"name": "x"}, "spec": spec}
    path = folder / f"{len(names)}-{function_of(names[0])}.yaml"
    path.write_text(json.dumps(tree))
    return load(path)


def _lines(body: str) -> str:
    lines = body.strip("\n").splitlines()
    blanks = min(len(line) - len(line.lstrip()) for line in lines if line.strip())
    return "\n".join(line[blanks:] for line in lines)
