"""Two jobs with lanes, one behind the other: totals by product are exact while a replica of each is killed."""

from __future__ import annotations

import json
import threading
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from itertools import islice
from pathlib import Path

import pytest
from confluent_kafka import Consumer, TopicPartition
from ruamel.yaml import YAML

import tandem.examples.products
from integration.counting_lanes import PATIENCE_S
from integration.workload import Cluster
from tandem.devservers import KafkaBroker, ZooKeeperServer
from tandem.examples.feeding import Feeder
from tandem.examples.products.feed import ORDERS, PRODUCTS, events
from tandem.kafka.topics import NewTopic, Topics
from tandem.local import LocalJob, LocalLanes
from tandem.local.observe import Observer
from tandem.manifest import load
from tandem.waiting import Deadline, wait_until

pytestmark = [pytest.mark.integration, pytest.mark.thorough, pytest.mark.timeout(900)]

FOLDER = Path(tandem.examples.products.__file__).parent
BY_PRODUCT, TOTALS = FOLDER / "by-product.yaml", FOLDER / "totals.yaml"
BETWEEN, RESULT = "orders-by-product", "product-totals"
PARTITIONS, LANES = 4, 2


def here(path: Path, folder: Path, cluster: Cluster, prefix: str) -> LocalLanes:
    """An example's job on this machine, with topics of its own."""
    yaml, folder = YAML(typ="safe"), folder / path.stem
    body = yaml.load(path.read_text())
    spec = body["spec"]
    body["metadata"]["name"] = f"{prefix}-{path.stem}"
    spec["kafka"]["bootstrapServers"], spec["zookeeper"]["connect"] = cluster.kafka.bootstrap, cluster.zookeeper.connect
    spec["ordering"]["minEpochInterval"] = "400ms"  # leaves the machine some time for restarts
    spec["checkpoint"] = {"directory": str(folder / "checkpoint")}
    spec["sources"][0]["topics"] = [f"{prefix}-{spec['sources'][0]['topics'][0]}"]
    spec["sinks"][0]["topic"] = f"{prefix}-{spec['sinks'][0]['topic']}"
    folder.mkdir()
    yaml.dump(body, folder / "job.yaml")
    lanes = load(folder / "job.yaml").lanes
    return LocalLanes([LocalJob(lane, folder / f"lane-{lane.lane}") for lane in lanes])


def wait(condition: object, what: str, *jobs: LocalJob) -> None:
    if not wait_until(condition, Deadline(PATIENCE_S), 0.5):  # type: ignore[arg-type]
        logs = [path for job in jobs for path in sorted(job.run_directory.glob("*.log"))]
        tails = [f"--- {path}\n{path.read_text(errors='replace')[-1500:]}" for path in logs]
        raise AssertionError("\n".join([f"not within {PATIENCE_S:.0f} s: {what}", *tails]))


def kill_the_publisher(job: LocalJob) -> None:
    """Of a lane, while it publishes; returns when others have published what came then."""
    look = Observer.of(job).look
    wait(lambda: look().publisher is not None, f"{job.name} publishes", job)
    seen = look()
    assert seen.publisher is not None
    assert seen.published_epoch is not None
    job.kill(seen.publisher)
    after = seen.published_epoch + 2  # one may have been on its way
    wait(lambda: (look().published_epoch or 0) > after, f"{job.name} publishes behind epoch {after}", job)


@contextmanager
def fed(feeder: Feeder) -> Iterator[None]:
    """While the block runs, orders come; afterwards Kafka has all that were sent."""
    enough, failed = threading.Event(), []

    def feed() -> None:
        try:
            feeder.run(enough)
        except Exception as error:
            failed.append(error)

    thread = threading.Thread(target=feed)
    thread.start()
    try:
        yield
    finally:
        enough.set()
        thread.join()
    assert failed == []


def published(cluster: Cluster, topic: str) -> dict[str, list[tuple[int, int, int]]]:
    """(partition, orders, pieces) of each product's totals that are committed, in order."""
    consumer, found = Consumer(cluster.connection.consumer()), defaultdict(list)
    try:
        consumer.assign([TopicPartition(topic, number, 0) for number in range(PARTITIONS)])
        left = PARTITIONS
        while left:
            message = consumer.poll(30)
            assert message is not None, "the ends of the topic do not come"
            if message.error() is None:
                row = json.loads(message.value() or b"")
                assert (message.key() or b"").decode() == row["product"]
                found[row["product"]].append((message.partition() or 0, row["orders"], row["pieces"]))
            else:
                left -= 1
    finally:
        consumer.close()
    return found


def expected(sent: int) -> dict[str, tuple[int, int]]:
    """(orders, pieces) of each product among so many orders."""
    orders, pieces = Counter[str](), Counter[str]()
    for event in islice(events(), sent):
        body = json.loads(event.value)
        orders[body["product"]] += 1
        pieces[body["product"]] += body["pieces"]
    return {product: (orders[product], pieces[product]) for product in orders}


def test_totals_by_product_are_exact_and_in_order_though_a_replica_of_each_job_is_killed(
    kafka: KafkaBroker, zookeeper: ZooKeeperServer, topic_prefix: str, tmp_path: Path
) -> None:
    cluster, prefix = Cluster(kafka, zookeeper), f"products-{topic_prefix[-8:]}"
    Topics(cluster.connection).ensure([NewTopic(f"{prefix}-{one}", PARTITIONS) for one in (ORDERS, BETWEEN, RESULT)])
    to_send = (replace(event, topic=f"{prefix}-{ORDERS}") for event in events())
    feeder = Feeder({"bootstrap.servers": kafka.bootstrap}, to_send, f"{prefix}-{ORDERS}", 100)
    with ExitStack() as stack:
        first, second = (here(path, tmp_path, cluster, prefix) for path in (BY_PRODUCT, TOTALS))
        with fed(feeder):
            for job in (first, second):
                stack.callback(job.stop)
                job.start()
            kill_the_publisher(first.jobs[0])
            kill_the_publisher(second.jobs[1])

        def last() -> dict[str, tuple[int, int]]:
            return {product: rows[-1][1:] for product, rows in published(cluster, f"{prefix}-{RESULT}").items()}

        right = expected(feeder.paced_sent)
        wait(lambda: last() == right, f"the totals are {right}", *first.jobs, *second.jobs)
    rows = published(cluster, f"{prefix}-{RESULT}")
    assert set(rows) == set(PRODUCTS)
    for product, of_it in rows.items():
        counts = [orders for _, orders, _ in of_it]
        assert counts == sorted(set(counts)), f"the totals of {product} go back, or come twice"
        assert len({partition for partition, *_ in of_it}) == 1, f"{product} is in several partitions"
    assert {partition % LANES for of_it in rows.values() for partition, *_ in of_it} == set(range(LANES))
