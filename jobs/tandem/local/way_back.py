"""Whether a running job could go back to the files that it was started with: a replica that starts reads them again."""

from collections.abc import Mapping
from typing import Final

from tandem.jobapi.frozen_code import folders_of
from tandem.local.changes import found_plan
from tandem.local.rundir import RunningJob
from tandem.manifest import CodeNotFoundError, Manifest, config_parts, find_code
from tandem.process.info import RefusedError
from tandem.protocol.values import Config
from tandem.replica.identity_parts import changed_parts, identity_of, is_comparable, other_modules

_CODE: Final = "code"
_NOT_IN_FILES: Final = frozenset({"versions", "codecs", "rowOrder"})
"""Parts of an identity that are Tandem's own, or of installed packages."""


def check_way_back(running: RunningJob, old: Manifest, accepted: Config, to_stop: str) -> Mapping[str, str] | None:
    """Raise `RefusedError` if the files of `old`, the manifest of a running job, are not those of its generation any more.

    Its replicas go on with what they have read. But none could start again, also if an upgrade gives it back its manifest.
    A job that an upgrade has left half-way has several manifests, and is not looked at.

    Returns the plan of `old` if it had to be made, for the modules that the code imports: some ten seconds. `to_stop`: the
    command by which the job goes on with its changes after a stop.
    """
    if any(state.manifest not in ("", str(running.manifest.absolute())) for state in running.processes):
        return None
    remedy = (
        f"If the upgrade failed, no replica could start again with {old.path}. Put the files back as they were, and the "
        "changes into other files or another folder, named by a manifest of their own; or stop the job, and start it with: "
        f"{to_stop}"
    )
    try:
        files = _changed_files(old, accepted)
    except CodeNotFoundError as error:
        raise RefusedError(f"the code that the job runs is gone: {error}. {remedy}") from error
    plan = None
    if not files and other_modules({}, accepted):
        try:
            plan = found_plan(old)
        except RefusedError as error:
            raise RefusedError(f"the files that the job runs make no plan any more. {remedy}\n{error}") from error
        if is_comparable(plan, accepted):
            files = [_file_of(old, name) for name in other_modules(plan, accepted)]
    if files:
        raise RefusedError(f"changed in place since the job runs: {', '.join(files)}. {remedy}")
    return plan


def _changed_files(manifest: Manifest, accepted: Config) -> list[str]:
    code = find_code(manifest)
    changed = set(changed_parts(identity_of(config_parts(manifest, code.content)), accepted.digest))
    files = [str(code.path)] if _CODE in changed else []
    return [*files, str(manifest.path)] if changed - _NOT_IN_FILES - {_CODE} else files


def _file_of(manifest: Manifest, module: str) -> str:
    place = module.replace(".", "/")
    paths = (folder / f"{place}{end}" for folder in folders_of(manifest) for end in (".py", "/__init__.py"))
    return next((str(path) for path in paths if path.is_file()), f"the module {module}")
