"""Every mistake is shown with its field, its line and its remedy, and only that mistake."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tandem.manifest import ManifestError, Problem, load, parse

Writer = Callable[..., Path]
HERE = "# <-- here"
"""Marks, in a table's YAML, the line that the problem must name."""


def problems_of(path: Path) -> tuple[Problem, ...]:
    with pytest.raises(ManifestError) as caught:
        load(path)
    return caught.value.problems


# what is replaced, by what, the field, a fragment of message and remedy
BAD = {
    "replicas of zero": ("  replicas: 2", f"  replicas: 0 {HERE}", "spec.replicas", "0 is too small. The least is 1"),
    "replicas as text": ("  replicas: 2", f"  replicas: '2' {HERE}", "spec.replicas", "Remove the quotes: 2"),
    "replicas as a truth value": (
        "  replicas: 2", f"  replicas: true {HERE}", "spec.replicas", "the truth value true",
    ),
    "half a replica": ("  replicas: 2", f"  replicas: 1.5 {HERE}", "spec.replicas", "not the number 1.5"),
    "replicas without a value": ("  replicas: 2", f"  replicas: {HERE}", "spec.replicas", "has no value"),
    "negative standbys": ("  replicas: 2", f"  standbys: -1 {HERE}", "spec.standbys", "The least is 0"),
    "an upper-case name": ("  name: flights\nspec", f"  name: Flights {HERE}\nspec", "metadata.name", "DNS-1123"),
    "a name too long for a pod": (
        "  name: flights\nspec", f"  name: {'f' * 45} {HERE}\nspec", "metadata.name", "45 characters. Use at most 44",
    ),
    "a number as a name": ("  name: flights\nspec", f"  name: 7 {HERE}\nspec", "metadata.name", 'quotes: "7"'),
    "no name": (
        "  name: flights\nspec", "  labels: {}\nspec", "metadata.name", "is missing. Add it, e.g. name: flights",
    ),
    "an impossible label": (
        "metadata:\n", f"metadata:\n  labels:\n    team: a b {HERE}\n", "metadata.labels.team", "Kubernetes label",
    ),
    "a misspelt delivery": (
        "  delivery: exactlyOnce", f"  delivery: exactly-once {HERE}", "spec.delivery", "Did you mean exactlyOnce?",
    ),
    "an unknown delivery": (
        "  delivery: exactlyOnce", f"  delivery: twice {HERE}",
        "spec.delivery", "exactlyOnce or atLeastOnce or atMostOnce",
    ),
    "a misspelt key": (
        "  delivery:", f"  delivry: atLeastOnce {HERE}\n  delivery:", "spec.delivry", "Did you mean delivery?",
    ),
    "a key in snake_case": (
        "  takeOver: {}", f"  take_over: {{}} {HERE}", "spec.take_over", "Did you mean takeOver?",
    ),
    "a key in the wrong place": (
        "  takeOver: {}", f"  maxRecordsPerEpoch: 5 {HERE}", "spec.maxRecordsPerEpoch", "It belongs to spec.ordering",
    ),
    "a key of nobody": (
        "  spark: {}", f"  spark:\n    colour: red {HERE}", "spec.spark.colour", "knows conf, parallelism",
    ),
    "no code": ("    file: job.py\n", "", "spec.job", "file is missing"),
    "file and module": (
        "    file: job.py\n", f"    file: job.py\n    module: a.b {HERE}\n", "spec.job.module", "Keep one of them",
    ),
    "a file that is no Python": ("file: job.py", f"file: job.jar {HERE}", "spec.job.file", "ends in .py"),
    "a file by URI": ("file: job.py", f"file: s3://jobs/job.py {HERE}", "spec.job.file", "relative to the manifest"),
    "a path as a module": ("file: job.py", f"module: jobs/job {HERE}", "spec.job.module", "Write package.module"),
    "a function that cannot be one": (
        "function: flights", f"function: my-flights {HERE}", "spec.job.function", "no Python identifier",
    ),
    "an option that is a number": (
        "function: flights", f"options:\n      limit: 5 {HERE}", "spec.job.options.limit", 'Put it in quotes: "5"',
    ),
    "an option that is a date": (
        "function: flights", f"options:\n      day: 2013-01-01 {HERE}", "spec.job.options.day", 'quotes: "2013-01-01"',
    ),
    "brokers with a scheme": (
        "localhost:9092", f"kafka://a:9092 {HERE}", "spec.kafka.bootstrapServers", "without a scheme",
    ),
    "a broker without a port": ("localhost:9092", f"kafka {HERE}", "spec.kafka.bootstrapServers", "Write host:port"),
    "an impossible port": ("localhost:9092", f"kafka:99999 {HERE}", "spec.kafka.bootstrapServers", "99999 is no port"),
    "brokers as a list": (
        "localhost:9092", f"[a:9092, b:9092] {HERE}", "spec.kafka.bootstrapServers", "Separate the servers by commas",
    ),
    "a variable to be replaced": (
        "localhost:9092", f"${{BROKERS}} {HERE}", "spec.kafka.bootstrapServers", "${BROKERS} would not be replaced",
    ),
    "no brokers": (
        "    bootstrapServers: localhost:9092\n", "",
        "spec.kafka.bootstrapServers", "e.g. bootstrapServers: localhost:9092",
    ),
    "a property that Tandem owns": (
        "properties: {}\n    s", f"properties:\n      transactional.id: a {HERE}\n    s",
        "spec.kafka.properties[transactional.id]", "or fencing fails. Remove it",
    ),
    "a property with a field of its own": (
        "properties: {}\n    s", f"properties:\n      isolation.level: read_committed {HERE}\n    s",
        "spec.kafka.properties[isolation.level]", "Use spec.sources[].isolationLevel",
    ),
    "a property of Java": (
        "properties: {}\n    s", f"properties:\n      ssl.truststore.location: /a {HERE}\n    s",
        "spec.kafka.properties[ssl.truststore.location]", "ssl.ca.location",
    ),
    "a misspelt property": (
        "properties: {}\n    s", f"properties:\n      security.protcol: SSL {HERE}\n    s",
        "spec.kafka.properties[security.protcol]", "Did you mean security.protocol?",
    ),
    "a property without quotes": (
        "properties: {}\n    s", f"properties:\n      socket.keepalive.enable: true {HERE}\n    s",
        "spec.kafka.properties[socket.keepalive.enable]", 'Put it in quotes: "true"',
    ),
    "an unknown protocol": (
        "properties: {}\n    s", f"properties:\n      security.protocol: SASL-SSL {HERE}\n    s",
        "spec.kafka.properties[security.protocol]", "Did you mean SASL_SSL?",
    ),
    "TLS settings without TLS": (
        "properties: {}\n    s", f"properties:\n      ssl.ca.location: /ca.pem {HERE}\n    s",
        "spec.kafka.properties[ssl.ca.location]", "Set security.protocol: SSL",
    ),
    "a password inline": (
        "properties: {}\n    s", f"properties:\n      sasl.password: geheim {HERE}\n    s",
        "spec.kafka.properties[sasl.password]", "secretProperties, e.g. sasl.password: {env: SASL_PASSWORD}",
    ),
    "a mechanism without a password": (
        "properties: {}\n    secretProperties: {}",
        "properties: {security.protocol: SASL_SSL, sasl.mechanism: PLAIN, sasl.username: u}\n"
        f"    secretProperties: {{}} {HERE}",
        "spec.kafka.secretProperties[sasl.password]", "sasl.mechanism PLAIN needs sasl.password",
    ),
    "a password without a mechanism": (
        "properties: {}\n    secretProperties: {}",
        "properties: {security.protocol: SASL_SSL, sasl.username: u}\n    secretProperties:\n"
        f"      sasl.password: {{env: P}} {HERE}",
        "spec.kafka.secretProperties[sasl.password]", "Set sasl.mechanism in properties to PLAIN",
    ),
    "a login without SASL": (
        "properties: {}\n    s", f"properties:\n      sasl.username: u {HERE}\n    s",
        "spec.kafka.properties[sasl.username]", "as security.protocol is PLAINTEXT. Set security.protocol: SASL_SSL",
    ),
    "an unknown mechanism": (
        "properties: {}\n    s", "properties:\n      security.protocol: SASL_SSL\n"
        f"      sasl.mechanism: SCRAM-SHA512 {HERE}\n    s",
        "spec.kafka.properties[sasl.mechanism]", "Did you mean SCRAM-SHA-512?",
    ),
    "a property given twice": (
        "properties: {}\n    secretProperties: {}",
        "properties: {security.protocol: SASL_SSL, sasl.mechanism: OAUTHBEARER, sasl.username: u}\n"
        f"    secretProperties:\n      sasl.username: {{env: U}} {HERE}",
        "spec.kafka.secretProperties[sasl.username]", "is also in spec.kafka.properties",
    ),
    "a secret property that Tandem owns": (
        "secretProperties: {}", f"secretProperties:\n      group.id: {{env: G}} {HERE}",
        "spec.kafka.secretProperties[group.id]", "not as a consumer group. Remove it",
    ),
    "a secret inline": (
        "secretProperties: {}", f"secretProperties:\n      ssl.key.password: geheim {HERE}",
        "spec.kafka.secretProperties[ssl.key.password]", "{env: NAME} or {file: path}",
    ),
    "a secret from two places": (
        "properties: {}\n    secretProperties: {}",
        "properties: {security.protocol: SSL}\n    secretProperties:\n"
        f"      ssl.key.password: {{env: A, file: /b}} {HERE}",
        "spec.kafka.secretProperties[ssl.key.password]", "env and file exclude each other",
    ),
    "a secret from nowhere": (
        "properties: {}\n    secretProperties: {}",
        f"properties: {{security.protocol: SSL}}\n    secretProperties:\n      ssl.key.password: {{}} {HERE}",
        "spec.kafka.secretProperties[ssl.key.password]", "says nothing of where the secret is",
    ),
    "a topic with a space": (
        "topic: delays", f"topic: my delays {HERE}", "spec.sinks[0].topic", "no name of a Kafka topic",
    ),
    "a pattern of topics": (
        "topics: [flights]", f"topics: [flights.*] {HERE}", "spec.sources[0].topics[0]", "patterns",
    ),
    "a topic of Kafka itself": (
        "topic: delays", f"topic: __consumer_offsets {HERE}", "spec.sinks[0].topic", "belongs to Kafka itself",
    ),
    "a text for a list of topics": (
        "topics: [flights]", f"topics: flights {HERE}", "spec.sources[0].topics", "Write [flights]",
    ),
    "no topics": ("topics: [flights]", f"topics: [] {HERE}", "spec.sources[0].topics", "is an empty list"),
    "an output that is an input": (
        "topic: delays", f"topic: flights {HERE}", "spec.sinks[0].topic", "the job would read its own output",
    ),
    "one topic in two sources": (
        "topics: [weather]", f"topics: [flights] {HERE}", "spec.sources[1].topics[0]", "Keep one source for it",
    ),
    "one topic twice in a source": (
        "topics: [weather]", f"topics: [weather, weather] {HERE}", "spec.sources[1].topics[1]", "Name it once",
    ),
    "an ordering topic that is an input": (
        "    topics: {}", f"    topics:\n      ordering: weather {HERE}",
        "spec.kafka.topics.ordering", "an input of source weather",
    ),
    "an output to a topic of Tandem": (
        "topic: delays", "topic: flights.commits", "spec.kafka.topics.commits", "already the output of sink delays",
    ),
    "two sinks to one topic": (
        "parquet:\n        path: /data/out", f"topic: delays {HERE}", "spec.sinks[1].topic", "Give each its own topic",
    ),
    "two sinks of one name": (
        "name: archive", f"name: delays {HERE}", "spec.sinks[1].name", "also the name of spec.sinks[0]",
    ),
    "two sources of one name": ("name: weather", f"name: flights {HERE}", "spec.sources[1].name", "spec.sources[0]"),
    "a source that cannot be a parameter": (
        "name: weather", f"name: the-weather {HERE}", "spec.sources[1].name", "no Python identifier",
    ),
    "a source named by a keyword": (
        "name: weather", f"name: class {HERE}", "spec.sources[1].name", "a word of the Python",
    ),
    "a source named like the context": (
        "name: weather", f"name: ctx {HERE}", "spec.sources[1].name", "the job's context",
    ),
    "json without a schema": (
        "      schema: carrier STRING, dep_delay DOUBLE\n", "", "spec.sources[0].schema", "format json needs a schema",
    ),
    "a schema for raw bytes": (
        "      format: json\n      schema: carrier STRING, dep_delay DOUBLE",
        f"      schema: carrier STRING {HERE}", "spec.sources[0].schema", "Set format: json, or remove the schema",
    ),
    "a misspelt type": (
        "schema: carrier STRING, dep_delay DOUBLE", f"schema: carrier STRNG {HERE}",
        "spec.sources[0].schema", "carrier has the unknown type STRNG, perhaps STRING",
    ),
    "an unknown format": (
        "format: json", f"format: avro {HERE}", "spec.sources[0].format", "'avro' is none of raw, json",
    ),
    "offsets of Kafka's older name": (
        "format: json", f"format: json\n      startingOffsets: smallest {HERE}",
        "spec.sources[0].startingOffsets", "earliest",
    ),
    "no sinks": (
        "  sinks:\n    - name: delays\n      topic: delays\n    - name: archive\n      parquet:\n        path: /data/out\n",
        f"  sinks: [] {HERE}\n", "spec.sinks", "Give at least one",
    ),
    "a sink to nowhere": (
        "    - name: delays\n      topic: delays", f"    - name: delays {HERE}",
        "spec.sinks[0]", "exactly one of topic",
    ),
    "a sink to two places": (
        "topic: delays", f"topic: delays\n      delta: {{path: /b}} {HERE}",
        "spec.sinks[0].delta", "topic and delta exclude",
    ),
    "a table without a path": ("        path: /data/out", "        {}", "spec.sinks[1].parquet.path", "is missing"),
    "a table within another": (
        "topic: delays", "delta: {path: /data}", "spec.sinks[1].parquet.path", "Give each table a folder of its own",
    ),
    "a leader without ZooKeeper": (
        "  zookeeper:\n    connect: localhost:2181\n", "",
        "spec.zookeeper", "Add zookeeper: {connect: localhost:2181}",
    ),
    "an unknown mode": ("mode: leader", f"mode: raft {HERE}", "spec.ordering.mode", "none of leader, heartbeat, none"),
    "exactly once without ordering": ("mode: leader", f"mode: none {HERE}", "spec.ordering.mode", "atLeastOnce"),
    "a period without a unit": (
        "mode: leader", f"heartbeatPeriod: 10 {HERE}",
        "spec.ordering.heartbeatPeriod", "10 has no unit. Write 10ms or 10s",
    ),
    "a period of another unit": (
        "mode: leader", f"heartbeatPeriod: 10us {HERE}", "spec.ordering.heartbeatPeriod", "e.g. 10ms, 5s, 1m",
    ),
    "a period of a fraction": (
        "mode: leader", f"heartbeatPeriod: 0.5ms {HERE}", "spec.ordering.heartbeatPeriod", "fraction of a millisecond",
    ),
    "a period of nothing": (
        "mode: leader", f"heartbeatPeriod: 0ms {HERE}", "spec.ordering.heartbeatPeriod", "Choose between 1ms and 10s",
    ),
    "no generators": ("mode: leader", f"generators: 0 {HERE}", "spec.ordering.generators", "The least is 1"),
    "bounds in the wrong order": (
        "takeOver: {}", f"takeOver:\n    minBound: 2s {HERE}\n    maxBound: 1s",
        "spec.takeOver.minBound", "more than maxBound 1s",
    ),
    "a lower bound above the default upper one": (
        "takeOver: {}", f"takeOver: {{minBound: 5s}} {HERE}", "spec.takeOver.minBound", "more than maxBound 1s",
    ),
    "ZooKeeper's address with a scheme": (
        "localhost:2181", f"zk://a:2181 {HERE}", "spec.zookeeper.connect", "no ZooKeeper connect string",
    ),
    "certificates without TLS": (
        "localhost:2181", f"localhost:2181\n    caFile: ca.pem {HERE}", "spec.zookeeper.caFile", "Set useTls: true",
    ),
    "a certificate without its key": (
        "localhost:2181", f"localhost:2181\n    useTls: true\n    certFile: c.pem {HERE}",
        "spec.zookeeper.certFile", "Add keyFile",
    ),
    "a yes of YAML 1.1": (
        "localhost:2181", f"localhost:2181\n    useTls: yes {HERE}", "spec.zookeeper.useTls", "true or false",
    ),
    "adaptive execution": (
        "spark: {}", f"spark:\n    conf:\n      spark.sql.adaptive.enabled: 'true' {HERE}",
        "spec.spark.conf[spark.sql.adaptive.enabled]", "run-time statistics differ between replicas",
    ),
    "adaptive execution without quotes": (
        "spark: {}", f"spark:\n    conf:\n      spark.sql.adaptive.enabled: true {HERE}",
        "spec.spark.conf[spark.sql.adaptive.enabled]", "must be false",
    ),
    "a Spark setting that Tandem owns": (
        "spark: {}", f"spark:\n    conf:\n      spark.driver.memory: 4g {HERE}",
        "spec.spark.conf[spark.driver.memory]", "Use spec.spark.driverMemory",
    ),
    "a Spark setting without its prefix": (
        "spark: {}", f"spark:\n    conf:\n      sql.session.timeZone: UTC {HERE}",
        "spec.spark.conf[sql.session.timeZone]", "perhaps spark.sql.session.timeZone",
    ),
    "memory in Kubernetes' notation": (
        "spark: {}", f"spark: {{driverMemory: 1Gi}} {HERE}", "spec.spark.driverMemory", "512m, 1g",
    ),
    "too little memory": (
        "spark: {}", f"spark: {{driverMemory: 64m}} {HERE}", "spec.spark.driverMemory", "at least 512m",
    ),
    "a text for a section": ("spark: {}", f"spark: fast {HERE}", "spec.spark", "must be a mapping, not a text"),
    "a port too high": ("spark: {}", f"metrics: {{port: 70000}} {HERE}", "spec.metrics.port", "The most is 65535"),
    "another version": ("dev/v1alpha1", f"dev/v1 {HERE}", "apiVersion", "Write apiVersion: tandem.dev/v1alpha1"),
    "a misspelt kind": (
        "ReplicatedStreamJob", f"ReplicatedStreamjob {HERE}", "kind", "Write kind: ReplicatedStreamJob",
    ),
}  # fmt: skip
LINES_OF_PARENTS = {
    "no name": "metadata:",
    "no code": "  job:",
    "no brokers": "  kafka:",
    "json without a schema": "    - name: flights",
    "a table without a path": "      parquet:",
    "a table within another": "        path: /data/out",
    "a leader without ZooKeeper": "spec:",
    "an output to a topic of Tandem": "    topics: {}",
}
"""For what is not there to be marked: the line of what would contain it, or of what it clashes with."""


