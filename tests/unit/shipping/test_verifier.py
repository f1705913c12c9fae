"""A proof compares what is computed from the followed state with what was published."""

from __future__ import annotations

import json
from collections.abc import Callable, Generator
from pathlib import Path

import pyarrow as pa
import pytest

from tandem.checkpoint.position import EnginePosition
from tandem.engine.rehearsal import StateUnusableError
from tandem.kafka.client import KafkaConnection
from tandem.kafka.tail import Record
from tandem.protocol.codec import encode_marker
from tandem.protocol.values import Marker
from tandem.protocol.verification import VerificationPace
from tandem.shipping import Follower, FollowerSettings, Trial, Verdicts, Verifier
from tandem.shipping.verifier import Rehearse
from unit.shipping.builders import IDENTITY, FolderBases, checkpoint_with

Rows = Generator[tuple[int, pa.Table], None, None]


def computing(rows: Callable[[int], str], broken: bool = False, fault: str = "") -> Rehearse:
    """An engine that computes any epoch from any state, or cannot read the state."""

    def rehearse(checkpoint: Path, after: EnginePosition, stopped: Callable[[], bool]) -> Rows:  # noqa: ARG001
        assert (checkpoint / "commits" / str(after.epoch)).exists()
        if broken:
            raise StateUnusableError("a changelog cannot be read")
        if fault:
            raise StateUnusableError(fault, fault)
        epoch = after.epoch
        while True:
            epoch += 1
            yield epoch, pa.table({"row": [rows(epoch)]})

    return rehearse


class Proof:
    """A follower at epoch 5 that knows the markers up to 9, and a verifier."""

    def __init__(self, folder: Path, rehearse: Rehearse, last_published: int = 9) -> None:
        bases = FolderBases()
        bases.offer(checkpoint_with(folder / "active", range(10)), 5)
        self.follower = Follower(
            KafkaConnection({}), FollowerSettings("commits", "checkpoints", IDENTITY), bases, folder / "followed"
        )
        for epoch in range(last_published + 1):
            marker = Marker(epoch, 0, "a", json.dumps([epoch, f"row of {epoch}"]), 0, epoch * 10)
            self.follower.take(Record("commits", epoch, encode_marker(marker), 0))
        self.follower.advance()
        self.verified: list[int] = []
        self.wrong: list[int] = []
        self.faults: list[str] = []
        self.pace = VerificationPace(long=3)
        self.verifier = Verifier(
            self.follower,
            Trial(rehearse, lambda epoch, table: json.dumps([epoch, table["row"][0].as_py()])),
            folder / "proof",
            self.pace,
            Verdicts(self.verified.append, self.wrong.append, self.faults.append),
        )
        self.folder = folder


def as_published(epoch: int) -> str:
    return f"row of {epoch}"


def test_a_state_from_which_the_published_rows_follow_is_verified(tmp_path: Path) -> None:
    proof = Proof(tmp_path, computing(as_published))
    assert proof.verifier.prove() == 8
    assert (proof.verified, proof.wrong, proof.faults) == ([8], [], [""])
    assert proof.follower.epoch == 5
    assert not (tmp_path / "proof").exists()
    assert not proof.pace.is_due(9, proof.follower.size)


def test_a_state_from_which_other_rows_follow_is_dropped(tmp_path: Path) -> None:
    proof = Proof(tmp_path, computing(lambda epoch: "another" if epoch == 7 else as_published(epoch)))
    assert proof.verifier.prove() is None
    assert (proof.verified, proof.wrong) == ([], [5])
    assert proof.follower.epoch == -1


def test_a_state_that_cannot_be_read_is_dropped(tmp_path: Path) -> None:
    proof = Proof(tmp_path, computing(as_published, broken=True))
    assert proof.verifier.prove() is None
    assert proof.wrong == [5]
    assert proof.follower.epoch == -1


def test_what_the_jobs_code_raises_in_a_proof_is_told(tmp_path: Path) -> None:
    proof = Proof(tmp_path, computing(as_published, fault="ValueError: no licence (job.py:13)"))
    assert proof.verifier.prove() is None
    assert proof.faults == ["ValueError: no licence (job.py:13)"]


def test_a_proof_that_is_given_up_says_nothing_about_the_state(tmp_path: Path) -> None:
    proof = Proof(tmp_path, computing(lambda _: "another"))
    proof.verifier.stop()
    assert proof.verifier.prove() is None
    assert proof.wrong == []
    assert proof.follower.epoch == 5


def test_a_failure_of_something_else_says_nothing_about_the_state(tmp_path: Path) -> None:
    def away(checkpoint: Path, after: EnginePosition, stopped: Callable[[], bool]) -> Rows:  # noqa: ARG001
        yield from ()
        raise TimeoutError("Kafka is away")

    proof = Proof(tmp_path, away)
    with pytest.raises(TimeoutError):
        proof.verifier.prove()
    assert proof.wrong == []
    assert proof.follower.epoch == 5
    assert not proof.pace.is_due(9, proof.follower.size), "it is not tried again at once"
