"""What a job's code takes from its surroundings is refused, with its line, or made the same for all replicas."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from py4j.java_gateway import JavaObject
from pyspark.sql import SparkSession

from integration.planning_replica import Replica, add, body
from tandem.engine.static_tables import TableChangedError
from tandem.jobapi.errors import JobError

pytestmark = [pytest.mark.integration, pytest.mark.timeout(300)]


CHANCE = {
    "an id made at import": "F.lit(RUN)",
    "a random number made at import": "F.lit(SALT)",
    "the process": "F.lit(os.getpid())",
    "the day": "F.lit(date.today())",
    "the hour": "F.lit(int(time.time()) // 3600)",
    "the year, with an operator": "F.col('offset') + YEAR",
    "the host": "F.lit(socket.gethostname())",
    "the environment": "F.lit(os.environ['HOSTNAME'])",
    "a function with an id": "named('key')",
    "a function with a broadcast": "spread('key')",
    "a function with a default": "F.udf(lambda key, pid=os.getpid(): str(pid), 'string')('key')",
    "a function with a method's object": "F.udf(HELPER.name, 'string')('key')",
}
CHANCE_BEFORE = """
import os, random, socket, time, uuid
from datetime import date, datetime
from pyspark.sql import SparkSession
os.environ.setdefault("HOSTNAME", "a")
RUN = str(uuid.uuid4())
SALT = random.random()
YEAR = datetime.now().year
BROADCAST = SparkSession.builder.getOrCreate().sparkContext.broadcast({RUN})
class Helper:
    def __init__(self): self.run = RUN
    def name(self, key): return self.run
HELPER = Helper()
@F.udf("string")
def named(key): return RUN
@F.udf("string")
def spread(key): return min(BROADCAST.value)
"""


def test_a_plan_that_depends_on_its_surroundings_is_refused_before_the_job_begins(
    replica: Callable[..., Replica],
) -> None:
    columns = [f"columns.append({column})" for column in CHANCE.values()]
    last = "events.select(F.concat_ws('-', *(column.cast('string') for column in columns)).alias('value'))"
    code = body("columns = []", *columns, before=CHANCE_BEFORE, returns=last)
    made = replica(code)
    plan = made.prepared()  # twice in one process it is the same, so that alone would let it pass

    found = made.second.differences(plan)

    lines = [line.strip() for line in code.splitlines()]
    for kind, column in zip(CHANCE, columns, strict=True):
        place = f"(job.py:{lines.index(column) + 1})"
        assert any(place in difference for difference in found), (kind, place, found)
    with pytest.raises(JobError, match="the job's plan is another one in another process"):
        made.second(plan)


def test_a_plan_of_another_shape_is_refused(replica: Callable[..., Replica]) -> None:
    shape = "events.select((F.col('key') if datetime.now().year < 2027 else F.upper('key')).alias('value'))"
    with pytest.raises(JobError, match=r"the job's plan is another one in another process.*: the part"):
        replica(body(before="from datetime import datetime", returns=shape)).tried()


def test_a_refused_constant_is_shown_with_its_line(replica: Callable[..., Replica]) -> None:
    code = body(before="import uuid\nRUN = uuid.uuid4().hex", returns="events.select(F.lit(RUN).alias('value'))")
    with pytest.raises(
        JobError, match=r"the constant \d+ of the plan \(job\.py:6\): [0-9a-f]{32} .*, elsewhere [0-9a-f]{32} "
    ):
        replica(code).tried()


def test_what_is_the_same_everywhere_passes(replica: Callable[..., Replica]) -> None:
    before = (
        "import re, os, logging\nimport pandas as pd\nfrom pyspark.sql import SparkSession\n"
        "spark = SparkSession.builder.appName('mine').getOrCreate()\n"
        "WORDS = {'b', 'a', 'c', 'secret'}\nBLOCKED = spark.sparkContext.broadcast(WORDS)\n"
        "LOG = logging.getLogger('x')\nMASK = re.compile('x+')\n"
        "class Rates:\n    def __init__(self):\n        self.by_day = {'mon': 1.5}\nRATES = Rates()\n"
        "@F.udf('string')\ndef masked(text):\n"
        "    LOG.debug('%s', RATES)\n"
        "    words = sorted(w for w in str(text).split() if w not in BLOCKED.value and w not in WORDS)\n"
        "    return MASK.sub('', ' '.join(words))\n"
    )
    frames = "ctx.spark.createDataFrame([(1, 'a'), (2, 'b')], 'n INT, name STRING')"
    other = "ctx.spark.createDataFrame(pd.DataFrame({'n': [1, 2], 'm': [0.5, 2.5]}))"
    code = body(
        f"names = {frames}.join({other}, 'n')",
        "total = sum(hash(w) % 7 for w in WORDS)",
        "parts = [F.lit(w) for w in sorted(WORDS)]",
        before=before,
        returns="events.join(names, F.col('offset') == F.col('n'), 'left')"
        ".select(masked(F.col('value').cast('string')).alias('key'), F.concat_ws('-', 'name', *parts).alias('value'))",
    )
    made = replica(code)

    one = made.tried()

    assert one.facts == replica(code).plan().facts  # as another replica's


LISTENER = """
from pyspark.sql.streaming import StreamingQueryListener
class Listener(StreamingQueryListener):
    def onQueryStarted(self, event): ...
    def onQueryProgress(self, event): ...
    def onQueryIdle(self, event): ...
    def onQueryTerminated(self, event): ...
