"""Settings that belong to a state: Spark notes them with it, and goes on with those, whatever the session says."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path

from tandem.checkpoint.folders import find_newest
from tandem.checkpoint.position import EnginePosition
from tandem.engine.kept_state import ANOTHER_NAME
from tandem.jobapi.errors import JobError
from tandem.manifest.spark_settings import FIELDS, FIXED


def check_settings(
    checkpoint: Path, after: EnginePosition, session: Mapping[str, str], default_of: Callable[[str], str | None]
) -> None:
    """Raise `JobError` if a setting would have no effect on a query that goes on from a checkpoint.

    `after` : where the checkpoint stands. `session` : the settings that are set, by the manifest or the job's code.
    `default_of` : Spark's default, which is meant where a setting is not set; None: it has none.
    """
    for name, kept in _noted(checkpoint, after).items():
        given = session[name] if name in session else default_of(name)
        if name in FIELDS or given is None or _alike(given, kept):
            continue
        begun = f"the state that the job goes on from was begun with {name}: {kept}, which Spark keeps to"
        if name in FIXED:
            raise JobError(f"{begun}; but it must be {given}: {FIXED[name][1]}. {ANOTHER_NAME}")
        if name not in session:
            raise JobError(
                f"{begun}; it is not set now, and Spark's default, {given}, would have no effect. Set it to {kept} in "
                f"spec.spark.conf; or {ANOTHER_NAME[0].lower()}{ANOTHER_NAME[1:]}"
            )
        raise JobError(
            f"{begun}; {given}, as it is now in spec.spark.conf or the job's code, would have no effect. Set it back to "
            f"{kept}; or {ANOTHER_NAME[0].lower()}{ANOTHER_NAME[1:]}"
        )


def _noted(checkpoint: Path, after: EnginePosition) -> dict[str, str]:
    """The settings in the second line of the newest entry of `offsets`; none where there is no such line."""
    newest = find_newest([checkpoint], after.epoch)
    if newest is None:
        return {}
    lines = (checkpoint / "offsets" / str(newest.batch)).read_text().splitlines()
    return dict(json.loads(lines[1]).get("conf", {}))


def _alike(one: str, other: str) -> bool:
    return one.strip().lower() == other.strip().lower()
