"""What a replica makes of the executors that it is given, and of what Kubernetes says about their pods."""

from __future__ import annotations

import json
from pathlib import Path

from tandem.engine.executors import CONF, POD, Executors
from tandem.engine.registering import said_of

GIVEN = {
    "spark.master": "k8s://https://api:443",
    "spark.executor.instances": "2",
    "spark.kubernetes.executor.podNamePrefix": "flights-replica-0-abcde",
}


def executors(**environment: str) -> Executors:
    made = Executors.of({CONF: json.dumps(GIVEN), **environment}, "flights.replica-0.0a1b2c3d")
    assert made is not None
    return made


def test_a_replica_whose_environment_says_nothing_computes_in_its_own_process() -> None:
    assert Executors.of({"POD_NAME": "flights-replica-0-abcde"}, "flights.replica-0.0a1b2c3d") is None


def test_each_run_of_a_container_has_executors_of_other_names() -> None:
    made = executors()
    assert (made.master, made.count) == ("k8s://https://api:443", 2)
    assert made.given["spark.kubernetes.executor.podNamePrefix"] == "flights-replica-0-abcde-0a1b2c3d"
    assert "spark.master" not in made.given


def test_executors_get_the_jar_the_code_and_the_template_of_their_pods(tmp_path: Path) -> None:
    settings = executors(**{POD: '{"kind": "Pod"}'}).settings(
        Path("/jars/fs.jar"), "-Xss4m", "/etc/tandem/job", tmp_path
    )
    assert settings["spark.executor.extraClassPath"] == "/jars/fs.jar"
    assert settings["spark.executorEnv.PYTHONPATH"] == "/etc/tandem/job"
    assert settings["spark.executor.instances"] == "2"
    template = Path(settings["spark.kubernetes.executor.podTemplateFile"])
    assert template.parent == tmp_path
    assert json.loads(template.read_text()) == {"kind": "Pod"}


def test_executors_that_are_no_pods_have_no_template(tmp_path: Path) -> None:
    settings = executors().settings(Path("/jars/fs.jar"), "", "", tmp_path)
    assert not [name for name in settings if "podTemplate" in name]


def test_why_pods_do_not_run_is_told_in_the_words_of_kubernetes() -> None:
    unscheduled = {
        "type": "PodScheduled",
        "status": "False",
        "message": "0/3 nodes are available: 2 Insufficient memory.",
    }
    waiting = {"state": {"waiting": {"reason": "ErrImageNeverPull", "message": "image x is not present"}}}
    pods = {
        "items": [
            {"metadata": {"name": "a"}, "status": {"phase": "Pending", "conditions": [unscheduled]}},
            {"metadata": {"name": "b"}, "status": {"phase": "Pending", "containerStatuses": [waiting]}},
            {
                "metadata": {"name": "c"},
                "status": {
                    "phase": "Failed",
                    "containerStatuses": [{"state": {"terminated": {"exitCode": 137, "reason": "OOMKilled"}}}],
                },
            },
            {"metadata": {"name": "d"}},
        ]
    }
    assert list(said_of(pods)) == [
        "a: Pending: 0/3 nodes are available: 2 Insufficient memory.",
        "b: Pending: image x is not present",
        "c: Failed: OOMKilled",
        "d: Unknown",
    ]
