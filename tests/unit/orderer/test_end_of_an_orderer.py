"""How an orderer ended is decided before it is taken apart: trouble with that does not change it."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import NoReturn

import pytest

from integration.supervised import write_manifest
from tandem.manifest import load
from tandem.orderer import main as module
from tandem.process.ending import End, EndKind
from tandem.process.entry import Lifecycle
from tandem.process.info import ExitCode, RefusedError, kept_handlers
from tandem.status.serving import LOOPBACK


def test_a_refusal_stays_one_where_a_client_cannot_be_closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    closed: list[str] = []

    def fails() -> NoReturn:
        raise RuntimeError("the consumer is closed")

    def build(*arguments: object) -> NoReturn:
        stack = arguments[-1]
        assert isinstance(stack, ExitStack)
        stack.callback(closed.append, "all others")
        stack.callback(fails)
        raise RefusedError("the job runs with spec.lanes: 4")

    monkeypatch.setattr(module, "_build", build)
    manifest = load(write_manifest(tmp_path, "orders"))
    lifecycle = Lifecycle("orderer-0", "orderer", tmp_path / "run")
    with kept_handlers():
        code = module.run(manifest, "orderer-0", "replica-0", lifecycle, (LOOPBACK, 0))

    assert code is ExitCode.REFUSED
    end = End.read(tmp_path / "run", "orderer-0")
    assert end is not None
    assert (end.kind, end.reason) == (EndKind.REFUSED, "the job runs with spec.lanes: 4")
    assert closed == ["all others"]
