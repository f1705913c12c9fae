"""A job's code is imported again for each run, as a replica does, and leaves nothing behind in the test's process."""

from __future__ import annotations

import os
import sys
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

from pyspark.cloudpickle import list_registry_pickle_by_value, unregister_pickle_by_value
from pyspark.sql import SparkSession

from tandem.engine.session_state import changed_settings, settings_of
from tandem.engine.users_code import is_installed
from tandem.jobapi.frozen_code import folders_of, keep
from tandem.jobapi.job import make_importable
from tandem.manifest import Manifest, find_code

_VARIABLES = ("PYTHONPATH", "PYTHONSAFEPATH")


@contextmanager
def imported(session: SparkSession, manifest: Manifest, folder: Path) -> Iterator[Path]:
    """In the block, the driver and Spark's Python workers import the job's code as it is now: gives its archive.

    Afterwards the path, the modules and the session's settings are what they were. `folder`: for archives. Raises
    `CodeNotFoundError`.
    """
    kept, folders = _kept_once(manifest, folder), folders_of(manifest)
    path, modules, settings = list(sys.path), dict(sys.modules), settings_of(session)
    variables = {name: os.environ.get(name) for name in _VARIABLES}
    of_workers, by_value = session.sparkContext.environment, _sent_by_value()
    try:
        make_importable(kept, folders)
        # The JVM has the variables of its start; and a test's process finds modules in places that no variable names.
        of_workers["PYTHONPATH"], of_workers["PYTHONSAFEPATH"] = os.pathsep.join(filter(None, sys.path)), "1"
        yield kept
    finally:
        for name in _sent_by_value() - by_value:
            unregister_pickle_by_value(sys.modules[name])  # type: ignore[no-untyped-call]
        sys.path[:] = path
        _forget_modules(modules, folders)
        for name, value in variables.items():
            of_workers.pop(name, None)
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
        for name in changed_settings(settings, settings_of(session)):
            if name in settings:
                session.conf.set(name, settings[name])
            else:
                session.conf.unset(name)


def _kept_once(manifest: Manifest, folder: Path) -> Path:
    """The archive of the code, one for equal code: Spark starts new Python workers for each path that they import from."""
    folder.mkdir(parents=True, exist_ok=True)
    made = keep(manifest, find_code(manifest), folder)
    with zipfile.ZipFile(made) as archive:
        contents = repr([(info.filename, info.CRC) for info in archive.infolist()])
    place = folder / f"code-{zlib.crc32(contents.encode()):08x}"
    place.mkdir(exist_ok=True)
    return made.rename(place / made.name)


def _sent_by_value() -> set[str]:
    names: set[str] = list_registry_pickle_by_value()  # type: ignore[no-untyped-call]
    return {name for name in names if name in sys.modules}


def _forget_modules(before: dict[str, ModuleType], folders: Sequence[Path]) -> None:
    """What was imported from the job's folders is forgotten, and what it took the place of is back."""
    for name, module in list(sys.modules.items()):
        if before.get(name) is not module and _is_from(module, folders):
            del sys.modules[name]
    for name, module in before.items():
        sys.modules.setdefault(name, module)


def _is_from(module: ModuleType, folders: Sequence[Path]) -> bool:
    file = Path(getattr(module, "__file__", None) or "/")
    return not is_installed(str(file)) and any(file.is_relative_to(folder) for folder in folders)
