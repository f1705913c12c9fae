"""The hash by which replicas of one job recognise each other."""

import hashlib
import json
import platform
from collections.abc import Mapping
from importlib.metadata import version
from typing import Any, Final

from tandem.manifest.code import find_code
from tandem.manifest.loading import Manifest
from tandem.manifest.streams import SinkSpec, SourceSpec
from tandem.manifest.values import MOST_LANES

STATE_FORMAT: Final = "2"
"""Raised whenever a new Tandem cannot go on from an older one's checkpoints, or would compute other rows from them."""

_ROW_ORDER: Final = "2"
"""Raised whenever a new Tandem publishes the rows of a job with several tasks in another order than an older one."""

_AVRO_TIMES: Final = "2"
"""Raised whenever a new Tandem makes other rows of the same Avro records than an older one."""

_PACKAGES: Final = ("pyspark", "pyarrow", "numpy", "pandas")

NOT_IN_FILES: Final = frozenset({"versions", "codecs", "avroTimes", "rowOrder", "timeZone"})
"""Parts that may differ though no file of the job has changed: they are of installed packages, or of Tandem itself.

Each part that a new Tandem adds to jobs that began without it belongs here. A changed time zone is another `conf`, too.
"""

MODULE: Final = "the module "
"""Begins what a plan's facts call code that the job imports."""

_CODECS: Final = {"avro": "fastavro", "protobuf": "protobuf"}
"""Format → the package by which it is read and written."""


def installed_versions() -> dict[str, str]:
    """The versions of everything that computes rows or writes state in this process."""
    python = ".".join(platform.python_version_tuple()[:2])
    return {"python": python, "stateFormat": STATE_FORMAT, **{name: version(name) for name in _PACKAGES}}


def config_hash(manifest: Manifest, code: bytes | None = None, versions: Mapping[str, str] | None = None) -> str:
    """SHA-256, in hex, of everything that influences what the job computes and publishes.

    Two replicas of one generation must agree on it; one that differs refuses to run. The order of keys in the YAML and
    values that equal a default do not change it; the order of lists does.

    Counted, because another value would make other rows, other state, or put them elsewhere:

    - the bytes of the job's file (or of the module's), its function, its options, its output mode, and what becomes of
      records that it raises about. The user's modules that it imports are parts that a replica adds, with what
      they put into the plan (`plan_parts`);
    - sources with topics, formats, schemas, isolation level, where they begin, and when they count as idle;
    - the number of lanes, by which partitions and state are divided;
    - sinks, the delivery guarantee, `maxRecordBytes` (what goes to the dead-letter topic), and the job's own three topics;
    - the engine: `auto` until the job's plan is known, then the one that it takes (`replica.identity.plan_parts`);
    - `spark.parallelism` (partitions of state; over 1, also how rows are ordered) and the settings `spark.sql.*` (time
      zone, ANSI mode, state store, …);
    - versions: Python (major.minor), PySpark, PyArrow, NumPy, pandas, Tandem's format of state.

    Not counted, because the log hides it from the rows, or because it may differ between machines:

    - addresses, credentials and properties of Kafka and ZooKeeper; the replication factor;
    - counts of replicas, standbys and generators; who orders and at which pace (cuts and barriers are read from the log,
      no matter who made them); the bounds for take-over;
    - what sources are `partitionedBy`: only whether the job is refused depends on it;
    - labels and annotations, metrics, the checkpoint's folder, the driver's memory, other settings of Spark.

    `manifest` : the job.
    `code` : the bytes of its code; read from disk by default.
    `versions` : default: those installed here.

    Raises `CodeNotFoundError`: `code` is not given and cannot be read.
    """
    return _sha256(_identity(manifest, code, versions))


def config_parts(
    manifest: Manifest, code: bytes | None = None, versions: Mapping[str, str] | None = None
) -> dict[str, str]:
    """What `config_hash` counts, part by part: name in the manifest (or `code`, `versions`) → hash, 16 hex digits.

    Two configurations that differ can so be distinguished in words. Parameters and errors as for `config_hash`.
    """
    return {name: _sha256(part)[:16] for name, part in sorted(_identity(manifest, code, versions).items())}


def engine_part(engine: str) -> str:
    """The part `engine` of `config_parts`; "": it has none, as that of a job with the micro-batch engine."""
    return "" if engine == "microBatch" else _sha256(engine)[:16]


def lanes_part(lanes: int) -> dict[str, str]:
    """The part `lanes` of `config_parts`; nothing: a job without lanes has none."""
    return {} if lanes == 1 else {"lanes": _sha256(lanes)[:16]}


