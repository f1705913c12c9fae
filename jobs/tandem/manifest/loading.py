"""From a file, or from what the Kubernetes API returns, to a checked manifest; or to every problem at once."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from pydantic import ValidationError

from tandem.manifest.explain import explain
from tandem.manifest.fixing import fixed
from tandem.manifest.kafka import KafkaSpec
from tandem.manifest.lanes import UnknownLaneError, lane_name, lane_of, read_by
from tandem.manifest.models import API_VERSION, KIND, ReplicatedStreamJob, Spec, default_checkpoint_directory
from tandem.manifest.problems import QUOTE_IT, Issue, Location, ManifestError, Problem, dotted
from tandem.manifest.rules import check
from tandem.manifest.spark import SparkSpec
from tandem.manifest.spark_files import from_folder
from tandem.manifest.tree import LineMap, YamlError, read, scalar_at
from tandem.manifest.vocabulary import nearest
from tandem.manifest.zookeeper import KazooOptions

_OF_THE_SERVER: Final = (
    *("uid", "resourceVersion", "generation", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds"),
    *("managedFields", "ownerReferences", "finalizers", "selfLink", "generateName"),
)
_FREE_TEXT: Final[tuple[Location, ...]] = (
    ("metadata", "annotations"),
    ("spec", "job", "options"),
    ("spec", "spark", "conf"),
    ("spec", "podTemplate"),
)


@dataclass(frozen=True)
class Manifest:
    """A checked job and where it came from; relative paths in it start from `base`.

    `lane` : which of the job's lanes `model` is; None: the whole job.
    """

    model: ReplicatedStreamJob
    path: Path
    base: Path
    lane: int | None = None
    lines: LineMap = field(default_factory=LineMap, repr=False, compare=False)

    @property
    def name(self) -> str:
        """The job's name."""
        return self.model.name

    @property
    def whole(self) -> str:
        """The name of the whole job, if this is a lane of it."""
        return self.name if self.lane is None else self.name.removesuffix(lane_name("", self.lane))

    @property
    def spec(self) -> Spec:
        """What the job is and how it shall run."""
        return self.model.spec

    @property
    def spark(self) -> SparkSpec:
        """`spec.spark`, with files found from the manifest's folder."""
        spark = self.spec.spark
        return spark.model_copy(update={"conf": from_folder(spark.conf, self.base)})

    @property
    def runs_elsewhere(self) -> bool:
        """Whether it says what only Kubernetes reads, so that its processes have files and packages of their own."""
        spec = self.spec
        return spec.image is not None or spec.pod_template is not None or spec.job.config_map is not None

    @property
    def checkpoint_directory(self) -> Path:
        """The folder of the query's checkpoint; it need not exist yet."""
        given = self.spec.checkpoint.directory
        return default_checkpoint_directory(self.name) if given is None else self.resolve(given)

    @property
    def lanes(self) -> tuple["Manifest", ...]:
        """The lanes of the whole job, each as a job; a job that has not got several, or is a lane, is its only one."""
        count = self.spec.lanes
        return (self,) if count == 1 or self.lane is not None else tuple(self.of_lane(lane) for lane in range(count))

    def of_lane(self, lane: int | None) -> "Manifest":
        """Lane `lane` of the whole job. Raises `UnknownLaneError`."""
        count = self.spec.lanes
        if self.lane is not None or count == 1 or lane is None or not 0 <= lane < count:
            raise UnknownLaneError(self.name, count, lane)
        return replace(self, model=lane_of(self.model, lane), lane=lane)

    def read_of(self, inputs: Mapping[str, int]) -> Mapping[str, range]:
        """Which partitions this lane reads of `inputs`, topic → how many it has."""
        if self.lane is None:
            return {topic: range(count) for topic, count in inputs.items()}
        return read_by(self.model, self.lane, inputs)

    def resolve(self, path: str) -> Path:
        """An absolute path for one that is written in the manifest."""
        return self.base / Path(path).expanduser()

    def kafka_properties(self, environ: Mapping[str, str]) -> dict[str, str]:
        """`KafkaSpec.client_properties`, with secret files found from the manifest's folder."""
        kafka: KafkaSpec = self.spec.kafka
        return kafka.client_properties(environ, self.base)

    def zookeeper_options(self, environ: Mapping[str, str]) -> KazooOptions | None:
        """`ZooKeeperSpec.client_options`, with files found from the manifest's folder; None without ZooKeeper."""
        zookeeper = self.spec.zookeeper
        return None if zookeeper is None else zookeeper.client_options(environ, self.base)

    def problem(self, issue: Issue) -> Problem:
        """The issue with its line in the file."""
        return _located(issue, self.lines)


