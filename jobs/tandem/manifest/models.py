"""The kind ReplicatedStreamJob: the one description of a job, for this machine and for Kubernetes.

A model checks each value by itself; what several values must agree on is in `rules`. Read a manifest with `load` or `parse`,
which check both.
"""

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final, Literal

from pydantic import AfterValidator, Field

from tandem.manifest.formats import SchemaRegistrySpec
from tandem.manifest.kafka import KafkaSpec
from tandem.manifest.kubernetes import KubernetesSpec
from tandem.manifest.places import looks_like_uri
from tandem.manifest.problems import refusal
from tandem.manifest.quantities import Quantity, amount
from tandem.manifest.snapshots import SnapshotsSpec
from tandem.manifest.spark import SparkSpec, memory_bytes
from tandem.manifest.streams import SinkSpec, SourceSpec
from tandem.manifest.values import (
    MOST_LANES,
    Count,
    DnsLabel,
    Duration,
    Flag,
    Identifier,
    JobName,
    LabelValue,
    ModuleName,
    ObjectName,
    PathText,
    Section,
    Within,
)
from tandem.manifest.zookeeper import ZooKeeperSpec

API_VERSION: Final = "tandem.dev/v1alpha1"
KIND: Final = "ReplicatedStreamJob"

LEAST_HEAP_PER_BYTE: Final = 8
HEAP_PER_BYTE: Final = 32
"""Bytes of heap for a byte of an epoch, by default. It takes 5 to 12, as the job's plan is, and the heap holds more."""

MOST_BYTES_PER_EPOCH: Final = 2**30
"""Arrow finds the values of a column by 31 bits."""

Delivery = Literal["exactlyOnce", "atLeastOnce", "atMostOnce"]
OrderingMode = Literal["leader", "heartbeat", "none"]
OutputMode = Literal["append", "update"]
OnError = Literal["stop", "deadLetter"]
EngineChoice = Literal["auto", "microBatch", "realTime"]


def _python_file(path: str) -> str:
    if "://" in path:
        raise refusal(f"{path!r} is a URI", "Give a path, relative to the manifest")
    if not path.endswith(".py"):
        raise refusal(f"{path!r} is no Python file", "Name a file that ends in .py, or use spec.job.module")
    return path


def _folder(path: str) -> str:
    if "://" in path or looks_like_uri(path):
        raise refusal(
            f"{path!r} is a URI, and a checkpoint is in a folder",
            "Give a path, e.g. /dev/shm/flights, or leave it out. What has to outlast machines goes to spec.snapshots.store",
        )
    return path


def _whole_bytes(quantity: str) -> str:
    if amount(quantity) < 1 or amount(quantity) % 1:
        raise refusal(f"{quantity} is no number of bytes", "Give whole bytes, at least 1, e.g. 64Mi")
    return quantity


class Metadata(Section):
    """Kubernetes' metadata, as far as a user writes it."""

    name: JobName
    namespace: DnsLabel = "default"
    labels: Mapping[str, LabelValue] = Field(default_factory=dict)
    annotations: Mapping[str, str] = Field(default_factory=dict)


class JobSpec(Section):
    """The job's code: exactly one of `file` and `module`, and a function in it."""

    file: Annotated[PathText, AfterValidator(_python_file)] | None = Field(
        default=None, description="Relative to the manifest"
    )
    module: ModuleName | None = Field(default=None, description="An installed module, or one beside the manifest")
    config_map: ObjectName | None = Field(
        default=None,
        description="A ConfigMap whose keys lie beside the manifest in the pods, e.g. `file`; on Kubernetes only",
    )
    function: Identifier = Field(
        default="job", description="The function in it: its parameters are named after the sources"
    )
    options: Mapping[str, str] = Field(default_factory=dict, description="The job finds them in ctx.options")
    output_mode: OutputMode | None = Field(
        default=None,
        description="Spark's: append (rows that are final) or update (changed groups too). Default: append where Spark "
        "allows it, else update",
    )
    one_row_per_record: Flag | None = Field(
        default=None,
        description="Whether the job makes one row of each input record, in one of its topics, so that tandem verify counts "
        "a record that is neither a row nor a dead letter as lost. Default: where the job's plan shows it",
    )
    on_error: OnError = Field(
        default="stop",
        description="What becomes of a record about which the job's code raises. stop: the job stops and names it; "
        "deadLetter: it goes to the dead-letter topic with the reason, and the job goes on without it",
    )


class OrderingSpec(Section):
    """Who cuts the input into epochs, and at which pace."""

    mode: OrderingMode = Field(
        default="leader",
        description="leader: one elected in ZooKeeper; heartbeat: generators, no election; none: each replica for itself",
    )
    heartbeat_period: Annotated[Duration, Within(1, 10_000)] = Field(
        default="10ms", validate_default=True, description="Between two beats of a generator, in mode heartbeat"
    )
    generators: Count = Field(default=2, ge=1, le=99, description="Heartbeat generators, in mode heartbeat")
    max_records_per_epoch: Count = Field(
        default=10_000, ge=1, le=1_000_000_000, description="Shared fairly by the inputs"
    )
    max_bytes_per_epoch: Annotated[Quantity, AfterValidator(_whole_bytes)] | None = Field(
        default=None,
        description="Keys, values and headers, 256 bytes for each record, 128 for each header; a larger record makes an "
        "epoch of its own. Default: spec.spark.driverMemory / 32",
    )
    min_epoch_interval: Annotated[Duration, Within(0, 3_600_000)] = Field(
        default="0ms", validate_default=True, description="Epochs begin at least this far apart"
    )
    idle_epoch_interval: Annotated[Duration, Within(10, 3_600_000)] | None = Field(
        default=None,
        description="An epoch at least this often, also without input, so that processing-time timers fire. Default: never",
    )
    barrier_interval: Annotated[Duration, Within(100, 3_600_000)] = Field(
        default="5s",
        validate_default=True,
        description="Between two barriers, the epochs behind which the real-time engine commits state",
    )