def parts_of(digest: str) -> dict[str, str]:
    """The parts that a `Config.digest` is of; none if it is of no parts."""
    try:
        return dict(json.loads(digest))
    except (ValueError, TypeError):
        return {}


def lanes_of(parts: Mapping[str, str]) -> int:
    """The number of lanes that an identity of `parts` says, from 1 on; 0 if it says one that no job may have."""
    part = parts.get("lanes")
    return 1 if part is None else next((n for n in range(2, MOST_LANES + 1) if _sha256(n)[:16] == part), 0)


def _identity(manifest: Manifest, code: bytes | None, versions: Mapping[str, str] | None) -> dict[str, Any]:
    content = find_code(manifest).content if code is None else code
    return {
        "code": hashlib.sha256(content).hexdigest(),
        "versions": dict(installed_versions() if versions is None else versions),
        **_settings(manifest),
        **_codecs(manifest),
        **_decoding(manifest),
    }


def _sha256(value: object) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def _settings(manifest: Manifest) -> dict[str, Any]:
    spec, topics = manifest.spec, manifest.model.topics
    return {
        "function": spec.job.function,
        **({} if spec.job.output_mode is None else {"outputMode": spec.job.output_mode}),
        **({} if spec.job.on_error == "stop" else {"onError": spec.job.on_error}),
        "options": dict(spec.job.options),
        "sources": [_source(source) for source in spec.sources],
        "sinks": [_sink(sink) for sink in spec.sinks],
        "delivery": spec.delivery,
        "maxRecordBytes": spec.max_record_bytes,
        "topics": {"ordering": topics.ordering, "commits": topics.commits, "deadLetter": topics.dead_letter},
        "parallelism": spec.spark.parallelism,
        **({} if spec.spark.parallelism == 1 else {"rowOrder": _ROW_ORDER}),
        **({} if spec.engine == "microBatch" else {"engine": spec.engine}),
        "conf": {key: value for key, value in spec.spark.conf.items() if key.startswith("spark.sql.")},
        **_time_zone(spec.spark.conf),
        **({} if spec.lanes == 1 else {"lanes": spec.lanes}),
    }


def _codecs(manifest: Manifest) -> dict[str, Any]:
    """The versions of what decodes and encodes, of a job that uses it."""
    streams: list[SourceSpec | SinkSpec] = [*manifest.spec.sources, *manifest.spec.sinks]
    used = {form for one in streams for form in (one.format, one.key_format)} & _CODECS.keys()
    return {"codecs": {_CODECS[form]: version(_CODECS[form]) for form in sorted(used)}} if used else {}


def _decoding(manifest: Manifest) -> dict[str, str]:
    is_avro = any("avro" in (source.format, source.key_format) for source in manifest.spec.sources)
    return {"avroTimes": _AVRO_TIMES} if is_avro else {}


def _source(source: SourceSpec) -> dict[str, Any]:
    """What came later counts only where it is used: older jobs keep their identity."""
    used = {
        "include_headers": source.include_headers,
        "idle_timeout": source.idle_timeout is not None,
        **_with_schemas(source),
        "table": source.table is not None,
        "partitioned_by": False,
    }
    return source.model_dump(mode="json", exclude={name for name, is_used in used.items() if not is_used})


_PLACE_OF_POSTGRES: Final = ("schema_name", "table", "mode", "key")


def _sink(sink: SinkSpec) -> dict[str, Any]:
    """As `_source`; of a database counts what is written, not how it is reached."""
    used = {
        "format": sink.format != "raw",
        "partition_by": sink.partition_by != "key",
        "postgres": sink.postgres is not None,
        "iceberg": sink.iceberg is not None,
        "foreach_batch": sink.foreach_batch is not None,
        **_with_schemas(sink),
    }
    dumped = sink.model_dump(mode="json", exclude={name for name, is_used in used.items() if not is_used})
    if sink.postgres is not None:
        dumped["postgres"] = sink.postgres.model_dump(mode="json", include=set(_PLACE_OF_POSTGRES))
    if sink.iceberg is not None:
        dumped["iceberg"] = {"table": sink.iceberg.table}
    return dumped


def _with_schemas(one: SourceSpec | SinkSpec) -> dict[str, bool]:
    return {
        "key_format": one.key_format != "raw",
        "value_schema": one.value_schema is not None,
        "key_schema": one.key_schema is not None,
    }


def _time_zone(conf: Mapping[str, str]) -> dict[str, str]:
    """It was accepted once, and overruled by UTC: a job that began so must not go on in another zone without a decision."""
    zone = conf.get("spark.sql.session.timeZone", "UTC").strip()
    return {} if zone in ("UTC", "Etc/UTC", "Z", "+00:00") else {"timeZone": zone}
