"""What the image starts: its command, or a Spark executor."""

import subprocess
from pathlib import Path

import pytest

ENTRYPOINT = Path(__file__).parents[3] / "operator" / "image" / "entrypoint.sh"
EXECUTOR = {
    "SPARK_HOME": "/spark",
    "TANDEM_SPARK_JARS": "/jars",
    "SPARK_EXECUTOR_MEMORY": "1g",
    "SPARK_DRIVER_URL": "spark://driver",
    "SPARK_EXECUTOR_ID": "7",
    "SPARK_EXECUTOR_CORES": "2",
    "SPARK_APPLICATION_ID": "app",
    "SPARK_EXECUTOR_POD_IP": "10.0.0.7",
    "SPARK_RESOURCE_PROFILE_ID": "0",
    "SPARK_EXECUTOR_POD_NAME": "executor-7",
    "SPARK_JAVA_OPT_0": "-Done=with a space",
    "SPARK_JAVA_OPT_1": "-Dtwo",
}


@pytest.fixture
def path(tmp_path: Path) -> str:
    """A PATH whose `java` tells its arguments, one a line."""
    java = tmp_path / "java"
    java.write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n')
    java.chmod(0o755)
    return f"{tmp_path}:/usr/bin:/bin"


def started(path: str, *arguments: str, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [ENTRYPOINT, *arguments], env={"PATH": path, **env}, capture_output=True, text=True, timeout=30, check=False
    )


def test_a_command_is_started_as_it_is_given_and_its_exit_code_is_the_containers(path: str) -> None:
    ended = started(path, "sh", "-c", 'echo "$0"; exit 78', "two words")

    assert (ended.stdout, ended.returncode) == ("two words\n", 78)


def test_executor_starts_sparks_executor_with_what_the_driver_says_in_the_environment(path: str) -> None:
    said = started(path, "executor", **EXECUTOR).stdout.splitlines()

    assert said[:4] == ["-Done=with a space", "-Dtwo", "-Xms1g", "-Xmx1g"]
    assert said[5].split(":")[2:] == ["/spark/jars/*", "/jars/*"]
    backend = said.index("org.apache.spark.scheduler.cluster.k8s.KubernetesExecutorBackend")
    options = dict(zip(said[backend + 1 :: 2], said[backend + 2 :: 2], strict=True))
    assert options["--driver-url"] == "spark://driver"
    assert options["--podName"] == "executor-7"


def test_an_executor_without_its_driver_fails_and_names_what_is_missing(path: str) -> None:
    ended = started(path, "executor", **{name: v for name, v in EXECUTOR.items() if name != "SPARK_DRIVER_URL"})

    assert ended.returncode != 0
    assert "SPARK_DRIVER_URL" in ended.stderr


def test_a_user_that_the_image_knows_is_left_alone(path: str) -> None:
    assert started(path, "sh", "-c", 'echo "${LD_PRELOAD-none}"').stdout == "none\n"


def test_a_user_without_a_name_gets_one_before_the_command_starts(path: str, tmp_path: Path) -> None:
    """Here nobody can be such a user; so `id` is one that does not know him, and what it would be told is looked at."""
    (tmp_path / "id").write_text("#!/bin/sh\ncase $1 in -un) exit 1;; -u) echo 1000670000;; -g) echo 0;; esac\n")
    (tmp_path / "id").chmod(0o755)
    command = (
        'echo "$LD_PRELOAD"; unset LD_PRELOAD; tail -n 1 "$NSS_WRAPPER_PASSWD"; grep -c ^root: "$NSS_WRAPPER_PASSWD"'
    )
    said = started(path, "/bin/bash", "-c", command, TMPDIR=str(tmp_path)).stdout.splitlines()

    assert said == ["libnss_wrapper.so", "tandem-1000670000:x:1000670000:0:Tandem:/tmp:/usr/sbin/nologin", "1"]