"""


def test_a_listener_of_the_job_is_called_in_its_own_process(
    replica: Callable[..., Replica], spark: SparkSession
) -> None:
    """And not where the plan was made once more, which is gone by then."""
    replica(body("ctx.spark.streams.addListener(Listener())", before=LISTENER)).tried()

    gateway: Any = spark.sparkContext._gateway
    called = JavaObject("GATEWAY_SERVER", gateway._gateway_client).getCallbackClient().getPort()
    assert called == gateway._python_proxy_port


def test_watermarks_which_spark_gives_new_identities_each_time_are_the_same_elsewhere(
    replica: Callable[..., Replica],
) -> None:
    once = "events.withWatermark('timestamp', '1 minute').dropDuplicatesWithinWatermark(['key'])"
    code = body(returns=f"{once}.select('key', 'value')")

    assert replica(code).tried().facts == replica(code).plan().facts


UNWRITTEN = {
    "rows of SQL": "ctx.spark.sql(\"SELECT * FROM VALUES ('a'), ('{rate}') AS t(name)\")",
    "rows of SQL with maps": "ctx.spark.sql(\"SELECT name, m FROM VALUES ('a', map('k', '{rate}')) AS t(name, m)\")",
    "rows of an unpivot": "ctx.spark.sql(\"SELECT 'a' AS name\").unpivot('name', [F.lit('{rate}').alias('x')], 'k', 'v')",
    "patterns": "ctx.spark.sql(\"SELECT 'a' AS name WHERE 'b' NOT LIKE ALL ('{rate}%', 'c')\")",
    "options": "ctx.spark.sql(\"SELECT 'a' AS name\")"
    ".where(F.from_json(F.lit(''), 'n DATE', {{'dateFormat': '{rate}'}}).isNotNull())",
    "columns of a pivot": "ctx.spark.sql(\"SELECT a AS name FROM VALUES ('a', 'k') AS t(c, k) "
    "PIVOT (max(c) FOR k IN ('{rate}' AS a, 'c' AS b))\")",
    "a variable of SQL": "ctx.spark.sql('SELECT least AS name')",
}


@pytest.mark.parametrize("name", UNWRITTEN)
def test_what_spark_leaves_out_of_a_plan_that_it_writes_is_part_of_it(
    replica: Callable[..., Replica], name: str
) -> None:
    def facts(rate: str) -> Mapping[str, str]:
        code = body(
            f"ctx.spark.sql(\"DECLARE VARIABLE least STRING DEFAULT '{rate}'\")",
            f"names = {UNWRITTEN[name].format(rate=rate)}",
            returns="events.join(names, F.col('key').cast('string') == F.col('name')).select('key', 'value')",
        )
        return replica(code).plan().facts

    assert facts("low") == facts("low")
    assert facts("low") != facts("high")


def test_data_given_to_spark_is_part_of_a_plan(replica: Callable[..., Replica], tmp_path: Path) -> None:
    path = tmp_path / "names.txt"
    path.write_text("a\nb\n")
    code = body(
        f"names = ctx.spark.createDataFrame([(line,) for line in open({str(path)!r})], 'name STRING')",
        returns="events.join(names, F.col('key').cast('string') == F.col('name')).select('key', 'value')",
    )
    before = replica(code).tried().facts
    path.write_text("a\nc\n")

    after = replica(code).plan().facts

    assert [name for name in before if before[name] != after[name]] == ["the data of createDataFrame (job.py:5)"]


STATIC = body(
    "rates = ctx.spark.read.parquet(ctx.options['rates'])",
    returns="events.join(rates, F.col('key').cast('string') == F.col('currency'))"
    ".select('key', F.col('rate').cast('string').alias('value'))",
)


def test_what_the_code_of_a_job_imports_is_part_of_it(
    replica: Callable[..., Replica], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = [str(tmp_path), *sys.path]
    monkeypatch.setattr(sys, "dont_write_bytecode", True)  # texts of one second and length would be one
    code = body(returns="events.select(F.udf(price)('value').alias('value'))", before="from pricing import price")
    found = []
    for name in ("min", "max", "max"):
        (tmp_path / "pricing.py").write_text(f"def price(text):\n    return str({name}(len(text), 100))\n")
        monkeypatch.delitem(sys.modules, "pricing", raising=False)
        monkeypatch.setattr(sys, "path", [*path])
        importlib.invalidate_caches()
        found.append(replica(code).plan().facts)

    assert found[0]["the module pricing"] != found[1]["the module pricing"]
    assert found[1] == found[2]


def test_a_static_table_is_what_it_was_when_the_generation_began(
    replica: Callable[..., Replica], spark: SparkSession, tmp_path: Path
) -> None:
    rates = tmp_path / "rates"
    add(rates, "a.parquet", EUR=1.1)
    first = replica(STATIC)
    first.tried()
    (name,) = first.tables.versions
    assert name == f"parquet {rates}"

    (rates / "a.parquet").unlink()
    add(rates, "b.parquet", GBP=1.3)

    again = replica(STATIC, first.tables.versions)
    again.prepared()
    (root,) = again.tables.roots
    assert again.tables.versions == first.tables.versions
    assert [row.currency for row in spark.read.parquet(root).collect()] == ["EUR"]
    newer = replica(STATIC)
    newer.prepared()
    assert newer.tables.versions != first.tables.versions  # a new generation has the new content


def test_a_replica_without_a_copy_of_a_changed_table_is_refused(
    replica: Callable[..., Replica], tmp_path: Path
) -> None:
    rates = tmp_path / "rates"
    add(rates, "a.parquet", EUR=1.1)
    first = replica(STATIC)
    first.plan()
    (tmp_path / "tables").rename(tmp_path / "elsewhere")
    replica(STATIC, first.tables.versions).plan()  # unchanged, so it may be copied again

    (tmp_path / "tables").rename(tmp_path / "elsewhere-too")
    add(rates, "b.parquet", GBP=1.3)
    with pytest.raises(TableChangedError, match=r"parquet .*rates \(job.py:5\) is not what it was .*tandem upgrade"):
        replica(STATIC, first.tables.versions).plan()


READERS = {
    "csv": "ctx.spark.read.csv(PATH, header=True)",
    "csv by format": "ctx.spark.read.format('csv').option('header', True).load(PATH)",
    "csv by the option path": "ctx.spark.read.format('csv').options(header=True, path=PATH).load()",
    "csv by schema": "ctx.spark.read.schema('currency STRING, rate DOUBLE').csv([PATH], header=True)",
    "a pattern": "ctx.spark.read.option('header', 'true').csv(PATH + '/*.csv')",
    "partitions": "ctx.spark.read.option('header', 'true').csv(PATH + '-by-year').where('year = 2024').drop('year')",
    "one file": "ctx.spark.read.option('header', 'true').csv(PATH + '/a.csv')",
    "a file's URL": "ctx.spark.read.option('header', 'true').csv('file://' + PATH)",
    "json": "ctx.spark.read.json(PATH + '-json')",
    "json by format": "ctx.spark.read.load(PATH + '-json', format='json')",
}


def test_tables_are_kept_however_they_are_read(replica: Callable[..., Replica], tmp_path: Path) -> None:
    path = tmp_path / "in and out"
    for folder in (path, tmp_path / "in and out-by-year" / "year=2024"):
        folder.mkdir(parents=True)
        (folder / "a.csv").write_text("currency,rate\nEUR,1.5\n")
        (folder / "_SUCCESS").write_text("")
    json_folder = tmp_path / "in and out-json"
    json_folder.mkdir()
    (json_folder / "a.json").write_text('{"currency": "EUR", "rate": 1.5}\n')
    for name, reader in READERS.items():
        code = body(
            f"rates = {reader}",
            "SEEN.append(rates)",
            before=f"PATH = {str(path)!r}\nSEEN = []",
            returns="events.join(rates, F.col('key').cast('string') == F.col('currency')).select('key', 'value')",
        )
        made = replica(code)
        made.prepared()
        (frame, _) = sys.modules["job"].SEEN
        assert [row.currency for row in frame.collect()] == ["EUR"], name
        assert made.tables.roots, name
        assert all(root.startswith(f"file:{tmp_path / 'tables'}") for root in made.tables.roots), name
