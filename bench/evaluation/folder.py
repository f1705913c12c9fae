"""The folder of an evaluation: its plan, and of each run a file that is written whole at its end, with the raw latencies.

plan.json
runs/ID.json       a run that is done
runs/ID.parquet    every record of it: number, key, partition, created_ns, arrived_ns
failed/ID.json     a run that failed the last time
failed/ID/         its logs
"""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import BaseModel, ValidationError

from bench.evaluation.plan import RunSpec
from bench.evaluation.record import FailedRun, Plan, RunRecord
from bench.records import ARRIVAL, Arrivals


class FolderError(Exception):
    """The folder holds something else than what is wanted."""


class Folder:
    """Reads and writes the folder of one evaluation."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._runs, self._failed = path / "runs", path / "failed"

    def begin(self, plan: Plan, partly: bool = False) -> None:
        """Write the plan; `partly`: beside what was planned before. Raises `FolderError` if that is of another scale."""
        before = self.plan() if (self.path / "plan.json").exists() else None
        if before is not None and before.scale != plan.scale:
            raise FolderError(f"{self.path} has runs of scale {before.scale}: choose another folder for {plan.scale}")
        for folder in (self._runs, self._failed):
            folder.mkdir(parents=True, exist_ok=True)
        _write(self.path / "plan.json", plan.beside(before) if partly and before is not None else plan)

    def plan(self) -> Plan:
        """Raises `FolderError` if there is none, or not one of this version."""
        try:
            return Plan.model_validate_json((self.path / "plan.json").read_text())
        except (OSError, ValidationError) as error:
            raise FolderError(f"{self.path} has no plan of an evaluation: {error}") from error

    def records(self) -> dict[str, RunRecord]:
        """What is done: id → record. A file that cannot be read, or whose latencies are not there, is no run."""
        found = {}
        for path in sorted(self._runs.glob("*.json")):
            with contextlib.suppress(OSError, ValidationError):
                record = RunRecord.model_validate_json(path.read_text())
                if self._latencies(record.spec).exists():
                    found[record.spec.id] = record
        return found

    def done(self) -> Mapping[str, RunSpec]:
        """What is done: id → what was run."""
        return {name: record.spec for name, record in self.records().items()}

    def failures(self) -> dict[str, str]:
        """What failed the last time: id → why."""
        found = {}
        for path in sorted(self._failed.glob("*.json")):
            with contextlib.suppress(OSError, ValidationError):
                failed = FailedRun.model_validate_json(path.read_text())
                found[failed.spec.id] = failed.reason
        return found

    def keep(self, record: RunRecord, arrivals: Arrivals) -> None:
        """Keep a run that is done: the latencies first, so that a record is never without them."""
        columns = {name: np.ascontiguousarray(arrivals[name]) for name in ARRIVAL.names or ()}
        latencies = self._latencies(record.spec)
        half = latencies.with_suffix(".parquet.half")
        pq.write_table(pa.table(columns), half, compression="zstd")
        half.replace(latencies)
        _write(self._runs / f"{record.spec.id}.json", record)
        (self._failed / f"{record.spec.id}.json").unlink(missing_ok=True)
        shutil.rmtree(self._failed / record.spec.id, ignore_errors=True)

    def keep_failure(self, spec: RunSpec, reason: str) -> None:
        """Keep why a run failed."""
        _write(self._failed / f"{spec.id}.json", FailedRun(spec=spec, reason=reason))

    @contextlib.contextmanager
    def logs_kept(self, spec: RunSpec, logs: Path) -> Iterator[None]:
        """If the block raises, the logs below `logs` are kept beside the reason."""
        try:
            yield
        except Exception:
            kept = self._failed / spec.id
            shutil.rmtree(kept, ignore_errors=True)
            for log in logs.rglob("*.log"):
                copy = kept / log.relative_to(logs)
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(log, copy)
            raise

    def arrivals(self, spec: RunSpec) -> Arrivals:
        """Every record of a run that is done, in the order of arrival."""
        table = pq.read_table(self._latencies(spec))
        found = np.empty(table.num_rows, ARRIVAL)
        for name in ARRIVAL.names or ():
            found[name] = table[name].to_numpy()
        return found

    def _latencies(self, spec: RunSpec) -> Path:
        return self._runs / f"{spec.id}.parquet"


def _write(path: Path, model: BaseModel) -> None:
    """Whole or not at all."""
    half = path.with_suffix(".json.half")
    with half.open("w") as file:
        file.write(model.model_dump_json(indent=1) + "\n")
        file.flush()
        os.fsync(file.fileno())
    half.replace(path)
