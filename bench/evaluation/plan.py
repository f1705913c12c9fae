"""Which runs an evaluation has, in which order, and how long they take. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Self

from pydantic import BaseModel, ConfigDict

from bench.evaluation.configurations import FAULTS, STRIKES, Combination, Engine, Fault, configuration_of, label
from bench.evaluation.models import Case, Scale, ScaleName, Scenario
from bench.faults import OF_ALL
from bench.plan import Configuration

BEFORE_S = 1.0
"""What belongs to a kill before it."""
SPREAD_S = 2.0
"""A kill comes at a random moment of so many seconds."""
_START_S, _MORE_S, _END_S = 20.0, 8.0, 7.0
"""From the start to the head with one process, for each further one, and to stop."""
_RETURN_S = 20.0
"""A killed replica of Tandem is at the head again."""
CHECKPOINT_MS = 100


class RunSpec(BaseModel):
    """One run, whole: two with equal fields measure the same. Times in s."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    scenario: str
    scale: ScaleName
    workload: str
    configuration: str
    engine: Engine | None
    lanes: int
    rate: int
    fault: Fault
    round: int
    seed: int
    warm_up_s: float
    window_s: float
    kills: int
    after_s: float
    checkpoint_ms: int | None

    @property
    def id(self) -> str:
        """Its name in the folder, and for people."""
        checkpoint = f".checkpoint-{self.checkpoint_ms}ms" if self.checkpoint_ms not in (None, CHECKPOINT_MS) else ""
        return f"{self.workload}.{self.label}{checkpoint}.{self.rate}.{self.fault}.{self.round + 1}"

    @property
    def label(self) -> str:
        """The configuration with engine and lanes."""
        return label(self.combination)

    @property
    def combination(self) -> Combination:
        """What is run."""
        return Combination(self.workload, self.configuration, self.engine, self.lanes, self.fault)

    @property
    def system(self) -> Configuration:
        """The bench's configuration."""
        return configuration_of(self.combination)

    @property
    def expected_s(self) -> float:
        """Roughly how long it takes: start, warm-up, window or kills, end."""
        system = self.system
        followed_s = self.after_s if system.peer else max(self.after_s, _RETURN_S)
        per_kill = 2 * BEFORE_S + self.after_s + SPREAD_S / 2 + followed_s
        start_s = _START_S + _MORE_S * (max(1, (system.replicas + system.standbys) * system.lanes) - 1)
        return start_s + self.warm_up_s + (self.kills * per_kill or self.window_s) + _END_S

    @classmethod
    def of(cls, scenario: str, scale_name: ScaleName, scale: Scale, case: Case, what: Combination, rate: int) -> Self:
        """The first round of a combination of a case."""
        system = configuration_of(what)
        fault = next(one for one in FAULTS if one == what.fault)
        is_alone = system.alone or any(kind in OF_ALL for kind in STRIKES.get(fault, ()))
        return cls(
            scenario=scenario,
            scale=scale_name,
            workload=what.workload,
            configuration=what.configuration,
            engine=what.engine,
            lanes=what.lanes,
            rate=rate,
            fault=fault,
            round=0,
            seed=scale.seed,
            warm_up_s=scale.warm_up,
            window_s=scale.window,
            kills=(scale.alone_kills if is_alone else scale.kills) if fault in STRIKES else 0,
            after_s=scale.alone_after if is_alone else scale.after,
            checkpoint_ms=(case.checkpoint_ms or CHECKPOINT_MS) if system.detection else None,
        )


def planned(scenarios: Iterable[Scenario], scale_name: ScaleName, scale: Scale) -> list[RunSpec]:
    """Round after round, so that what was interrupted has whole ones; each begins with another configuration.

    What several scenarios ask for is run once, for the first.
    """
    once: dict[str, RunSpec] = {}
    for scenario in scenarios:
        for case in scenario.cases:
            if scale_name in case.scales:
                for what in case.combinations():
                    for rate in case.rates:
                        spec = RunSpec.of(scenario.name, scale_name, scale, case, what, rate)
                        once.setdefault(spec.id, spec)
    first = list(once.values())
    return [spec.model_copy(update={"round": n}) for n in range(scale.rounds) for spec in _rotated(first, n)]


def to_do(specs: Sequence[RunSpec], done: Mapping[str, RunSpec]) -> list[RunSpec]:
    """Those that are not done: what was done under other settings is done again, but not for another scenario."""

    def is_done(spec: RunSpec) -> bool:
        before = done.get(spec.id)
        return before is not None and before.model_copy(update={"scenario": spec.scenario}) == spec

    return [spec for spec in specs if not is_done(spec)]


def left_s(left: Sequence[RunSpec], took: Sequence[tuple[RunSpec, float]]) -> float:
    """How long what is left takes; what is done (`took`: s) says by how much the expectation is wrong."""
    expected = sum(spec.expected_s for spec, _ in took)
    factor = sum(seconds for _, seconds in took) / expected if expected else 1.0
    return factor * sum(spec.expected_s for spec in left)


def _rotated(specs: Sequence[RunSpec], by: int) -> list[RunSpec]:
    by %= max(1, len(specs))
    return [*specs[by:], *specs[:by]]
