"""The archive, unpacked as krew does it, runs with nothing but a Python."""

from __future__ import annotations

import hashlib
import json
import platform
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from krew_plugin.build import build
from krew_plugin.contents import PLATFORMS

pytestmark = pytest.mark.integration

ARCH = {"x86_64": "amd64", "aarch64": "arm64", "arm64": "arm64"}[platform.machine()]
HERE = [one for one in PLATFORMS if (one.os, one.arch) == (sys.platform, ARCH)]
PYTHON = f"{sys.version_info[0]}.{sys.version_info[1]}"


@pytest.mark.thorough
def test_the_plugin_runs_from_the_folder_that_krew_unpacked(tmp_path: Path) -> None:
    made = build(tmp_path / "dist", "https://example.com/tandem", HERE, (PYTHON,))
    (described,) = YAML(typ="safe").load(made)["spec"]["platforms"]
    archive = tmp_path / "dist" / described["uri"].rpartition("/")[2]
    assert hashlib.sha256(archive.read_bytes()).hexdigest() == described["sha256"]
    store = tmp_path / "store" / "tandem" / "v0.1.0"
    with tarfile.open(archive) as packed:
        packed.extractall(store, filter="data")
    command = tmp_path / "bin" / "kubectl-tandem"
    command.parent.mkdir()
    command.symlink_to(store / described["bin"])  # as krew puts it on the PATH

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        bare = Path(sys.base_prefix) / "bin"
        env = {"PATH": f"{bare}:/usr/bin:/bin", "HOME": str(tmp_path), "KUBECONFIG": str(kubeconfig(tmp_path))}
        return subprocess.run([command, *words], env=env, capture_output=True, text=True, timeout=120, check=False)

    helped = run("--help")
    assert helped.returncode == 0, helped.stderr
    assert all(name in helped.stdout for name in ("status", "promote", "drain", "fence", "savepoint"))
    asked = run("status", "flights")
    assert (asked.returncode, asked.stdout) == (1, ""), asked
    assert asked.stderr.startswith("The API server cannot be reached: "), "it speaks Kubernetes' protocol"


def kubeconfig(folder: Path) -> Path:
    """A cluster that nobody serves."""
    config = {
        "current-context": "here",
        "contexts": [{"name": "here", "context": {"cluster": "here", "user": "me"}}],
        "clusters": [{"name": "here", "cluster": {"server": "http://127.0.0.1:1"}}],
        "users": [{"name": "me", "user": {}}],
    }
    path = folder / "kubeconfig"
    path.write_text(json.dumps(config))
    return path