def load(path: str | Path, lane: int | None = None) -> Manifest:
    """Read and check the manifest in a file; with `lane`, that lane of the job.

    Raises `ManifestError` with every problem of the file, each with its line; `OSError`: the file cannot be read;
    `UnknownLaneError`.
    """
    path = Path(path)
    try:
        text = path.read_text(encoding="utf-8-sig")
        document = read(text)
    except UnicodeDecodeError as error:
        problem = Problem(
            "", 1, f"no UTF-8 text: byte {error.start} is {error.object[error.start]:#04x}", "Save it as UTF-8"
        )
        raise ManifestError(path, [problem]) from error
    except YamlError as error:
        raise ManifestError(path, [Problem("", error.line or 1, error.message, error.remedy)]) from error
    model, issues = _checked(document.value)
    unreadable = {issue.at for issue in document.issues}
    issues = [*document.issues, *(issue for issue in issues if issue.at not in unreadable)]
    if issues or model is None:
        raise ManifestError(path, (_located(_as_written(issue, text), document.lines) for issue in issues))
    manifest = Manifest(model, path, path.absolute().parent, lines=document.lines)
    return manifest if lane is None else manifest.of_lane(lane)


def parse(tree: Mapping[str, Any]) -> ReplicatedStreamJob:
    """Check a manifest that is already a mapping, as the Kubernetes API returns it; its status is left out.

    Raises `ManifestError` with every problem, without lines.
    """
    model, issues = _checked(dict(tree))
    if issues or model is None:
        raise ManifestError(None, (_located(issue, LineMap()) for issue in issues))
    return model


def _checked(tree: Any) -> tuple[ReplicatedStreamJob | None, list[Issue]]:
    if not isinstance(tree, dict):
        message = "the file is empty" if tree is None else "the file is no mapping of keys to values"
        return None, [Issue((), message, f"Begin with apiVersion: {API_VERSION}")]
    identity = list(_identity(tree))
    kind = tree.get("kind")
    if identity and not (isinstance(kind, str) and nearest(kind, [KIND])):
        return None, identity
    tree = _without_server_fields(tree)
    interpolated = list(_interpolations(tree, ()))
    model, issues = _validated(tree)
    taken = {issue.at for issue in (*identity, *interpolated)}
    return model, [*identity, *interpolated, *(issue for issue in issues if issue.at not in taken)]


def _validated(tree: dict[str, Any]) -> tuple[ReplicatedStreamJob | None, list[Issue]]:
    try:
        model = ReplicatedStreamJob.model_validate(tree, by_alias=True, by_name=False)
    except ValidationError as error:
        issues = explain(error)
        rest = fixed(tree, error)
        if rest is None:
            return None, issues
        model, changed = rest
        contradictions = list(_not_about(changed, check(model)))
        weightier = {issue.at for issue in contradictions}
        return None, [*(issue for issue in issues if issue.at not in weightier), *contradictions]
    return model, list(check(model))


def _not_about(changed: frozenset[Location], issues: Iterable[Issue]) -> Iterator[Issue]:
    for issue in issues:
        concerns = issue.concerns or (issue.at,)
        if not any(concern[: len(location)] == location for concern in concerns for location in changed):
            yield issue


def _identity(tree: Mapping[str, Any]) -> Iterator[Issue]:
    for key, expected in (("apiVersion", API_VERSION), ("kind", KIND)):
        given = tree.get(key)
        if given is None:
            yield Issue((key,), f"{key} is missing", f"Add {key}: {expected}")
        elif given != expected:
            yield Issue((key,), f"{given!r} is no {key} that Tandem knows", f"Write {key}: {expected}")


def _without_server_fields(tree: dict[str, Any]) -> dict[str, Any]:
    """What the API server adds is no mistake of the user."""
    tree = {key: value for key, value in tree.items() if key != "status"}
    if isinstance(tree.get("metadata"), dict):
        tree["metadata"] = {key: value for key, value in tree["metadata"].items() if key not in _OF_THE_SERVER}
    return tree


def _interpolations(value: Any, at: Location) -> Iterator[Issue]:
    if at in _FREE_TEXT:
        return
    if isinstance(value, str) and (found := re.search(r"\$\{[^}]*\}|\{\{.*?\}\}", value)):
        yield Issue(
            at, f"{found[0]} would not be replaced", "Write the value; secrets go to spec.kafka.secretProperties"
        )
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, child in items:
        yield from _interpolations(child, (*at, key))


def _as_written(issue: Issue, text: str) -> Issue:
    """What lacks its quotes is quoted as it stands in the file: 0x1f, and not 31."""
    written = scalar_at(text, issue.at) if issue.remedy.startswith(QUOTE_IT) else None
    return issue if written is None else replace(issue, remedy=f'{QUOTE_IT}"{written}"')


def _located(issue: Issue, lines: LineMap) -> Problem:
    return Problem(dotted(issue.at), lines.line_of(issue.at), issue.message, issue.remedy)
