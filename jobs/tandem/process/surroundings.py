"""What a manifest needs of the machine that its processes run on, looked at without a JVM and without a broker.

A manifest may be checked on another machine than the one that its job runs on: where it is written for Kubernetes, what is
missing here is only noted.
"""

import re
from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from inspect import signature
from pathlib import Path

import fsspec
from confluent_kafka import Consumer, KafkaException
from confluent_kafka.admin import AdminClient
from fsspec.dircache import DirCache

from tandem.kafka.client import KafkaConnection, OutputLimits
from tandem.kafka.producer import Producer
from tandem.manifest import Manifest, Problem, SecretError
from tandem.manifest.formats import FILES as REGISTRY_FILES
from tandem.manifest.kafka_properties import FILES
from tandem.manifest.places import install, needed_module, scheme_of
from tandem.manifest.problems import Issue, Location
from tandem.manifest.spark_files import SPARK_FILES, single_files
from tandem.manifest.vocabulary import nearest

_FAILED = re.compile(r"^Failed to create (admin client|consumer|producer): ")
_TRANSACTION_MS = 10_000
_EXPLICIT = ("s3", "s3a")
"""Schemes whose file system names all its options, and passes over others in silence."""


def check_surroundings(manifest: Manifest, environ: Mapping[str, str]) -> tuple[Problem, ...]:
    """What is missing here, or is refused by the Kafka client, each with its line in the manifest."""
    found = [*_packages(manifest), *_files(manifest), *_options(manifest)]
    return tuple(manifest.problem(issue) for issue in found or _client(manifest, environ))


def _packages(manifest: Manifest) -> Iterator[Issue]:
    for index, sink in enumerate(manifest.spec.sinks):
        if sink.files is not None:
            at: Location = ("spec", "sinks", index, sink.kind, "path")
            yield from _missing(at, sink.files.path, needed_module(sink.kind, sink.files.path))
        if sink.iceberg is not None:
            yield from _missing(("spec", "sinks", index, "iceberg"), "an iceberg sink", "pyiceberg")
        if sink.postgres is not None:
            yield from _missing(("spec", "sinks", index, "postgres"), "a postgres sink", "psycopg")
    snapshots = manifest.spec.snapshots
    if snapshots is not None:
        yield from _missing(
            ("spec", "snapshots", "store"), snapshots.store, needed_module("snapshots", snapshots.store)
        )


def _missing(at: Location, place: str, module: str) -> Iterator[Issue]:
    if module and find_spec(module) is None:
        yield Issue(
            at,
            f"{place} needs the package {module}, which is not installed",
            f"Run {install(module)}, here and in the job's image",
        )


def _options(manifest: Manifest) -> Iterator[Issue]:
    snapshots = manifest.spec.snapshots
    if snapshots is None or scheme_of(snapshots.store) not in _EXPLICIT or find_spec("s3fs") is None:
        return
    kinds = fsspec.get_filesystem_class(scheme_of(snapshots.store)).__mro__
    known = {name for kind in (*kinds, DirCache) for name in signature(kind.__init__).parameters if name != "self"}
    known.add("skip_instance_cache")
    for section, names in (("properties", snapshots.properties), ("secretProperties", snapshots.secret_properties)):
        for name in names:
            if name not in known:
                near = nearest(name, known)
                remedy = (
                    f"Did you mean {near}?"
                    if near
                    else "Options are those of s3fs.S3FileSystem, e.g. endpoint_url, key, secret"
                )
                message = f"s3fs has no option {name}, and passes over it in silence"
                yield Issue(("spec", "snapshots", section, name), message, remedy)


def _files(manifest: Manifest) -> Iterator[Issue]:
    zookeeper = manifest.spec.zookeeper
    named: list[tuple[Location, str | None]] = [
        (("spec", "kafka", "properties", name), value)
        for name, value in manifest.spec.kafka.properties.items()
        if name in FILES and value != "probe"
    ]
    if zookeeper is not None:
        files = {"caFile": zookeeper.ca_file, "certFile": zookeeper.cert_file, "keyFile": zookeeper.key_file}
        named += [(("spec", "zookeeper", key), value) for key, value in files.items()]
    if manifest.spec.schema_registry is not None:
        properties = manifest.spec.schema_registry.properties
        named += [
            (("spec", "schemaRegistry", "properties", name), value)
            for name, value in properties.items()
            if name in REGISTRY_FILES
        ]
    for index, sink in enumerate(manifest.spec.sinks):
        if (one := sink.postgres) is not None:
            files = {"caFile": one.ca_file, "certFile": one.cert_file, "keyFile": one.key_file}
            named += [(("spec", "sinks", index, "postgres", key), value) for key, value in files.items()]
    named += _files_of_spark(manifest.spec.spark.conf)
    for at, value in named:
        if (
            value is not None
            and not manifest.resolve(value).exists()
            and not (at[1] in ("kafka", "spark") and Path(value).exists())
        ):
            yield Issue(
                at, f"there is no file {value}", "Relative paths start from the manifest's folder; in a pod, mount it"
            )


def _files_of_spark(conf: Mapping[str, str]) -> Iterator[tuple[Location, str]]:
    """Spark passes over jars that are not there, with a line in its log."""
    for name in SPARK_FILES & conf.keys():
        for path in single_files(conf[name]):
            yield ("spec", "spark", "conf", name), path


def _client(manifest: Manifest, environ: Mapping[str, str]) -> Iterator[Issue]:
    """What the Kafka client itself says against its configuration; it connects to nothing."""
    try:
        properties = manifest.kafka_properties(environ)
    except SecretError:
        return  # said when the job starts, where the secrets are
    properties = {name: value for name, value in properties.items() if name not in ("bootstrap.servers", "debug")}
    connection = KafkaConnection(properties).silent
    try:
        AdminClient({**connection.properties})  # alone first: what is wrong in itself is said in the client's own words
        Consumer(connection.consumer()).close()
        Producer(OutputLimits().producer(properties) | connection.plain_producer())
        Producer(connection.transactional("none", _TRANSACTION_MS))
    except (KafkaException, ValueError) as error:
        reason = error.args[0]
        said = reason.str() if isinstance(error, KafkaException) else str(reason)
        blamed = next((name for name in manifest.spec.kafka.properties if name in said), None)
        at: Location = ("spec", "kafka", "properties", *((blamed,) if blamed else ()))
        message = _FAILED.sub("", said)
        yield Issue(at, f"the Kafka client refuses it: {message}", "Correct it, or remove it")
