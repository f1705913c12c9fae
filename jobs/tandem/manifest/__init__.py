"""The ReplicatedStreamJob manifest: models, loading, and every error with its line and remedy."""

from tandem.manifest.code import Code, CodeNotFoundError, check_code, find_code
from tandem.manifest.iceberg import IcebergSink
from tandem.manifest.identity import config_hash, config_parts, installed_versions
from tandem.manifest.kafka import KafkaSpec, TopicNames
from tandem.manifest.kubernetes import ExecutorsSpec, KubernetesSpec, Resources, SecretKeyRef
from tandem.manifest.lanes import UnknownLaneError, lane_name
from tandem.manifest.loading import Manifest, load, parse
from tandem.manifest.models import (
    API_VERSION,
    KIND,
    CheckpointSpec,
    Delivery,
    EngineChoice,
    JobSpec,
    JobTopics,
    Metadata,
    MetricsSpec,
    OrderingMode,
    OrderingSpec,
    OutputMode,
    ReplicatedStreamJob,
    Spec,
    TakeOverSpec,
)
from tandem.manifest.postgres import PostgresOptions, PostgresSink
from tandem.manifest.problems import Issue, ManifestError, Problem
from tandem.manifest.secrets import SecretError, SecretReference
from tandem.manifest.snapshots import SnapshotsSpec
from tandem.manifest.spark import SparkSpec
from tandem.manifest.streams import FileSink, Format, IsolationLevel, SinkKind, SinkSpec, SourceSpec, StartingOffsets
from tandem.manifest.values import Duration
from tandem.manifest.zookeeper import KazooOptions, ZooKeeperAuth, ZooKeeperSpec

__all__ = [
    "API_VERSION",
    "KIND",
    "CheckpointSpec",
    "Code",
    "CodeNotFoundError",
    "Delivery",
    "Duration",
    "EngineChoice",
    "ExecutorsSpec",
    "FileSink",
    "Format",
    "IcebergSink",
    "IsolationLevel",
    "Issue",
    "JobSpec",
    "JobTopics",
    "KafkaSpec",
    "KazooOptions",
    "KubernetesSpec",
    "Manifest",
    "ManifestError",
    "Metadata",
    "MetricsSpec",
    "OrderingMode",
    "OrderingSpec",
    "OutputMode",
    "PostgresOptions",
    "PostgresSink",
    "Problem",
    "ReplicatedStreamJob",
    "Resources",
    "SecretError",
    "SecretKeyRef",
    "SecretReference",
    "SinkKind",
    "SinkSpec",
    "SnapshotsSpec",
    "SourceSpec",
    "SparkSpec",
    "Spec",
    "StartingOffsets",
    "TakeOverSpec",
    "TopicNames",
    "UnknownLaneError",
    "ZooKeeperAuth",
    "ZooKeeperSpec",
    "check_code",
    "config_hash",
    "config_parts",
    "find_code",
    "installed_versions",
    "lane_name",
    "load",
    "parse",
]
