"""Scenarios and scales as they stand in YAML: strict, and what cannot be run is refused with its reason."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator
from pydantic.alias_generators import to_camel

from bench.evaluation.configurations import PEERS, Combination, Engine, reasons_against

ScaleName = Literal["smoke", "laptop", "paper"]
Words = Annotated[tuple[str, ...], Field(min_length=1)]
Seconds = Annotated[float, Field(gt=0, le=3_600)]
_STRICT = ConfigDict(strict=True, extra="forbid", frozen=True, alias_generator=to_camel)


class Case(BaseModel):
    """All combinations of its lists are run. `engines` and `lanes` are Tandem's: by default microBatch, and one."""

    model_config = _STRICT

    workloads: Words = Field(strict=False)
    configurations: Words = Field(strict=False)
    rates: Annotated[tuple[Annotated[int, Field(gt=0)], ...], Field(min_length=1, strict=False)]
    scales: Annotated[tuple[ScaleName, ...], Field(min_length=1, strict=False)]
    engines: Annotated[tuple[Engine, ...], Field(min_length=1, strict=False)] | None = None
    lanes: Annotated[tuple[int, ...], Field(min_length=1, strict=False)] = (1,)
    faults: Words = Field(default=("none",), strict=False)
    checkpoint_ms: int | None = Field(default=None, gt=0)
    """Between two checkpoints of Flink."""

    @model_validator(mode="after")
    def _can_be_run(self) -> Self:
        against = [reason for combination in self.combinations() for reason in reasons_against(combination)]
        if self.checkpoint_ms is not None and not all(name.startswith("flink-") for name in self.configurations):
            against.append("checkpointMs is Flink's: give Flink's configurations a case of their own")
        if against:
            raise ValueError("; ".join(dict.fromkeys(against)))
        return self

    def combinations(self) -> Iterator[Combination]:
        """In the order of the lists, the last one fastest: workloads, faults, lanes, engines, configurations."""
        engines: tuple[Engine | None, ...] = self.engines or (None,)
        for workload, fault, lanes, engine, name in product(
            self.workloads, self.faults, self.lanes, engines, self.configurations
        ):
            own: Engine | None = engine if engine is not None or name in PEERS else "microBatch"
            yield Combination(workload, name, own, lanes, fault)


class Scenario(BaseModel):
    """A question to the systems, and the cases that answer it."""

    model_config = _STRICT

    name: str = Field(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$")
    about: str = Field(min_length=1)
    cases: Annotated[tuple[Case, ...], Field(min_length=1, strict=False)]


class Scale(BaseModel):
    """How long and how often. Times in s; `kills` of what others take over from, `aloneKills` of what is restarted.

    `serversWarmUp` goes before the first run: a broker that has just been started is slow. Each kill is followed for
    `after` (`aloneAfter`), and has an equally long stretch without a kill before.
    """

    model_config = _STRICT

    servers_warm_up: float = Field(ge=0, le=3_600)
    warm_up: Seconds
    window: Seconds
    rounds: int = Field(gt=0)
    kills: int = Field(gt=0)
    alone_kills: int = Field(gt=0)
    after: Seconds
    alone_after: Seconds
    seed: int = 1


class Scales(BaseModel):
    """The file of the scales."""

    model_config = _STRICT

    smoke: Scale
    laptop: Scale
    paper: Scale

    def get(self, name: ScaleName) -> Scale:
        """The scale of a name."""
        found: Mapping[ScaleName, Scale] = {"smoke": self.smoke, "laptop": self.laptop, "paper": self.paper}
        return found[name]