class TakeOverSpec(Section):
    """How long an owner or a leader may be silent before another one takes over; adaptive between the bounds."""

    min_bound: Annotated[Duration, Within(1, 600_000)] = Field(
        default="50ms", validate_default=True, description="However fast the job is, nobody takes over sooner"
    )
    max_bound: Annotated[Duration, Within(1, 600_000)] = Field(
        default="500ms",
        validate_default=True,
        description="However slow the job is, nobody waits longer, unless an epoch's rows take longer to publish",
    )


class CheckpointSpec(Section):
    """Where the query's checkpoint is: a cache, shared by the replicas on one machine; and what others get of it."""

    directory: Annotated[PathText, AfterValidator(_folder)] | None = Field(
        default=None, description="Default: a folder in memory; a relative one starts from the manifest"
    )
    shipping: Flag | None = Field(
        default=None,
        description="Ship each epoch's changes through Kafka to those who follow. Default: if there are standbys",
    )


class MetricsSpec(Section):
    """Prometheus metrics of each process over HTTP; on Kubernetes they are always served, on ports of their own."""

    enabled: Flag = Field(default=True, description="Whether they are served; no effect on Kubernetes")
    port: Count = Field(default=0, ge=0, le=65_535, description="0: any free port; no effect on Kubernetes")


class Spec(KubernetesSpec):
    """What the job is and how it shall run."""

    job: JobSpec
    engine: EngineChoice = Field(
        default="microBatch",
        description="What computes epochs. realTime: each in milliseconds, for plans that it runs, and aggregations report "
        "every row; microBatch: whatever Spark runs; auto: realTime where both publish the same rows, else microBatch",
    )
    replicas: Count = Field(default=2, ge=1, le=99, description="Replicas that compute and publish")
    lanes: Count = Field(
        default=1,
        ge=1,
        le=MOST_LANES,
        description="Parts of the job, each with replicas, logs and state of its own: lane l computes the partitions p with "
        "p mod lanes = l of every source. What a lane cannot compute alone is refused: docs/how-to/lanes.md",
    )
    standbys: Count = Field(
        default=0, ge=0, le=99, description="Warm replicas that wait for the place of one that fails"
    )
    delivery: Delivery = Field(
        default="exactlyOnce",
        description=(
            "atLeastOnce: duplicates carry headers by which they can be dropped; "
            "atMostOnce: the rows of the epoch under way at a failure may be missing"
        ),
    )
    kafka: KafkaSpec
    zookeeper: ZooKeeperSpec | None = Field(
        default=None, description="Needed when ordering.mode is leader, and for standbys"
    )
    schema_registry: SchemaRegistrySpec | None = Field(
        default=None, description="Needed by the formats avro and protobuf: docs/how-to/formats.md"
    )
    sources: tuple[SourceSpec, ...] = Field(min_length=1, description="What the job reads")
    sinks: tuple[SinkSpec, ...] = Field(min_length=1, description="What the job writes")
    ordering: OrderingSpec = OrderingSpec()
    take_over: TakeOverSpec = TakeOverSpec()
    max_record_bytes: Count = Field(
        default=1_000_000, ge=1, le=1_000_000_000, description="Larger rows go to the dead-letter topic"
    )
    checkpoint: CheckpointSpec = CheckpointSpec()
    snapshots: SnapshotsSpec | None = Field(default=None, description="Without it, state is only in the replicas")
    spark: SparkSpec = SparkSpec()
    metrics: MetricsSpec = MetricsSpec()

    @property
    def max_bytes_per_epoch(self) -> int:
        """Bytes: `ordering.maxBytesPerEpoch`, or what the heap takes at most in comfort."""
        given = self.ordering.max_bytes_per_epoch
        if given is not None:
            return int(amount(given))
        return min(MOST_BYTES_PER_EPOCH, memory_bytes(self.spark.driver_memory) // HEAP_PER_BYTE)


@dataclass(frozen=True)
class JobTopics:
    """The topics of Tandem's own, with the defaults filled in."""

    ordering: str
    commits: str
    dead_letter: str
    checkpoints: str


class ReplicatedStreamJob(Section):
    """A PySpark streaming job in active replicas."""

    api_version: Literal["tandem.dev/v1alpha1"] = API_VERSION
    kind: Literal["ReplicatedStreamJob"] = KIND
    metadata: Metadata
    spec: Spec

    @property
    def name(self) -> str:
        """The job's name."""
        return self.metadata.name

    @property
    def ships_state(self) -> bool:
        """Whether the state's changes are shipped; without an agreed order of epochs there is no state to share."""
        shipping = self.spec.checkpoint.shipping
        return self.spec.ordering.mode != "none" and (bool(self.spec.standbys) if shipping is None else shipping)

    @property
    def topics(self) -> JobTopics:
        """The names of Tandem's own topics."""
        given = self.spec.kafka.topics
        return JobTopics(
            given.ordering or f"{self.name}.ordering",
            given.commits or f"{self.name}.commits",
            given.dead_letter or f"{self.name}.dead-letter",
            given.checkpoints or f"{self.name}.checkpoints",
        )


def default_checkpoint_directory(job: str, memory: Path = Path("/dev/shm")) -> Path:  # noqa: S108
    """The checkpoint's folder when the manifest names none: in memory where there is such a file system, else temporary."""
    root = memory if memory.is_dir() else Path(tempfile.gettempdir())
    return root / "tandem" / job
