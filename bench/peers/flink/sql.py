"""The workloads that Flink is compared in, as SQL. Pure.

Not here: query C of the latency suite. Flink's plain SQL joins a stream with a table by keeping both, so all of the stream.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from bench.records import BODY_AT, CREATED_AT, CREATED_LENGTH, ITEM_LENGTH
from bench.workloads.latency import MOST_BYTES, NUMBER_BYTES
from bench.workloads.lines import GREP, KEY_BYTES

_COPIED = "`key` BYTES, `value` BYTES"
_CREATED = f"created AS SUBSTRING(CAST(`value` AS STRING), {CREATED_AT}, {CREATED_LENGTH})"
_ITEM = f"item AS SUBSTRING(CAST(`value` AS STRING), {BODY_AT}, {ITEM_LENGTH})"
_SENT = "sent TIMESTAMP_LTZ(3) METADATA FROM 'timestamp' VIRTUAL"
_HEADERS = "headers MAP<STRING, BYTES> METADATA"
_HEADER = "MAP[CAST('source-timestamp' AS STRING), CAST(CAST(sent AS STRING) AS BYTES)]"
"""When the record was sent, as Kafka has it. Written as Flink writes times: its SQL has no ms since 1970 of them."""
_PAYLOAD = f"SUBSTRING(CAST(`value` AS STRING), 1, {MOST_BYTES})"
_NEXMARK = (
    "person ROW<`id` BIGINT, `name` STRING, `emailAddress` STRING, `creditCard` STRING, `city` STRING, `state` STRING, "
    "`dateTime` BIGINT, `extra` STRING>, "
    "auction ROW<`id` BIGINT, `itemName` STRING, `description` STRING, `initialBid` BIGINT, `reserve` BIGINT, "
    "`dateTime` BIGINT, `expires` BIGINT, `seller` BIGINT, `category` BIGINT, `extra` STRING>, "
    "bid ROW<`id` BIGINT, `auction` BIGINT, `bidder` BIGINT, `price` BIGINT, `dateTime` BIGINT, `extra` STRING>"
)


@dataclass(frozen=True, slots=True)
class Query:
    """`select` : the query. `source`, `sink`: the columns of the tables `events` and `results`; those with `key` have keys.

    `source_format`, `sink_format` : of values. `updates`: whether rows replace each other, by their key.
    `tables` : of the sources, all of which have the same columns.
    """

    select: str
    source: str = f"{_COPIED}, {_CREATED}, {_ITEM}"
    sink: str = _COPIED
    source_format: str = "raw"
    sink_format: str = "raw"
    updates: bool = False
    tables: tuple[str, ...] = ("events",)
    settings: Mapping[str, str] = field(default_factory=dict)


def _maps(length: int) -> Query:
    """`length` maps after each other, each of which reverses the text twice."""
    text = "CAST(`value` AS STRING)"
    for _ in range(length):
        text = f"REVERSE(REVERSE({text}))"
    return Query(f"SELECT `key`, CAST({text} AS BYTES) FROM events", source=_COPIED)


QUERIES: Mapping[str, Query] = {
    "identity": Query("SELECT `key`, `value` FROM events"),
    "filter": Query("SELECT `key`, `value` FROM events WHERE JSON_VALUE(item, '$.event') = 'view'"),
    "count": Query(
        "SELECT `key`, CAST(CONCAT_WS(' ', CAST(COUNT(*) AS STRING), MAX(created)) AS BYTES) FROM events GROUP BY `key`",
        updates=True,
    ),
    "suite-a": Query(
        f"SELECT `key`, TO_BASE64({_PAYLOAD}), {_HEADER} FROM events",
        source=f"{_COPIED}, {_SENT}",
        sink=f"`key` BYTES, `value` STRING, {_HEADERS}",
    ),
    # A row has no key in the job, but an upsert needs one. That of the groups would be as long as the row; a payload's
    # number says the same, which Flink does not know: without the setting it would refuse the query.
    "suite-b": Query(
        f"SELECT SUBSTRING(payload, 1, {NUMBER_BYTES}), "
        f"TO_BASE64(CONCAT(CAST(COUNT(*) AS STRING), ',', payload)), {_HEADER} "
        f"FROM (SELECT sent, {_PAYLOAD} AS payload FROM events) GROUP BY sent, payload",
        source=f"{_COPIED}, {_SENT}",
        sink=f"`key` STRING, `value` STRING, {_HEADERS}",
        updates=True,
        settings={"table.exec.sink.upsert-materialize": "NONE"},
    ),
    "grep": Query(
        f"SELECT `value` FROM events WHERE REGEXP(CAST(`value` AS STRING), '{GREP.options['pattern']}')",
        source="`value` BYTES",
        sink="`value` BYTES",
    ),
    "grouping": Query(
        f"SELECT CAST(SUBSTRING(CAST(`value` AS STRING), 1, {KEY_BYTES}) AS BYTES), `value` FROM events",
        source="`value` BYTES",
    ),
    "mib1": _maps(1),
    **{f"mib1-length-{length}": _maps(length) for length in range(2, 5)},
    "mib3": Query(
        "SELECT `key`, CAST(REVERSE(REVERSE(CAST(`value` AS STRING))) AS BYTES) "
        "FROM (SELECT * FROM events UNION ALL SELECT * FROM others)",
        source=_COPIED,
        tables=("events", "others"),
    ),
    "q0": Query("SELECT `value` FROM events", source="`value` BYTES", sink="`value` BYTES"),
    "q1": Query(
        "SELECT CAST(bid.`auction` AS STRING), bid.`id`, bid.`auction`, bid.`bidder`, "
        "CAST(bid.`price` * 0.908 AS DECIMAL(23, 3)), bid.`dateTime` FROM events WHERE bid.`id` IS NOT NULL",
        source=_NEXMARK,
        sink="`key` STRING, `id` BIGINT, `auction` BIGINT, `bidder` BIGINT, `price` DECIMAL(23, 3), `dateTime` BIGINT",
        source_format="json",
        sink_format="json",
    ),
    "q2": Query(
        "SELECT CAST(bid.`auction` AS STRING), bid.`auction`, bid.`price` FROM events WHERE MOD(bid.`auction`, 123) = 0",
        source=_NEXMARK,
        sink="`key` STRING, `auction` BIGINT, `price` BIGINT",
        source_format="json",
        sink_format="json",
    ),
}


@dataclass(frozen=True, slots=True)
class Route:
    """Where a job reads and writes. `more`: the topics of its other sources."""

    bootstrap: str
    source: str
    sink: str
    more: tuple[str, ...] = ()


def script(job: str, route: Route, name: str, exactly_once: bool) -> str:
    """The statements that make the tables and start the query. Raises `KeyError` if there is no SQL of the job."""
    query = QUERIES[job]
    settings = [f"SET '{key}' = '{value}';" for key, value in query.settings.items()]
    topics = (route.source, *route.more)
    sources = [_source(query, route, name, *one) for one in zip(query.tables, topics, strict=True)]
    sink = _sink(query, route, name, exactly_once)
    return "\n".join([*settings, *sources, sink, f"INSERT INTO results {query.select};"])


def _source(query: Query, route: Route, name: str, table: str, topic: str) -> str:
    options = {
        "connector": "kafka",
        "topic": topic,
        "properties.bootstrap.servers": route.bootstrap,
        "properties.group.id": name,
        "properties.fetch.max.wait.ms": "20",
        "scan.startup.mode": "earliest-offset",
        **({"key.fields": "key"} if _has_key(query.source) else {}),
        **_formats(query.source, query.source_format),
    }
    return f"CREATE TABLE {table} ({query.source}) WITH ({_options(options)});"


def _sink(query: Query, route: Route, name: str, exactly_once: bool) -> str:
    options = {
        "connector": "upsert-kafka" if query.updates else "kafka",
        "topic": route.sink,
        "properties.bootstrap.servers": route.bootstrap,
        "properties.linger.ms": "1",
        "sink.delivery-guarantee": "exactly-once" if exactly_once else "at-least-once",
        **(
            {"sink.transactional-id-prefix": name, "properties.transaction.timeout.ms": "600000"}
            if exactly_once
            else {}
        ),
        **({"key.fields": "key"} if _has_key(query.sink) and not query.updates else {}),
        **_formats(query.sink, query.sink_format),
    }
    key = ", PRIMARY KEY (`key`) NOT ENFORCED" if query.updates else ""
    return f"CREATE TABLE results ({query.sink}{key}) WITH ({_options(options)});"


def _has_key(columns: str) -> bool:
    return columns.startswith("`key` ")


def _formats(columns: str, of_values: str) -> dict[str, str]:
    if not _has_key(columns):
        return {"value.format": of_values}
    return {"key.format": "raw", "value.format": of_values, "value.fields-include": "EXCEPT_KEY"}


def _options(options: Mapping[str, str]) -> str:
    return ", ".join(f"'{key}' = '{value}'" for key, value in options.items())
