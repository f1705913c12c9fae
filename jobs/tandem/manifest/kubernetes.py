"""What a manifest says for Kubernetes only. `tandem run` checks these fields too, and does without them.

The names are those of the operators of Flink and Spark where these have them.
"""

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import Field

from tandem.manifest.pod_template import PodTemplate
from tandem.manifest.quantities import Quantity
from tandem.manifest.spark import Memory
from tandem.manifest.values import MOST_LANES, Count, Flag, JobName, ObjectName, Section, Shape

ImagePullPolicy = Literal["Always", "IfNotPresent", "Never"]
DeletionPolicy = Literal["Retain", "Delete"]
SavepointName = Annotated[
    str,
    Shape(
        r"[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?",
        "is no name of a savepoint",
        "Write it as `tandem savepoint list` shows it, e.g. before-upgrade",
        64,
    ),
]

Image = Annotated[
    str,
    Shape(
        r"[A-Za-z0-9]([-A-Za-z0-9._:/@]*[A-Za-z0-9])?",
        "is no name of an image",
        "Write registry/repository:tag, e.g. example.com/flights:1.2",
        512,
    ),
]


class SecretKeyRef(Section):
    """A key of a Kubernetes Secret in the job's namespace."""

    name: ObjectName = Field(description="The Secret's name")
    key: Annotated[
        str,
        Shape(r"[-A-Za-z0-9._]+", "is no key of a Secret", "Use letters, digits, '-', '_' and '.'", 253, secret=True),
    ] = Field(description="The key in it")


class PullSecret(Section):
    """A Secret with the login to a registry, in the job's namespace."""

    name: ObjectName = Field(description="The Secret's name")


class Resources(Section):
    """What the replica's container asks for and may use."""

    requests: Mapping[str, Quantity] = Field(default_factory=dict, description="What the scheduler sets aside")
    limits: Mapping[str, Quantity] = Field(default_factory=dict, description="What the container may use at most")


class ExecutorsSpec(Section):
    """Spark executors in pods of their own; none by default: the replica computes in its own process."""

    instances: Count = Field(
        default=0,
        ge=0,
        le=99,
        description="Executors of each replica; spec.spark.parallelism says how many tasks there are",
    )
    cores: Count = Field(default=1, ge=1, le=1_024, description="Tasks that an executor runs at once")
    memory: Memory = Field(default="1g", description="Heap of an executor, as Spark writes it: 512m, 1g")


class LaneOf(Section):
    """Written by the operator: of which job, and which of its lanes, a job is."""

    job: JobName = Field(description="The whole job")
    lane: Count = Field(ge=0, le=MOST_LANES - 1, description="The lane")


class KubernetesSpec(Section):
    """The part of a job's spec that only its operator reads."""

    image: Image | None = Field(
        default=None, description="The image of the job's pods. Default: the one that the operator was installed with"
    )
    image_pull_policy: ImagePullPolicy | None = Field(
        default=None, description="Default: Kubernetes' own, by the image's tag"
    )
    image_pull_secrets: tuple[PullSecret, ...] = Field(default=(), description="Logins to the image's registry")
    service_account: ObjectName | None = Field(
        default=None,
        description="The account that the pods run as. Default: one of the job's name, made by the operator, with no "
        "rights, or, with executors, those on pods of its namespace",
    )
    resources: Resources = Field(
        default=Resources(),
        description="What a replica's container asks for and may use. Without requests its pod is among the first "
        "to be evicted",
    )
    pod_template: PodTemplate | None = Field(
        default=None,
        description="Merged into every pod of the job: metadata.labels, metadata.annotations, spec. The container of "
        "executors is `executor`; it gets the variables and mounts of the container `replica`, too",
    )
    executors: ExecutorsSpec = Field(default=ExecutorsSpec(), description="Spark executors in pods of their own")
    progress_deadline_seconds: Count = Field(
        default=600,
        ge=1,
        le=86_400,
        description="How long a changed replica may take to reach the head, in seconds, before the job is rolled back",
    )
    revision_history_limit: Count = Field(
        default=5,
        ge=0,
        le=20,
        description="How many revisions that worked are kept to roll back to. 0: none; a rollout that fails stops then",
    )
    max_unavailable_lanes: Count = Field(
        default=1,
        ge=1,
        le=MOST_LANES,
        description="How many lanes at a time may be unavailable for a change of the spec",
    )
    lane_of: LaneOf | None = Field(
        default=None, description="Written by the operator into the jobs that it makes of lanes; not for users"
    )
    suspend: Flag = Field(
        default=False,
        description="Run no pods; topics, snapshots and positions stay. `tandem run` ignores it: who calls it wants the job",
    )
    deletion_policy: DeletionPolicy = Field(
        default="Retain",
        description="What becomes of the job's own topics and of its snapshots when it is deleted: Retain keeps them; "
        "Delete deletes them, savepoints too",
    )
    restart_nonce: Count | None = Field(
        default=None, ge=0, description="Another number than before: restart the replicas, one at a time"
    )
    savepoint_nonce: Count | None = Field(
        default=None, ge=0, description="Another number than before: keep the newest snapshot as a savepoint"
    )
    restore_from: SavepointName | None = Field(
        default=None,
        description="The savepoint that the next generation begins with. Default: one that is made for it. It counts when a "
        "change begins another generation, and only then",
    )
