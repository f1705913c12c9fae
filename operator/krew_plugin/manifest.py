"""The manifest: https://krew.sigs.k8s.io/docs/developer-guide/plugin-manifest/. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from ruamel.yaml.scalarstring import LiteralScalarString

from krew_plugin.contents import Platform

NAME: Final = "tandem"
EXECUTABLE: Final = "kubectl-tandem"
_DESCRIPTION: Final = """\
Is a replicated streaming job safe? Who publishes, how far behind is each replica, when
was the last failover? Promotes, drains and fences replicas, names savepoints, suspends
and resumes jobs.
"""


def archive_name(version: str, platform: Platform) -> str:
    """Of a platform's archive."""
    return f"{EXECUTABLE}-v{version}-{platform.name}.tar.gz"


def manifest(version: str, base: str, digests: Mapping[Platform, str], pythons: Sequence[str]) -> dict[str, Any]:
    """`base`: where the archives are, an http(s) address; `digests`: platform → SHA-256 of its archive."""
    return {
        "apiVersion": "krew.googlecontainertools.github.com/v1alpha2",
        "kind": "Plugin",
        "metadata": {"name": NAME},
        "spec": {
            "version": f"v{version}",
            "shortDescription": "Inspect and control ReplicatedStreamJobs",
            "description": LiteralScalarString(_DESCRIPTION),
            "caveats": LiteralScalarString(
                f"It needs Python ({', '.join(pythons)}), and Tandem's operator in the cluster.\n"
            ),
            "platforms": [
                {
                    "selector": {"matchLabels": {"os": platform.os, "arch": platform.arch}},
                    "uri": f"{base.rstrip('/')}/{archive_name(version, platform)}",
                    "sha256": digest,
                    "bin": EXECUTABLE,
                }
                for platform, digest in digests.items()
            ],
        },
    }
