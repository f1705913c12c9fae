"""Beside a checkpoint: by what its state is kept. A plan that keeps other things is refused before it reads it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Final

from tandem.engine.kept_state import KeptState, difference
from tandem.jobapi.errors import JobError

_FILE: Final = "operators"
CANNOT_GO_ON: Final = "the job's code cannot go on from the state that the code before it left:"
ANOTHER_NAME: Final = (
    "Give the changed job another metadata.name, so that it begins with no state, at the first records of its inputs"
)


def check_state(checkpoint: Path, plan: Sequence[KeptState]) -> None:
    """Raise `JobError` if the state in `checkpoint` is kept by other columns than `plan` keeps its state by.

    State that an older Tandem saved does not say by what it is kept, and is taken as it is.
    """
    known = _read(checkpoint / _FILE)
    if known is None:
        return
    if not known and plan:
        kept = ", ".join(f"{one.operator} by {', '.join(one.keys) or 'nothing'}" for one in plan)
        raise JobError(
            f"{CANNOT_GO_ON} it left none, and the code now keeps some ({kept}), in which all that was read before would be "
            f"missing. {ANOTHER_NAME}"
        )
    found = difference(known, plan)
    if found is not None:
        raise JobError(
            f"{CANNOT_GO_ON} {found}. It would take the one for the other without a word. Keep the columns, what is "
            "computed from them, their order and that of the sinks as they were; or "
            f"{ANOTHER_NAME[0].lower()}{ANOTHER_NAME[1:]}"
        )


def note_state(checkpoint: Path, plan: Sequence[KeptState]) -> None:
    """Say by what the state in `checkpoint` is kept from now on. The file may be shared with another checkpoint."""
    checkpoint.mkdir(parents=True, exist_ok=True)
    written = checkpoint / f".{_FILE}"
    written.write_text(json.dumps([asdict(state) for state in plan]))
    written.replace(checkpoint / _FILE)


def _read(path: Path) -> list[KeptState] | None:
    if not path.exists():
        return None
    found = json.loads(path.read_text())
    return [
        KeptState(
            one["operator"], tuple(one["keys"]), tuple(one["values"]), tuple(one.get("made", ())), one.get("form", "")
        )
        for one in found
    ]
