"""The same content makes the same archive; what starts the plugin finds a Python that fits, or says which."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from krew_plugin.archive import pack
from krew_plugin.contents import PLATFORMS, closure
from krew_plugin.manifest import manifest

LAUNCHER = Path(__file__).parents[3] / "operator" / "krew_plugin" / "kubectl-tandem"


def content(folder: Path, text: str = "print(1)\n") -> Path:
    (folder / "lib").mkdir(parents=True)
    (folder / "lib" / "a.py").write_text(text)
    (folder / "start").write_text("#!/bin/sh\n")
    (folder / "start").chmod(0o755)
    return folder


def test_the_digest_is_that_of_the_content_alone(tmp_path: Path) -> None:
    one, later, other = content(tmp_path / "1"), content(tmp_path / "2"), content(tmp_path / "3", "print(2)\n")
    os.utime(later / "lib" / "a.py", (1, 1))

    digests = [pack(folder, tmp_path / f"{folder.name}.tar.gz") for folder in (one, later, other)]

    assert digests[0] == digests[1] != digests[2]
    with tarfile.open(tmp_path / "1.tar.gz") as archive:
        assert {entry.name: stat.filemode(entry.mode) for entry in archive} == {
            "lib/a.py": "?rw-r--r--",
            "start": "?rwxr-xr-x",
        }


def test_what_the_packages_need_is_there_too() -> None:
    found = closure()

    assert {"kubernetes", "urllib3", "pydantic", "pydantic-core", "rich", "typer", "ruamel.yaml"} <= set(found)
    assert "pyspark" not in found


def test_the_manifest_has_an_archive_with_its_digest_for_each_platform() -> None:
    digests = {platform: str(number) * 64 for number, platform in enumerate(PLATFORMS)}
    made = manifest("1.2.3", "https://example.com/files/", digests, ("3.11", "3.12"))

    assert (made["metadata"]["name"], made["spec"]["version"]) == ("tandem", "v1.2.3")
    assert made["spec"]["caveats"].startswith("It needs Python (3.11, 3.12)")
    assert made["spec"]["platforms"][1] == {
        "selector": {"matchLabels": {"os": "linux", "arch": "arm64"}},
        "uri": "https://example.com/files/kubectl-tandem-v1.2.3-linux-arm64.tar.gz",
        "sha256": "1" * 64,
        "bin": "kubectl-tandem",
    }


@pytest.fixture
def launcher(tmp_path: Path) -> Path:
    """Of a plugin for versions that this Python is not."""
    path = tmp_path / "kubectl-tandem"
    path.write_text(LAUNCHER.read_text().replace("@VERSIONS@", "3.98 3.99"))
    return path


def start(launcher: Path, path: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(launcher), "status", "flights"]
    return subprocess.run(command, env={"PATH": str(path)}, capture_output=True, text=True, timeout=60, check=False)


def test_without_a_python_that_fits_it_says_which_do(launcher: Path, tmp_path: Path) -> None:
    done = start(launcher, tmp_path)

    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        f"kubectl tandem needs Python 3.98, 3.99; python3 is {sys.version_info[0]}.{sys.version_info[1]}: "
        "install one of them\n"
    )


def test_another_python_on_the_path_that_fits_is_taken(launcher: Path, tmp_path: Path) -> None:
    fits = tmp_path / "python3.99"
    fits.write_text('#!/bin/sh\necho "with: $@"\n')
    fits.chmod(0o755)

    assert start(launcher, tmp_path).stdout == f"with: {launcher} status flights\n"
