"""What the watches tell is kept, and old news do not undo newer ones."""

from __future__ import annotations

from typing import Any

from tandem_operator.store import Key, Store

JOB = Key("streaming", "flights")


def pod(name: str, version: int, uid: str = "u", node: str = "n1") -> dict[str, Any]:
    labels = {"tandem.dev/job": JOB.name}
    metadata = {"name": name, "namespace": JOB.namespace, "uid": uid, "labels": labels, "resourceVersion": str(version)}
    return {"metadata": metadata, "spec": {"nodeName": node}}


def node(name: str, ready: bool) -> dict[str, Any]:
    conditions = [{"type": "Ready", "status": "True" if ready else "Unknown"}]
    return {"metadata": {"name": name}, "status": {"conditions": conditions}}


def test_pods_are_found_by_their_job() -> None:
    store = Store()
    assert store.see_pod(pod("b", 1), gone=False) == JOB
    store.see_pod(pod("a", 2), gone=False)

    assert [one["metadata"]["name"] for one in store.pods(JOB)] == ["a", "b"]
    assert store.pods(Key("other", "flights")) == ()


def test_what_is_older_than_what_is_known_is_passed_over() -> None:
    store = Store()
    store.see_pod(pod("a", 12, node="new"), gone=False)
    store.see_pod(pod("a", 9, node="old"), gone=False)

    assert [one["spec"]["nodeName"] for one in store.pods(JOB)] == ["new"]


def test_another_pod_of_the_same_name_is_taken_in() -> None:
    store = Store()
    store.see_pod(pod("a", 12, "first"), gone=False)
    store.see_pod(pod("a", 9, "second"), gone=False)

    assert [one["metadata"]["uid"] for one in store.pods(JOB)] == ["second"]


def test_a_pod_that_is_gone_is_forgotten() -> None:
    store = Store()
    store.see_pod(pod("a", 1), gone=False)
    store.see_pod(pod("a", 2), gone=True)

    assert store.pods(JOB) == ()


def test_a_node_that_is_lost_or_comes_back_concerns_the_jobs_on_it() -> None:
    store = Store()
    store.see_pod(pod("a", 1, node="n1"), gone=False)
    assert store.see_node(node("n1", ready=True), gone=False) == ()
    assert store.see_node(node("n2", ready=True), gone=False) == ()
    assert not store.is_lost("n1")

    assert store.see_node(node("n1", ready=False), gone=False) == (JOB,)
    assert store.is_lost("n1")
    assert store.see_node(node("n2", ready=False), gone=False) == ()
    assert store.see_node(node("n1", ready=True), gone=False) == (JOB,)
    assert not store.is_lost("n1")


def test_a_node_that_nobody_told_of_is_not_lost() -> None:
    assert not Store().is_lost("n9")


def test_a_pod_that_a_list_does_not_show_any_more_is_forgotten() -> None:
    store = Store()
    store.see_pod(pod("a", 1, "first"), gone=False)
    store.see_pod(pod("b", 2, "second"), gone=False)
    store.relisted(JOB, store.named(JOB), [pod("b", 2, "second")])

    assert list(store.named(JOB)) == ["b"]


def test_a_pod_that_was_made_while_the_pods_were_listed_stays() -> None:
    store = Store()
    before = store.named(JOB)
    store.see_pod(pod("a", 1), gone=False)
    store.relisted(JOB, before, [])

    assert list(store.named(JOB)) == ["a"]


def test_a_pod_that_went_while_the_pods_were_listed_does_not_come_back() -> None:
    store = Store()
    store.see_pod(pod("a", 1), gone=False)
    before = store.named(JOB)
    store.see_pod(pod("a", 2), gone=True)
    store.relisted(JOB, before, [pod("a", 1)])

    assert store.pods(JOB) == ()


def test_of_a_pod_no_more_is_kept_than_a_pass_reads() -> None:
    """Hundreds of them are kept; what each was made from is most of it."""
    told = pod("a", 1)
    told["metadata"]["managedFields"] = [{"manager": "kubelet"}]
    told["spec"] |= {"containers": [{"name": "replica", "env": []}], "volumes": []}
    told["status"] = {"phase": "Running", "podIP": "10.0.0.1", "qosClass": "Burstable", "conditions": []}
    store = Store()
    store.see_pod(told, gone=False)
    (kept,) = store.pods(JOB)
    assert kept["spec"] == {"nodeName": told["spec"]["nodeName"]}
    assert kept["status"] == {"phase": "Running", "podIP": "10.0.0.1", "conditions": []}
    assert kept["metadata"] == {name: value for name, value in told["metadata"].items() if name != "managedFields"}


def test_of_a_job_all_is_kept_but_its_manifest_as_a_text() -> None:
    """What `kubectl apply` writes beside the manifest itself. And nobody changes what is kept from outside."""
    applied = {"kubectl.kubernetes.io/last-applied-configuration": "{…}", "tandem.dev/x": "1"}
    told = {
        "metadata": {"name": JOB.name, "namespace": JOB.namespace, "uid": "u", "annotations": applied},
        "spec": {"job": {"name": "identity"}},
        "status": {"phase": "Running"},
    }
    store = Store()
    store.see_job(told, gone=False)
    assert store.jobs[JOB]["metadata"]["annotations"] == {"tandem.dev/x": "1"}
    assert (store.jobs[JOB]["spec"], store.jobs[JOB]["status"]) == (told["spec"], told["status"])
    told["spec"]["job"]["name"] = "another"
    assert store.jobs[JOB]["spec"]["job"]["name"] == "identity"


def _job(version: int, lanes: int) -> dict[str, Any]:
    metadata = {"name": JOB.name, "namespace": JOB.namespace, "uid": "u", "resourceVersion": str(version)}
    return {"metadata": metadata, "spec": {"lanes": lanes}}


def test_an_answer_of_the_api_server_itself_outweighs_what_was_known_before_even_in_an_older_version() -> None:
    """As after etcd was restored: its versions begin again where they were then."""
    store = Store()
    store.see_job(_job(120, lanes=1), gone=False)
    store.see_pod(pod("a", 120, node="n1"), gone=False)
    store.see_job(_job(90, lanes=2), gone=False)
    assert store.jobs[JOB]["spec"] == {"lanes": 1}, "what a watch says may be old news"

    store.answered(JOB, store.jobs[JOB], _job(90, lanes=2))
    store.relisted(JOB, store.named(JOB), [pod("a", 90, node="n2")])
    assert store.jobs[JOB]["spec"] == {"lanes": 2}
    assert [one["spec"]["nodeName"] for one in store.pods(JOB)] == ["n2"]

    store.see_job(_job(91, lanes=3), gone=False)
    assert store.jobs[JOB]["spec"] == {"lanes": 3}


def test_an_answer_that_the_watches_have_overtaken_does_not_undo_what_they_brought() -> None:
    store = Store()
    store.see_job(_job(9, lanes=1), gone=False)
    store.see_pod(pod("a", 9, node="n1"), gone=False)
    job, pods = store.jobs[JOB], store.named(JOB)
    store.see_job(_job(12, lanes=3), gone=False)
    store.see_pod(pod("a", 12, node="n3"), gone=False)

    store.answered(JOB, job, _job(10, lanes=2))
    store.relisted(JOB, pods, [pod("a", 10, node="n2")])
    assert store.jobs[JOB]["spec"] == {"lanes": 3}
    assert [one["spec"]["nodeName"] for one in store.pods(JOB)] == ["n3"]