@pytest.mark.parametrize("name", BAD)
def test_a_mistake_is_the_only_problem_and_has_its_line(name: str, write: Writer) -> None:
    old, new, field, fragment = BAD[name]

    problems = problems_of(path := write((old, new)))

    rows = path.read_text().splitlines()
    marked = [number for number, row in enumerate(rows, 1) if HERE in row or row == LINES_OF_PARENTS.get(name)]
    assert [(problem.path, problem.line) for problem in problems] == [(field, *marked)]
    assert fragment in problems[0].detail


@pytest.mark.parametrize(
    ("text", "line", "fragment"),
    [
        ("", 1, "the file is empty"),
        ("# nothing\n", 1, "the file is empty"),
        ("- a\n- b\n", 1, "no mapping"),
        ("just text\n", 1, "no mapping"),
        ("a: 1\n\tb: 2\n", 2, "Indent with spaces"),
        ("a: [1, 2\nb: 3\n", 2, "Check the indentation"),
        ("a: b: c\n", 1, "put texts that contain ': '"),
        ("a: 1\nb: 2\na: 3\n", 3, "the key a is written twice"),
        ("a: 1\n---\nb: 2\n", 2, "Keep one manifest per file"),
        ("# x\nkind: SparkApplication\nspec: {mode: cluster}\n", 2, "'SparkApplication' is no kind"),
        ("a: \x07\n", 1, "control characters"),
    ],
)
def test_what_is_no_manifest_at_all_is_said_clearly(text: str, line: int, fragment: str, tmp_path: Path) -> None:
    path = tmp_path / "m.yaml"
    path.write_text(text)

    problems = problems_of(path)

    assert any(problem.line == line and fragment in problem.detail for problem in problems), problems


