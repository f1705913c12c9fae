"""Broker, ZooKeeper, replicas, a standby, orderers on a machine that others reach by IPv6 alone, as pods of some clusters.

That machine is a network namespace. Root may make one, and others where the kernel lets users have namespaces of their own.
It has 127.0.0.1, as pods have in every cluster, and no other address of IPv4.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from integration.command import completed
from tandem.engine.jvm.jars import Jars

pytestmark = [pytest.mark.integration, pytest.mark.timeout(600)]

TESTS = Path(__file__).parents[1]
ADDRESS = "fd00:7::1"
MAKE = f"ip link set lo up && ip -6 address add {ADDRESS}/128 dev lo"
WITHOUT_IPV4 = "ip -4 address flush dev lo"
WHOEVER = () if os.geteuid() == 0 else ("--map-root-user",)


def run_there(command: Sequence[str], timeout_s: float, *more: str) -> subprocess.CompletedProcess[str]:
    """Run a command on that machine; `more`: commands of the shell that change it before."""
    script = " && ".join((MAKE, *more, 'exec "$@"'))
    path = os.pathsep.join([str(TESTS), str(TESTS.parent / "operator"), *filter(None, [os.environ.get("PYTHONPATH")])])
    unshare = ["unshare", "--net", *WHOEVER, "sh", "-c", script, "sh"]
    return completed([*unshare, *command], timeout_s, env={**os.environ, "PYTHONPATH": path})


@pytest.fixture(autouse=True)
def machine() -> None:
    """Skips, and says why, where none can be made."""
    missing = [tool for tool in ("unshare", "ip") if shutil.which(tool) is None]
    why = f"{' and '.join(missing)} (of util-linux and iproute2) are missing" if missing else ""
    if not why and (tried := run_there(["true"], 30)).returncode:
        why = tried.stderr.strip()
    if why:
        pytest.skip(f"needs a network namespace with IPv6, so root and a kernel that has both: {why}")


@pytest.mark.thorough
def test_a_job_runs_survives_a_kill_and_loses_nothing(tmp_path: Path) -> None:
    Jars.resolve()  # there is no network in there
    done = run_there([sys.executable, "-m", "integration.job_on_ipv6", str(tmp_path), ADDRESS], 500)
    assert done.returncode == 0, done.stdout[-2_000:] + done.stderr[-6_000:]


def test_without_even_the_loopback_address_of_ipv4_a_session_is_refused_with_the_remedy(tmp_path: Path) -> None:
    code = (
        "from pathlib import Path; from tandem.engine.session import build_session; from tandem.manifest import SparkSpec\n"
        f"build_session('six', 'replica-0', SparkSpec(), Path('x.jar'), Path({str(tmp_path)!r}))"
    )
    done = run_there([sys.executable, "-c", code], 60, WITHOUT_IPV4)
    assert "JobError: this machine has no 127.0.0.1" in done.stderr
    assert "ip address add 127.0.0.1/8 dev lo" in done.stderr
