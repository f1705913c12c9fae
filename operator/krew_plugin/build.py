"""Builds the archives and the manifest into one folder."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Final

from ruamel.yaml import YAML

from krew_plugin.archive import pack
from krew_plugin.contents import PLATFORMS, ROOT, VERSIONS, Platform, copy_pure, fetch_compiled
from krew_plugin.manifest import EXECUTABLE, NAME, archive_name, manifest

_LAUNCHER: Final = Path(__file__).parent / EXECUTABLE


def build(
    folder: Path, base: str, platforms: Sequence[Platform] = PLATFORMS, pythons: Sequence[str] = VERSIONS
) -> Path:
    """Make the archives and `tandem.yaml` in `folder`; returns the latter. `base`: where archives will be downloaded from.

    Raises `MissingPartError`, `OSError`.
    """
    folder.mkdir(parents=True, exist_ok=True)
    number = version("tandem-stream")
    digests = {}
    with tempfile.TemporaryDirectory(prefix="krew-") as temporary:
        lib = Path(temporary) / "lib"
        copy_pure(lib)
        for platform in platforms:
            content = Path(temporary) / platform.name
            for python in pythons:
                fetch_compiled(content / f"python{python}", platform, python)
            shutil.copytree(lib, content / "lib")
            shutil.copyfile(ROOT / "LICENSE", content / "LICENSE")
            launcher = content / EXECUTABLE
            launcher.write_text(_LAUNCHER.read_text().replace("@VERSIONS@", " ".join(pythons)))
            launcher.chmod(0o755)
            digests[platform] = pack(content, folder / archive_name(number, platform))
    made = folder / f"{NAME}.yaml"
    with made.open("w", encoding="utf-8") as file:
        YAML().dump(manifest(number, base, digests, pythons), file)
    return made