def test_a_file_of_another_kind_is_not_picked_to_pieces(tmp_path: Path) -> None:
    path = tmp_path / "m.yaml"
    path.write_text("apiVersion: v1\nkind: ConfigMap\ndata: {a: b}\n")

    assert [problem.path for problem in problems_of(path)] == ["apiVersion", "kind"]


def test_bytes_that_are_no_text_are_a_problem_too(tmp_path: Path) -> None:
    path = tmp_path / "m.yaml"
    path.write_bytes(b"a: \xff\n")

    assert "no UTF-8 text" in problems_of(path)[0].message


def test_a_tag_is_a_problem(write: Writer) -> None:
    problems = problems_of(write(("  name: flights\nspec", "  name: !env NAME\nspec")))

    assert [(problem.path, problem.line) for problem in problems] == [("metadata.name", 5)]
    assert "Tags are not supported" in problems[0].remedy


def test_mistakes_of_all_kinds_are_shown_at_once_in_the_order_of_their_lines(write: Writer) -> None:
    path = write(
        ("  replicas: 2", "  replicas: many"),
        ("localhost:9092", "kafka"),
        ("topics: [weather]", "topics: [weather, delays]"),
        ("name: archive", "name: delays"),
        ("takeOver: {}", "takeover: {}"),
        ("spark: {}", "spark: {driverMemory: 1, conf: {spark.speculation: true}}"),
    )

    assert [problem.path for problem in problems_of(path)] == [
        "spec.replicas",
        "spec.kafka.bootstrapServers",
        "spec.sinks[0].topic",
        "spec.sinks[1].name",
        "spec.takeover",
        "spec.spark.conf[spark.speculation]",
        "spec.spark.driverMemory",
    ]


