"""What several values of a manifest must agree on. Each rule is a function from the whole job to the issues it finds."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from os.path import normpath
from pathlib import PurePosixPath
from typing import Final

from tandem.manifest.models import ReplicatedStreamJob
from tandem.manifest.places import DELTA, PACKAGES, looks_like_uri, scheme_of
from tandem.manifest.problems import Issue, Location, dotted
from tandem.manifest.quantities import amount
from tandem.manifest.rules_engine import barriers_need_the_real_time_engine, real_time_runs_in_one_task
from tandem.manifest.rules_formats import (
    columns_are_told_apart,
    formats_have_a_registry,
    schema_goes_with_json,
    schemas_go_with_formats,
    schemas_of_avro_are_json,
    subjects_are_clear,
    tables_have_no_format,
)
from tandem.manifest.rules_kafka import (
    authentication_is_complete,
    buffers_hold_a_record,
    client_logs_are_known,
    properties_are_given_once,
    topics_do_not_meet,
)
from tandem.manifest.rules_lanes import (
    a_lane_is_there,
    lanes_have_short_names,
    lanes_write_side_by_side,
    partitions_are_of_a_topic,
    partitions_follow_a_column,
)
from tandem.manifest.rules_sinks import SINK_RULES
from tandem.manifest.rules_spark import (
    epochs_fit_into_the_heap,
    heap_fits_into_the_container,
    spark_settings_have_an_effect,
    spark_settings_keep_replicas_equal,
)
from tandem.manifest.rules_tables import (
    a_table_has_its_key,
    a_table_is_read_from_its_beginning,
    a_table_joins_a_stream,
)
from tandem.manifest.secrets import SecretReference

Rule = Callable[[ReplicatedStreamJob], Iterator[Issue]]

_MODE: Final[Location] = ("spec", "ordering", "mode")


def check(job: ReplicatedStreamJob) -> tuple[Issue, ...]:
    """Everything in which the values of `job` contradict each other."""
    return tuple(issue for rule in RULES for issue in rule(job))


def code_is_file_or_module(job: ReplicatedStreamJob) -> Iterator[Issue]:
    code, at = job.spec.job, ("spec", "job")
    both = ((*at, "file"), (*at, "module"))
    if code.file is None and code.module is None:
        yield Issue(at, "file is missing", "Name the job's code, e.g. file: job.py, or module: package.module", both)
    if code.file is not None and code.module is not None:
        yield Issue(both[1], "file and module exclude each other", "Keep one of them", both)


def leader_needs_zookeeper(job: ReplicatedStreamJob) -> Iterator[Issue]:
    if job.spec.ordering.mode == "leader" and job.spec.zookeeper is None:
        yield Issue(
            ("spec", "zookeeper"),
            "ordering.mode leader (the default) needs ZooKeeper for its election",
            "Add zookeeper: {connect: localhost:2181}, or choose ordering: {mode: heartbeat}",
            (_MODE, ("spec", "zookeeper")),
        )


def standbys_need_slots(job: ReplicatedStreamJob) -> Iterator[Issue]:
    at: Location = ("spec", "standbys")
    if not job.spec.standbys:
        return
    if job.spec.zookeeper is None:
        remedy = "Add zookeeper: {connect: localhost:2181}, or remove the standbys"
        yield Issue(at, "standbys need ZooKeeper, where the slots of the active replicas are", remedy, (at,))
    if job.spec.ordering.mode == "none":
        remedy = "Choose the mode leader or heartbeat, or remove the standbys"
        yield Issue(at, "without ordering, a standby has no log to follow", remedy, (at, _MODE))


def savepoints_lie_in_a_store(job: ReplicatedStreamJob) -> Iterator[Issue]:
    if job.spec.restore_from is not None and job.spec.snapshots is None:
        at: Location = ("spec", "restoreFrom")
        yield Issue(at, "there is no store that the savepoint could be in", "Add snapshots: {store: …}", (at,))


def no_ordering_only_at_least_once(job: ReplicatedStreamJob) -> Iterator[Issue]:
    delivery = job.spec.delivery
    if job.spec.ordering.mode == "none" and delivery != "atLeastOnce":
        yield Issue(
            _MODE,
            f"without ordering, replicas cannot deliver {delivery}",
            "Set spec.delivery: atLeastOnce, or choose the mode leader or heartbeat",
            (_MODE, ("spec", "delivery")),
        )


def names_are_unique(job: ReplicatedStreamJob) -> Iterator[Issue]:
    sources, sinks = [source.name for source in job.spec.sources], [sink.name for sink in job.spec.sinks]
    for kind, names in (("sources", sources), ("sinks", sinks)):
        for index, name in enumerate(names):
            at: Location = ("spec", kind, index, "name")
            first: Location = ("spec", kind, names.index(name), "name")
            if at != first:
                message = f"{name} is also the name of {dotted(first[:-1])}"
                yield Issue(at, message, f"Give each of the {kind} a name of its own", (at, first))


def tables_are_apart_from_state(job: ReplicatedStreamJob) -> Iterator[Issue]:
    """A reader of the table would find the state's files, and whatever removes snapshots might take the table with them."""
    places: list[tuple[Location, PurePosixPath]] = []
    if job.spec.checkpoint.directory is not None:
        places.append((("spec", "checkpoint", "directory"), PurePosixPath(normpath(job.spec.checkpoint.directory))))
    if job.spec.snapshots is not None:
        store = PurePosixPath(normpath(job.spec.snapshots.store))
        places.append((("spec", "snapshots", "store"), store / job.metadata.name))
    for index, sink in enumerate(job.spec.sinks):
        if sink.files is None:
            continue
        path = PurePosixPath(normpath(sink.files.path))
        for other_at, place in places:
            if place.is_relative_to(path) or (other_at[1] == "snapshots" and path.is_relative_to(place)):
                at: Location = ("spec", "sinks", index, sink.kind, "path")
                message = f"{path} and {dotted(other_at)} ({place}) lie within each other"
                yield Issue(at, message, "Give the table a folder that holds nothing else", (at, other_at))


