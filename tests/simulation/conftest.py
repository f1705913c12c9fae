"""How many schedules to run, and the one campaign that several tests look at."""

import os

import pytest

from simulation.campaign import Report, campaign

# With fewer, some situations would not be reached, and a green run would say little.
LEAST = 2_000
IN_CI = 20_000
MOST_S = 900.0  # that so many may take on two cores: several times what they take, since machines differ
SCHEDULES = max(LEAST, int(os.environ.get("TANDEM_SCHEDULES", f"{IN_CI}")))
FIRST = int(os.environ.get("TANDEM_FIRST", "0"))
SEED = int(os.environ.get("TANDEM_SEED", "0"))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Everything here is a simulation, and may take as long as so many schedules take."""
    most_s = MOST_S * max(1.0, SCHEDULES / IN_CI)
    for item in items:
        if "simulation" in item.path.parts:
            item.add_marker(pytest.mark.simulation)
            item.add_marker(pytest.mark.timeout(2 * most_s))


@pytest.fixture(scope="session")
def report() -> Report:
    """What TANDEM_SCHEDULES schedules (20,000 unless it says otherwise) found, of the seeds from TANDEM_FIRST on."""
    found = campaign(SCHEDULES, first=FIRST)
    silence, seed = found.silence
    print(
        f"\nseeds {FIRST} to {FIRST + SCHEDULES - 1}: {found.schedules} schedules, {found.worker_s:.0f} s for each worker"
    )
    print(f"longest silence under one failure at a time: {silence:.0f} ms (seed {seed})")
    for situation, count in sorted(found.seen.items()):
        print(f"{count:9d} {situation}")
    return found


@pytest.fixture(scope="session")
def seed() -> int:
    """The seed to replay: TANDEM_SEED."""
    return SEED
