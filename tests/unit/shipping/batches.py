"""Checkpoints whose batches have several epochs, of a job whose state after each epoch is known."""

from __future__ import annotations

import json
from pathlib import Path, PurePosixPath

from tandem.checkpoint.folders import find_newest
from tandem.shipping import Delta
from tandem.shipping.files import batch_at, read_files, stores_in
from tandem.shipping.values import decode_delta, encode_delta
from unit.shipping.builders import IDENTITY

STORE = PurePosixPath("state/0/0")
LAST = 60


def state_at(epoch: int) -> dict[str, int]:
    """What the job's state is after an epoch: each one puts a key, and removes another."""
    state: dict[str, int] = {}
    for number in range(epoch + 1):
        state[str(7 * number % 5)] = number
        state.pop(str(3 * number % 7), None)
    return state


def changes(after: int, epoch: int) -> dict[str, int | None]:
    """Each key's last value that a batch of these epochs has changed."""
    keys = {str(7 * n % 5) for n in range(after + 1, epoch + 1)} | {str(3 * n % 7) for n in range(after + 1, epoch + 1)}
    return {key: state_at(epoch).get(key) for key in sorted(keys)}


def commit(checkpoint: Path, batch: int, after: int, epoch: int) -> None:
    """A replica turns over behind an epoch."""
    entry = f'v1\n{{"batchWatermarkMs":0}}\n{{"epoch":{epoch},"log":{10 * epoch}}}'
    for name, content in [
        ("metadata", '{"id":"x"}'),
        (f"offsets/{batch}", entry),
        (str(STORE / f"{batch + 1}.changelog"), json.dumps(changes(after, epoch))),
        (f"watermarks/{batch}", f"known after {epoch}"),
        (f"commits/{batch}", "v1"),
    ]:
        (checkpoint / name).parent.mkdir(parents=True, exist_ok=True)
        (checkpoint / name).write_text(content)


def replica(checkpoint: Path, *barriers: int) -> Path:
    """The checkpoint of a replica that turns over behind these epochs."""
    for batch, (after, epoch) in enumerate(zip((-1, *barriers), barriers, strict=False)):
        commit(checkpoint, batch, after, epoch)
    return checkpoint


def read(folder: Path) -> dict[str, int]:
    """The state that a checkpoint holds, as Spark puts it together: changes of 1, 2, … up to the last committed batch."""
    newest = find_newest([folder], LAST)
    assert newest is not None
    state: dict[str, int] = {}
    for version in range(1, newest.batch + 2):
        for key, value in json.loads((folder / STORE / f"{version}.changelog").read_text()).items():
            if value is None:
                state.pop(key, None)
            else:
                state[key] = value
    return state


def delta_of(checkpoint: Path, number: int, shipper: str = "a") -> Delta:
    """The delta of a batch, as it comes out of Kafka."""
    batch = batch_at(checkpoint, number)
    assert batch is not None
    files = tuple(read_files(checkpoint, number, stores_in(checkpoint), 1_000_000))
    delta = Delta(batch.position.epoch, IDENTITY, shipper, files, batch=(number, batch.after))
    return decode_delta(encode_delta(delta))