def places_can_be_written_to(job: ReplicatedStreamJob) -> Iterator[Issue]:
    """A scheme that nobody knows fails at every start; one that keeps nothing, as `memory`, would lose rows."""
    places: list[tuple[Location, str, Sequence[str]]] = [
        (
            ("spec", "sinks", index, sink.kind, "path"),
            sink.files.path,
            DELTA if sink.kind == "delta" else list(PACKAGES),
        )
        for index, sink in enumerate(job.spec.sinks)
        if sink.files is not None
    ]
    if job.spec.snapshots is not None:
        places.append((("spec", "snapshots", "store"), job.spec.snapshots.store, list(PACKAGES)))
    for at, place, known in places:
        if scheme := looks_like_uri(place):
            path = place.partition(":")[2]
            others = f"Write {scheme}://{path}" if scheme in known else f"Write a path, or one of {', '.join(known)}"
            message = f"{place} is taken for a folder named {scheme}: beside the manifest"
            yield Issue(at, message, f"Write {path}" if scheme == "file" else others)
        elif (scheme := scheme_of(place)) not in known:
            yield Issue(
                at, f"nothing lasting can be written to {scheme}://", f"Write a path, or one of {', '.join(known)}"
            )


def bounds_are_in_order(job: ReplicatedStreamJob) -> Iterator[Issue]:
    bounds, at = job.spec.take_over, ("spec", "takeOver")
    if bounds.min_bound > bounds.max_bound:
        message = f"minBound {bounds.min_bound} is more than maxBound {bounds.max_bound}"
        concerns = ((*at, "minBound"), (*at, "maxBound"))
        yield Issue((*at, "minBound"), message, "Let minBound be at most maxBound", concerns)


def secrets_come_from_one_place(job: ReplicatedStreamJob) -> Iterator[Issue]:
    for at, reference in _secrets(job):
        kinds = {"env": reference.env, "file": reference.file, "secretKeyRef": reference.secret_key_ref}
        given = [kind for kind, value in kinds.items() if value is not None]
        if len(given) != 1:
            message = f"{' and '.join(given)} exclude each other" if given else "says nothing of where the secret is"
            remedy = (
                "Give exactly one of {env: NAME}, {file: path} and, on Kubernetes, {secretKeyRef: {name: …, key: …}}"
            )
            yield Issue(at, message, remedy, (at, *((*at, kind) for kind in kinds)))


