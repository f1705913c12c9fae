"""A ReplicatedStreamJob as the API server has it → the model that everything else works with."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tandem.manifest import API_VERSION, KIND, ReplicatedStreamJob, parse


def job_of(body: Mapping[str, Any]) -> ReplicatedStreamJob:
    """The job in `body`. Raises `ManifestError` with everything that is wrong with it.

    Labels and annotations are Kubernetes' own concern here: the API server has checked them.
    """
    metadata = body["metadata"]
    return parse(
        {
            "apiVersion": API_VERSION,
            "kind": KIND,
            "metadata": {"name": metadata["name"], "namespace": metadata["namespace"]},
            "spec": body.get("spec", {}),
        }
    )
