"""The workloads of `bench.jobs` that Flink is compared in, as SQL. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from bench.records import BODY_AT, CREATED_AT, CREATED_LENGTH, ITEM_LENGTH

QUERIES: Mapping[str, str] = {
    "identity": "SELECT `key`, `value` FROM events",
    "filter": "SELECT `key`, `value` FROM events WHERE JSON_VALUE(item, '$.event') = 'view'",
    "count": (
        "SELECT `key`, CAST(CONCAT_WS(' ', CAST(COUNT(*) AS STRING), MAX(created)) AS BYTES) FROM events GROUP BY `key`"
    ),
}
_UPDATING = ("count",)


@dataclass(frozen=True, slots=True)
class Route:
    """Where a job reads and writes."""

    bootstrap: str
    source: str
    sink: str


def script(job: str, route: Route, name: str, exactly_once: bool) -> str:
    """The statements that make the tables and start the query. Raises `KeyError` if there is no SQL of the job."""
    query = QUERIES[job]
    return f"{_source(route, name)}\n{_sink(job, route, name, exactly_once)}\nINSERT INTO results {query};"


def _source(route: Route, name: str) -> str:
    options = {
        "connector": "kafka",
        "topic": route.source,
        "properties.bootstrap.servers": route.bootstrap,
        "properties.group.id": name,
        "properties.fetch.max.wait.ms": "20",
        "scan.startup.mode": "earliest-offset",
        "key.fields": "key",
        **_FORMATS,
    }
    created = f"created AS SUBSTRING(CAST(`value` AS STRING), {CREATED_AT}, {CREATED_LENGTH})"
    item = f"item AS SUBSTRING(CAST(`value` AS STRING), {BODY_AT}, {ITEM_LENGTH})"
    return f"CREATE TABLE events (`key` BYTES, `value` BYTES, {created}, {item}) WITH ({_options(options)});"


def _sink(job: str, route: Route, name: str, exactly_once: bool) -> str:
    is_updating = job in _UPDATING
    options = {
        "connector": "upsert-kafka" if is_updating else "kafka",
        "topic": route.sink,
        "properties.bootstrap.servers": route.bootstrap,
        "properties.linger.ms": "1",
        "sink.delivery-guarantee": "exactly-once" if exactly_once else "at-least-once",
        **(
            {"sink.transactional-id-prefix": name, "properties.transaction.timeout.ms": "600000"}
            if exactly_once
            else {}
        ),
        **({} if is_updating else {"key.fields": "key"}),
        **_FORMATS,
    }
    key = ", PRIMARY KEY (`key`) NOT ENFORCED" if is_updating else ""
    return f"CREATE TABLE results (`key` BYTES, `value` BYTES{key}) WITH ({_options(options)});"


_FORMATS = {"key.format": "raw", "value.format": "raw", "value.fields-include": "EXCEPT_KEY"}


def _options(options: Mapping[str, str]) -> str:
    return ", ".join(f"'{key}' = '{value}'" for key, value in options.items())