def zookeeper_tls_is_complete(job: ReplicatedStreamJob) -> Iterator[Issue]:
    zookeeper, at = job.spec.zookeeper, ("spec", "zookeeper")
    if zookeeper is None:
        return
    files = {"caFile": zookeeper.ca_file, "certFile": zookeeper.cert_file, "keyFile": zookeeper.key_file}
    for key, value in files.items():
        if value is not None and not zookeeper.use_tls:
            concerns = ((*at, key), (*at, "useTls"))
            yield Issue((*at, key), "is without effect, as useTls is false", "Set useTls: true", concerns)
    for key, other in (("certFile", "keyFile"), ("keyFile", "certFile")):
        if files[key] is not None and files[other] is None:
            yield Issue((*at, key), f"needs {other} too", f"Add {other}", ((*at, key), (*at, other)))


def code_lies_in_the_config_map(job: ReplicatedStreamJob) -> Iterator[Issue]:
    code, at = job.spec.job, ("spec", "job", "file")
    if code.config_map is not None and code.file is not None and "/" in code.file:
        remedy = "Write the name of its key, e.g. file: job.py, or remove configMap"
        concerns = (at, ("spec", "job", "configMap"))
        yield Issue(at, f"{code.file} is a path, but the keys of configMap have none", remedy, concerns)


def requests_fit_into_limits(job: ReplicatedStreamJob) -> Iterator[Issue]:
    requests, limits = job.spec.resources.requests, job.spec.resources.limits
    for name in requests.keys() & limits.keys():
        if amount(requests[name]) > amount(limits[name]):
            at: Location = ("spec", "resources", "requests", name)
            message = f"{requests[name]} is more than the limit {limits[name]}"
            yield Issue(at, message, "Raise the limit, or lower the request", (at, (*at[:2], "limits", name)))


def _secrets(job: ReplicatedStreamJob) -> Iterable[tuple[Location, SecretReference]]:
    for name, reference in job.spec.kafka.secret_properties.items():
        yield ("spec", "kafka", "secretProperties", name), reference
    if job.spec.snapshots is not None:
        for name, reference in job.spec.snapshots.secret_properties.items():
            yield ("spec", "snapshots", "secretProperties", name), reference
    if job.spec.schema_registry is not None:
        for name, reference in job.spec.schema_registry.secret_properties.items():
            yield ("spec", "schemaRegistry", "secretProperties", name), reference
    for index, sink in enumerate(job.spec.sinks):
        if sink.iceberg is not None:
            for name, reference in sink.iceberg.secret_properties.items():
                yield ("spec", "sinks", index, "iceberg", "secretProperties", name), reference
        if sink.postgres is not None:
            given = {"password": sink.postgres.password, "keyPassword": sink.postgres.key_password}
            for name, secret in given.items():
                if secret is not None:
                    yield ("spec", "sinks", index, "postgres", name), secret
    zookeeper = job.spec.zookeeper
    if zookeeper is not None and zookeeper.key_password is not None:
        yield ("spec", "zookeeper", "keyPassword"), zookeeper.key_password
    if zookeeper is not None and zookeeper.auth is not None:
        yield ("spec", "zookeeper", "auth", "credentials"), zookeeper.auth.credentials


RULES: Final[tuple[Rule, ...]] = (
    code_is_file_or_module,
    leader_needs_zookeeper,
    standbys_need_slots,
    savepoints_lie_in_a_store,
    no_ordering_only_at_least_once,
    real_time_runs_in_one_task,
    barriers_need_the_real_time_engine,
    names_are_unique,
    schema_goes_with_json,
    formats_have_a_registry,
    schemas_go_with_formats,
    subjects_are_clear,
    tables_have_no_format,
    schemas_of_avro_are_json,
    columns_are_told_apart,
    a_table_joins_a_stream,
    a_table_is_read_from_its_beginning,
    a_table_has_its_key,
    lanes_write_side_by_side,
    partitions_are_of_a_topic,
    lanes_have_short_names,
    a_lane_is_there,
    partitions_follow_a_column,
    *SINK_RULES,
    tables_are_apart_from_state,
    places_can_be_written_to,
    topics_do_not_meet,
    properties_are_given_once,
    buffers_hold_a_record,
    client_logs_are_known,
    authentication_is_complete,
    bounds_are_in_order,
    secrets_come_from_one_place,
    zookeeper_tls_is_complete,
    spark_settings_keep_replicas_equal,
    spark_settings_have_an_effect,
    heap_fits_into_the_container,
    epochs_fit_into_the_heap,
    code_lies_in_the_config_map,
    requests_fit_into_limits,
)
