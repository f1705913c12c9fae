"""A network that enforces NetworkPolicies, for as long as a block runs: kube-lab's bridge lets everything pass.

kube-router (as k3s has it) is built with Go from the module that kube_router/go.mod pins, once: its binary is kept in the
user's cache.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from cluster.kubernetes import Kubectl, run
from cluster.lab import Lab

_FOLDER: Final = Path(__file__).with_name("kube_router")
_PACKAGE: Final = "github.com/cloudnativelabs/kube-router/v2/cmd/kube-router"
_IMAGE: Final = "kube-router:cluster-tests"
_COMPILED_S: Final = 1200.0
"""It contains a client of Kubernetes: five minutes on two cores."""


@contextmanager
def enforced_policies(lab: Lab) -> Iterator[None]:
    """Each node drops what no NetworkPolicy allows."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        shutil.copy(_FOLDER / "Dockerfile", folder)
        shutil.copy(_binary(), folder / "kube-router")
        lab.build(_IMAGE, folder)
    system = Kubectl("kube-system")
    manifest = str(_FOLDER / "daemonset.yaml")
    system("apply", "-f", manifest)
    try:
        system("rollout", "status", "daemonset/kube-router", "--timeout=120s", timeout_s=130)
        yield
    finally:
        system("delete", "-f", manifest, "--timeout=100s", timeout_s=110)


def _binary() -> Path:
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    binary = cache / "tandem" / "kube-router" / _version() / "kube-router"
    if not binary.exists():
        made = binary.with_suffix(".new")
        run(["go", "build", "-C", str(_FOLDER), "-o", str(made), _PACKAGE], timeout_s=_COMPILED_S)
        made.rename(binary)
    return binary


def _version() -> str:
    lines = (_FOLDER / "go.mod").read_text().splitlines()
    (replaced,) = (line for line in lines if line.startswith("replace "))
    return replaced.split()[-1]
