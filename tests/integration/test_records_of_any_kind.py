"""Whatever a record holds and whatever its fields are called: it is a row of its source, or a dead letter that says why."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from integration.engine import Job, Record, as_json, kafka_sink, values
from tandem.jobapi.context import JobContext
from tandem.jobapi.errors import JobError
from tandem.manifest import SourceSpec

pytestmark = pytest.mark.integration

TYPES = (
    "id INT, d DOUBLE, x DECIMAL(10,2), t TIMESTAMP, n TIMESTAMP_NTZ, dt DATE, b BINARY, v VARIANT, "
    "i INTERVAL DAY TO SECOND, m MAP<STRING,MAP<STRING,INT>>, "
    "s STRING, st STRUCT<a: INT, z: STRING>, ar ARRAY<INT>, l BIGINT, need INT NOT NULL -- may be missing all the same"
)
GOOD = [
    b'{"id":1}',
    b" {'id':2}\n",
    b'{"id":3}\0',
    b'{"id":4,"s":"caf\xe9}{"}',
    b'{"id":5,"id":6}',
    b'{"id":7,"x":1e5,"d":1e999,"v":{"a":[1]},"m":{"a":{"b":1,"b":2}},"b":"AQI="}',
    b'{"id":9,"i":"INTERVAL \'1 02:03:04\' DAY TO SECOND"}',
    b'{"id":8,"s":"1e99999999","other":1e99999999}',
    b'{"id":10,"s":"12:00","t":"2024-01-01 12:00","other":"12:00"}',
]
POISON: dict[bytes | None, str] = {
    None: "the record has no value",
    b"": "the value is empty",
    b" \n ": "the value is empty",
    b"null": "it is null, not an object",
    b"7": "it is the plain value 7, not an object",
    b'[{"id":6},{"id":7}]': "it is an array of 2, not an object; write a record for each element",
    b'{"id":1}{"id":2}': "there is text behind the JSON object, from byte 8 on",
    b'{"id": 8} and more': "there is text behind the JSON object, from byte 10 on",
    b'{"id":1},': "there is text behind the JSON object, from byte 8 on",
    b"{not json": "Expecting property name",
    b'\xef\xbb\xbf{"id":1}': "it begins with a byte order mark, which JSON must not have",
    b'\0\0\0\0\x07{"id":1}': "it begins like a record of a schema registry (a zero byte, then the schema's id 7)",
    b"\x1f\x8b\x08": "it begins like gzip",
    b'{"id":99999999999,"s":"ok"}': "id is 99999999999",
    b'{"id":"one","l":"5"}': 'id is "one"; l is "5"',
    b'{"x":1e9999999}': "1e9999999 is too large or too small a number for a DECIMAL",
    b'{"t":"+294248-01-01T00:00:00Z"}': 't is "+294248-01-01T00:00:00Z"',
    b'{"dt":999999999999}': "dt is 999999999999",
    b'{"t":"12:00"}': "'12:00' is a time without a day, and Spark would add the day on which it reads it",
    b'{"t":" T7:1:2 Europe/Berlin"}': "is a time without a day",
    b'{"n":"12:00"}': 'n is "12:00"',
    b'{"b":"%%%"}': 'b is "%%%"',
    b'{"st":{"a":"x"}}': 'st.a is "x"',
    b'{"m":{"a":{"b":"x"}}}': 'm[a][b] is "x"',
    b'{"id":"\\ud800"}': r'id is "\ud800"',
    b'{"' + b"n" * 60_000 + b'":1,"id":2}': "too deep, or too long a name or number",
    b'{"q":' + b"[" * 2_000 + b"]" * 2_000 + b"}": "the value is no JSON of the schema",
    b'{"l":' + b"9" * 5_000 + b"}": "the value is no JSON of the schema",
    b'{"v":{"a":1,"a":2}}': "v is ",
    b'{"s":"' + b"x" * 30_000 + b'","id":"no"}': 'id is "no"',
}


def source(schema: str, **more: Any) -> SourceSpec:
    return SourceSpec(name="events", topics=("in",), format="json", schema=schema, **more)


def letters(table: pa.Table) -> list[dict[str, Any]]:
    return [json.loads(row["value"]) for row in table.to_pylist() if row["sink"] == "dead-letter"]


def computed(
    spark: SparkSession, folder: Path, spec: SourceSpec, job: Any, *records: Record, most: int = 20_000
) -> Any:
    """The table of an epoch with these records."""
    engine = Job(spark, folder, [spec], [kafka_sink()], most)
    engine.start(job(engine.sources["events"], JobContext(spark, {}, [spec])))
    table = engine.run(0, records)
    engine.stop()
    return table


def whole(events: DataFrame, _: JobContext) -> DataFrame:
    return events.select(
        "key", F.to_json(F.struct(*(name for name in events.columns if name != "metadata"))).alias("value")
    )


def test_each_record_is_a_row_or_a_letter_with_its_place_and_the_true_reason(
    spark: SparkSession, tmp_path: Path
) -> None:
    records = [Record(value, b"k", partition=2) for value in (*GOOD, *POISON)]
    future = Record(as_json(id=1), timestamp_ms=2**63 - 1)

    table = computed(spark, tmp_path / "any", source(TYPES), whole, *records, future)

    assert {json.loads(row["value"])["id"] for row in table.to_pylist() if row["sink"] == "out"} == {
        1,
        2,
        3,
        4,
        6,
        7,
        8,
        9,
        10,
    }
    found = {letter["offset"]: letter for letter in letters(table)}
    assert sorted(found) == list(range(len(GOOD), len(records) + 1)), "a record is neither a row nor a letter"
    for offset, (value, reason) in enumerate(POISON.items(), start=len(GOOD)):
        letter = found[offset]
        assert (letter["source"], letter["topic"], letter["partition"]) == ("events", "in", 2)
        assert reason in letter["reason"], value
        exact = base64.b64decode(letter["valueBase64"]) if "valueBase64" in letter else letter.get("value", "").encode()
        assert exact == (value or b"") or (letter["truncated"] and (value or b"").startswith(exact))
    assert found[len(records)]["timestamp"] == 2**63 - 1
    assert max(len(row["value"]) for row in table.to_pylist()) <= 20_000


NAMES = (
    "`key` STRING, metadata STRING, _metadata INT, headers STRING, epoch INT, seq INT, topic STRING, `offset` INT, "
    "`partition` INT, `timestamp` STRING, timestampType STRING, value STRING, _corrupt_record STRING, record INT, "
    "answers STRING, epoch_time STRING, epoch_seed STRING, sink STRING"
)
FIELDS = {
    **{name: name for name in ("key", "metadata", "headers", "topic", "timestamp", "timestampType", "value", "sink")},
    **{name: name for name in ("_corrupt_record", "answers", "epoch_time", "epoch_seed")},
    **{"_metadata": 1, "epoch": 2, "seq": 3, "offset": 4, "partition": 5, "record": 6},
}


def test_the_users_columns_keep_their_names_and_ours_are_in_the_struct(spark: SparkSession, tmp_path: Path) -> None:
    def job(events: DataFrame, ctx: JobContext) -> DataFrame:
        users = F.to_json(F.struct(*(f"`{name}`" for name in FIELDS))).alias("value")
        trace = F.col("__metadata.headers")[0]["value"].cast("string")
        own = F.concat_ws(
            "|", "__metadata.key", "__metadata.offset", trace, ctx.epoch_time().cast("long"), ctx.rng() < 1
        )
        return events.filter("_corrupt_record = '_corrupt_record'").select(own.alias("key"), users)

    spec = source(NAMES, includeHeaders=True)
    record = Record(as_json(**FIELDS), b"k", headers=[("trace", b"t"), ("trace", None)])
    table = computed(spark, tmp_path / "names", spec, job, record, Record(b"oops"))

    assert json.loads(values(table)[0]) == FIELDS
    assert table["key"].to_pylist()[0] == b"k|0|t|1700000000|true"
    assert [letter["value"] for letter in letters(table)] == ["oops"]


def test_a_struct_of_two_names_needs_the_source_to_be_said(spark: SparkSession) -> None:
    plain = SourceSpec(name="plain", topics=("p",))
    ctx = JobContext(spark, {}, [plain, source("metadata STRING")])

    with pytest.raises(JobError, match="Say with source="):
        ctx.epoch_time()
    with pytest.raises(JobError, match="there is no source 'other'"):
        ctx.rng(source="other")
    assert "_metadata.epoch_time" in str(ctx.epoch_time(source="events"))
    assert "metadata.epoch_seed" in str(ctx.rng(source="plain"))


def test_a_source_without_a_clash_has_the_columns_that_it_always_had(spark: SparkSession, tmp_path: Path) -> None:
    raw = SourceSpec(name="events", topics=("in",))
    kafka = ["key", "value", "topic", "partition", "offset", "timestamp", "timestampType"]

    def columns(name: str, spec: SourceSpec) -> list[str]:
        return Job(spark, tmp_path / name, [spec], [kafka_sink()]).sources["events"].columns

    assert columns("json", source("id INT, s STRING")) == ["id", "s", "key", "metadata"]
    assert columns("raw", raw) == [*kafka, "epoch", "seq", "metadata"]
    traced = raw.model_copy(update={"include_headers": True})
    assert columns("traced", traced) == [*kafka, "headers", "epoch", "seq", "metadata"]


def test_a_name_in_other_letters_clashes_only_where_spark_ignores_case(spark: SparkSession, tmp_path: Path) -> None:
    def columns(name: str) -> list[str]:
        return (
            Job(spark, tmp_path / name, [source("Key STRING, METADATA INT")], [kafka_sink()]).sources["events"].columns
        )

    assert columns("ignored") == ["Key", "METADATA", "_metadata"]
    spark.conf.set("spark.sql.caseSensitive", "true")
    try:
        assert columns("minded") == ["Key", "METADATA", "key", "metadata"]
        told_apart = Job(spark, tmp_path / "apart", [source("id INT, ID INT")], [kafka_sink()]).sources["events"]
        assert told_apart.columns == ["id", "ID", "key", "metadata"]
    finally:
        spark.conf.unset("spark.sql.caseSensitive")


@pytest.mark.parametrize("schema", ["a CHAR(3)", "a STRUCT<b: VARCHAR(3)>", "a MAP<INT, STRING>"])
def test_a_schema_that_spark_reads_no_json_of_is_refused_by_name(
    spark: SparkSession, tmp_path: Path, schema: str
) -> None:
    with pytest.raises(
        JobError, match=r"source events: Spark reads no JSON of the schema .*Give these columns another type"
    ):
        Job(spark, tmp_path / "schema", [source(schema)], [kafka_sink()])
