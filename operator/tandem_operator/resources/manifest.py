"""What the runtime reads of a job: its manifest, without what only concerns Kubernetes, in a ConfigMap.

Left out is also what equals a default: so an image that does not know a field yet reads every manifest that does not use it.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from ruamel.yaml import YAML

from tandem.manifest import API_VERSION, KIND, Manifest, ReplicatedStreamJob, config_parts
from tandem.manifest.kubernetes import KubernetesSpec
from tandem.manifest.pod_template import JOB_FOLDER
from tandem_operator.resources.names import hash_of, manifest_name, metadata

FOLDER: Final = JOB_FOLDER
FILE: Final = "job.yaml"
METRICS_PORT: Final = 9400
ORDERER_METRICS_PORT: Final = 9401

_KUBERNETES_ONLY: Final = frozenset(field.alias or name for name, field in KubernetesSpec.model_fields.items())


@dataclass(frozen=True, slots=True)
class SecretVariable:
    """An environment variable of a pod, and the key of the Secret that its value comes from."""

    variable: str
    secret: str
    key: str


def runtime_tree(job: ReplicatedStreamJob) -> dict[str, Any]:
    """The manifest that the job's processes read, as a plain mapping; `tandem.manifest.parse` reads it."""
    tree = job.model_dump(mode="json", by_alias=True, exclude_none=True, exclude_defaults=True)
    # How many executors there are decides which of Spark's settings have an effect, which the processes check, too.
    left_out = _KUBERNETES_ONLY - ({"executors"} if job.spec.executors.instances else set())
    spec = {key: value for key, value in tree["spec"].items() if key not in left_out}
    spec["job"] = {key: value for key, value in spec["job"].items() if key != "configMap"}
    # Several pods have the port, each of its own address: fixed, so that probes and scrapers need not ask for it.
    spec["metrics"] = {"enabled": True, "port": METRICS_PORT}
    return {
        "apiVersion": API_VERSION,
        "kind": KIND,
        "metadata": {"name": whole_of(job), "namespace": job.metadata.namespace},
        "spec": _with_variables(spec),
    }


def whole_of(job: ReplicatedStreamJob) -> str:
    """The name in the manifest: of a job that is a lane, that of the whole; its processes get the lane as an option."""
    return job.name if job.spec.lane_of is None else job.spec.lane_of.job


def lane_options(job: ReplicatedStreamJob) -> list[str]:
    """The options of a command that is about a job, if that is a lane."""
    return [] if job.spec.lane_of is None else ["--lane", str(job.spec.lane_of.lane)]


def behaviour(job: ReplicatedStreamJob) -> dict[str, Any]:
    """What of the manifest changes what a running process does: pods of another behaviour are replaced.

    The number of members is not among that, but how many slots there are, and whether state is shipped.
    """
    tree = runtime_tree(job)
    spec = {key: value for key, value in tree["spec"].items() if key not in ("replicas", "standbys")}
    spec.get("ordering", {}).pop("generators", None)
    return {**spec, "slots": job.spec.replicas if job.spec.standbys else 0, "shipping": job.ships_state}


def config_of(job: ReplicatedStreamJob) -> str:
    """A hash of what makes the job the job that it is, as far as the manifest tells; after a dash, one of where its code is.

    Processes refuse to run beside those with another one: a change needs a new generation. See `config_hash`, which counts
    the code itself and the versions too: of those the manifest tells nothing.
    """
    manifest = Manifest(job, Path(FILE), Path(FOLDER))
    place = [job.spec.job.config_map, job.spec.job.file, job.spec.job.module]
    return f"{hash_of(config_parts(manifest, b'', {}))}-{hash_of(place, 6)}"


def is_other_config(one: str, another: str, by_code: bool) -> bool:
    """Whether two of `config_of` are of different generations.

    `by_code` : other code is another generation, too; else it is taken for the same until the log refuses it. What an older
    operator wrote does not tell where the code was.
    """
    (settings, _, place), (others, _, elsewhere) = one.partition("-"), another.partition("-")
    return settings != others or (by_code and bool(place and elsewhere) and place != elsewhere)


def render(job: ReplicatedStreamJob) -> str:
    """The manifest as YAML."""
    return _yaml(json.dumps(runtime_tree(job)))


@lru_cache(maxsize=1024)
def _yaml(tree: str) -> str:
    """JSON as YAML that is good to read. Remembered: a pass over a job that has not changed needs it, and it takes long."""
    yaml = YAML(typ="safe", pure=True)
    yaml.default_flow_style = False
    yaml.width = 4096
    text = io.StringIO()
    yaml.dump(json.loads(tree), text)
    return text.getvalue()


def config_map_name(job: ReplicatedStreamJob) -> str:
    """The name of the ConfigMap with this version of the manifest."""
    return manifest_name(job.name, hash_of(render(job)))


def config_map(job: ReplicatedStreamJob, uid: str) -> dict[str, Any]:
    """The ConfigMap with this version of the manifest; another version is another ConfigMap."""
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": metadata(job, uid, config_map_name(job)),
        "immutable": True,
        "data": {FILE: render(job)},
    }


def secret_variables(job: ReplicatedStreamJob) -> tuple[SecretVariable, ...]:
    """The variables in which the job's processes find the Secrets that the manifest names."""
    tree = job.model_dump(mode="json", by_alias=True, exclude_none=True, exclude_defaults=True)
    spec = {key: value for key, value in tree["spec"].items() if key not in _KUBERNETES_ONLY}
    found = {_variable(reference): reference for reference in _references(spec)}
    return tuple(SecretVariable(name, ref["name"], ref["key"]) for name, ref in sorted(found.items()))


def _with_variables(value: Any) -> Any:
    """`secretKeyRef` becomes `env`: the runtime knows nothing of Kubernetes."""
    if isinstance(value, Mapping):
        if isinstance(value.get("secretKeyRef"), Mapping):
            return {"env": _variable(value["secretKeyRef"])}
        return {key: _with_variables(child) for key, child in value.items()}
    return [_with_variables(child) for child in value] if isinstance(value, list) else value


def _references(value: Any) -> Iterator[Mapping[str, str]]:
    if isinstance(value, Mapping):
        if isinstance(value.get("secretKeyRef"), Mapping):
            yield value["secretKeyRef"]
        else:
            for child in value.values():
                yield from _references(child)
    elif isinstance(value, list):
        for child in value:
            yield from _references(child)


def _variable(reference: Mapping[str, str]) -> str:
    """Readable, and another one for every key of every Secret."""
    words = re.sub(r"[^A-Za-z0-9]+", "_", f"{reference['name']}_{reference['key']}").strip("_").upper()[:80]
    return f"TANDEM_SECRET_{words}_{hash_of([reference['name'], reference['key']], 6).upper()}"
