"""What a user may say of a job's pods: what can be merged into a pod of ours. Of the rest the API server is the judge."""

from collections.abc import Mapping
from typing import Annotated, Any, Final

from pydantic import AfterValidator, WithJsonSchema

from tandem.manifest.pod_fields import CONTAINER, unknown_fields
from tandem.manifest.problems import refusal

KEYED_LISTS: Final = {
    "containers": "name",
    "initContainers": "name",
    "volumes": "name",
    "env": "name",
    "imagePullSecrets": "name",
    "volumeMounts": "mountPath",
    "volumeDevices": "devicePath",
    "ports": "containerPort",
    "hostAliases": "ip",
}
"""List of a pod's spec, or of its containers → by which key its things are distinguished."""
JOB_VOLUME: Final = "job"
"""The volume with the manifest."""
JOB_FOLDER: Final = "/etc/tandem/job"
"""Where it is mounted."""
_MAY_BE_TWICE: Final = ("ports", "env", "imagePullSecrets")
"""One number may be a port of several protocols; of variables Kubernetes takes the last."""
_NEEDED: Final = ("containers", "volumes")
_MAPPINGS: Final = ("affinity", "podAntiAffinity", "securityContext")
_AS_IN_A_POD: Final = "Write keys and values, as in a pod"


def _checked(template: Mapping[str, Any]) -> Mapping[str, Any]:
    _check_sections(template)
    spec = template.get("spec", {})
    if not isinstance(spec, Mapping):
        raise refusal("its spec must be a mapping", _AS_IN_A_POD)
    for name in _NEEDED:
        if name in spec and spec[name] is None:
            raise refusal(
                f"its {name} cannot be taken away", f"Leave {name} out, or name what is to be added or changed"
            )
    _check_part(spec)
    _check_names(spec)
    _check_part(spec.get("affinity") or {})
    for name in ("containers", "initContainers"):
        for container in spec.get(name) or ():
            _check_part(container)
            if any(_is_of_the_job(mount["mountPath"]) for mount in container.get("volumeMounts") or ()):
                raise refusal(f"{JOB_FOLDER} is where Tandem mounts the manifest", "Mount it elsewhere")
    if spec.get("nodeName"):
        raise refusal(
            "nodeName would put all pods of the job on one node, past the scheduler, and that node's end would be the job's",
            "Choose nodes by nodeSelector or affinity",
        )
    if any(volume["name"] == JOB_VOLUME for volume in spec.get("volumes") or ()):
        raise refusal(f"the volume {JOB_VOLUME} is Tandem's own", "Give yours another name")
    return template


def _is_of_the_job(path: object) -> bool:
    return str(path).rstrip("/") == JOB_FOLDER


def _check_sections(template: Mapping[str, Any]) -> None:
    for section, known in (("podTemplate", ("metadata", "spec")), ("metadata", ("labels", "annotations"))):
        part = template if section == "podTemplate" else template.get("metadata", {})
        if not isinstance(part, Mapping):
            raise refusal(f"its {section} must be a mapping", _AS_IN_A_POD)
        for key in part:
            if key not in known:
                raise refusal(f"{section} knows no {key}", f"It knows {' and '.join(known)}; write them as in a pod")
    for key, values in template.get("metadata", {}).items():
        if not isinstance(values, Mapping) or not all(isinstance(value, str) for value in values.values()):
            raise refusal(f"its {key} must be texts", 'Put numbers and truth values in quotes: "1", "true"')


def _check_part(part: Mapping[str, Any]) -> None:
    for name in _MAPPINGS:
        if not isinstance(part.get(name) or {}, Mapping):
            raise refusal(f"its {name} must be a mapping", _AS_IN_A_POD)
    for name, key in KEYED_LISTS.items():
        things = part.get(name)
        if things is None:
            continue
        if not isinstance(things, list) or not all(isinstance(thing, Mapping) and thing.get(key) for thing in things):
            raise refusal(f"its {name} must be a list of mappings, each with a {key}", "Write it as in a pod")
        twice = [thing[key] for thing in things if sum(other[key] == thing[key] for other in things) > 1]
        if twice and name not in _MAY_BE_TWICE:
            raise refusal(
                f"its {name} have {twice[0]} twice, and one of them would be lost", "Write it once, with all of it"
            )


def _check_names(spec: Mapping[str, Any]) -> None:
    """Kubernetes refuses a name that it does not know in a pod, but passes over it in one that Spark makes, an executor.

    It may know names that we do not: only a misspelt one is refused here, and any in an executor's container.
    """
    for unknown in unknown_fields(spec):
        if unknown.meant is not None:
            raise refusal(f"Kubernetes knows no {unknown.place}", f"Did you mean {unknown.meant}?")
    for container in spec.get("containers") or ():
        if container.get("name") == "executor":
            for unknown in unknown_fields(container, CONTAINER):
                raise refusal(
                    f"Kubernetes knows no {unknown.place} in the container executor",
                    "It would have no effect: correct it, or remove it",
                )


_TEXTS: Final = {"type": "object", "additionalProperties": {"type": "string"}}
_SCHEMA: Final = {
    "type": "object",
    "properties": {
        "metadata": {
            "type": "object",
            "description": "Added to the pod's own",
            "properties": {
                "labels": {**_TEXTS, "description": "Further labels of the pod"},
                "annotations": {**_TEXTS, "description": "Further annotations of the pod"},
            },
        },
        "spec": {
            "type": "object",
            "description": "A pod's spec, as far as it is to differ; containers, volumes and the like are merged by name",
            "x-kubernetes-preserve-unknown-fields": True,
        },
    },
}

PodTemplate = Annotated[Mapping[str, Any], AfterValidator(_checked), WithJsonSchema(_SCHEMA, mode="validation")]