def test_a_value_that_could_not_be_read_causes_no_second_problem(write: Writer) -> None:
    """Without the mode nobody knows whether ZooKeeper is needed; without the delivery, whether ordering is."""
    without_zookeeper = write(("  zookeeper:\n    connect: localhost:2181\n", ""), ("mode: leader", "mode: heart-bat"))
    assert [problem.path for problem in problems_of(without_zookeeper)] == ["spec.ordering.mode"]

    without_delivery = write(("delivery: exactlyOnce", "delivery: atLeast"), ("mode: leader", "mode: none"))
    assert [problem.path for problem in problems_of(without_delivery)] == ["spec.delivery"]


def test_a_misspelt_key_is_not_reported_as_missing_too(write: Writer) -> None:
    assert [problem.path for problem in problems_of(write(("bootstrapServers:", "bootstrapServer:")))] == [
        "spec.kafka.bootstrapServer"
    ]


@pytest.mark.parametrize(
    "edit",
    [
        ("properties: {}\n    s", "properties: {sasl.password: geheim}\n    s"),
        ("properties: {}\n    s", "properties: {sasl.password: geheim, sasl.password: geheim}\n    s"),
        ("secretProperties: {}", "secretProperties: {sasl.password: geheim}"),
        ("secretProperties: {}", "secretProperties: {sasl.password: {env: geheim!}}"),
        ("secretProperties: {}", "secretProperties: {sasl.password: {value: geheim}}"),
        ("localhost:2181", "localhost:2181\n    auth: {credentials: geheim}"),
    ],
)
def test_a_secret_in_the_wrong_place_is_not_repeated(edit: tuple[str, str], write: Writer) -> None:
    with pytest.raises(ManifestError) as caught:
        load(write(edit))

    assert "geheim" not in str(caught.value)


def test_the_error_reads_like_a_compilers(write: Writer) -> None:
    path = write(("  replicas: 2", "  replicas: 0"))

    with pytest.raises(ManifestError, match=r"flights\.yaml:10: spec\.replicas: 0 is too small\. The least is 1$"):
        load(path)


def test_what_the_api_returns_is_checked_without_lines() -> None:
    with pytest.raises(ManifestError) as caught:
        parse(
            {"apiVersion": "tandem.dev/v1alpha1", "kind": "ReplicatedStreamJob", "metadata": {"name": "a"}, "spec": {}}
        )

    assert {problem.line for problem in caught.value.problems} == {None}
    assert [problem.path for problem in caught.value.problems] == [
        "spec.job",
        "spec.kafka",
        "spec.sinks",
        "spec.sources",
        "spec.zookeeper",
    ]


def test_a_file_that_is_not_there_is_no_manifest_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "absent.yaml")
