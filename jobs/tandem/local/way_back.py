"""Whether a running job could go back to the files that it was started with: a replica that starts reads them again."""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final
from zipfile import BadZipFile

from tandem.jobapi.frozen_code import NAME, files_of, folders_of, sources
from tandem.local.rundir import RunningJob
from tandem.manifest import Code, CodeNotFoundError, Manifest, config_parts, find_code
from tandem.manifest.fact_hashes import hash_of_module, hashes
from tandem.manifest.identity import MODULE, NOT_IN_FILES
from tandem.process.info import RefusedError
from tandem.protocol.values import Config
from tandem.replica.folders import SCRATCH
from tandem.replica.identity_parts import agreed_modules, changed_parts, identity_of

_CODE: Final = "code"


def check_way_back(running: RunningJob, old: Manifest, accepted: Config, to_stop: str) -> None:
    """Raise `RefusedError` if the files of `old`, the manifest of a running job, are not those of its generation any more.

    Its replicas go on with what they have read. But none could start again, also if an upgrade gives it back its manifest.
    A job that an upgrade has left half-way has several manifests, and is not looked at. No plan is made: that could fail for
    other reasons, which the upgrade may be meant to end.

    `to_stop` : the command by which the job goes on with its changes after a stop.
    """
    if any(state.manifest not in ("", str(running.manifest.absolute())) for state in running.processes):
        return
    remedy = (
        f"If the upgrade failed, no replica could start again with {old.path}. Put the files back as they were, and the "
        "changes into other files or another folder, named by a manifest of their own; or stop the job, and start it with: "
        f"{to_stop}"
    )
    try:
        code = find_code(old)
    except CodeNotFoundError as error:
        raise RefusedError(f"the code that the job runs is gone: {error}. {remedy}") from error
    files = [*_changed_files(old, code, accepted), *_changed_modules(old, code, accepted)]
    if files:
        raise RefusedError(f"changed in place since the job runs: {', '.join(files)}. {remedy}")


def _changed_files(manifest: Manifest, code: Code, accepted: Config) -> Iterator[str]:
    changed = set(changed_parts(identity_of(config_parts(manifest, code.content)), accepted.digest))
    if _CODE in changed:
        yield str(code.path)
    if changed - NOT_IN_FILES - {_CODE}:
        yield str(manifest.path)


def _changed_modules(manifest: Manifest, code: Code, accepted: Config) -> Iterator[str]:
    """The files of modules that the code imports, as far as they are in its folders: others are not known without a plan.

    One that is nowhere is gone if a replica has read it in these folders: otherwise it may be on a path of its own.
    """
    folders = [*folders_of(manifest), *_folder_of_package(manifest, code)]
    for name, agreed in agreed_modules(accepted).items():
        path = next((folder / file for file in files_of(name) for folder in folders if (folder / file).is_file()), None)
        if path is None and any(_hash(name, content) == agreed for content in _as_read(manifest, name)):
            yield f"the module {name}, which is gone"
        with suppress(OSError):  # the job's processes may be another user's
            if path is not None and _hash(name, path.read_bytes()) != agreed:
                yield str(path)


def _folder_of_package(manifest: Manifest, code: Code) -> list[Path]:
    """Where the package of a job's module is, which may be installed."""
    module = manifest.spec.job.module
    if module is None:
        return []
    inner = code.path.parent if code.path.name == "__init__.py" else code.path
    return [inner.parents[module.count(".")]]


def _as_read(manifest: Manifest, name: str) -> Iterator[bytes]:
    """A module as replicas on this machine have found it in the job's folders."""
    for archive in manifest.checkpoint_directory.glob(f"{manifest.name}.*/{SCRATCH}/{NAME}"):
        with suppress(OSError, BadZipFile):  # its replica starts, or ends
            kept = sources(archive)
            yield from (kept[file] for file in files_of(name) if file in kept)


def _hash(name: str, content: bytes) -> str:
    """What a plan's facts say of a module."""
    fact = f"{MODULE}{name}"
    return hashes({fact: hash_of_module(content)})[fact]
