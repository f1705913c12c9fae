"""Every mistake is shown with its field, its line and its remedy, and only that mistake."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tandem.manifest import ManifestError, Problem, load, parse
from unit.manifest.mistakes import BAD, HERE, LINES_OF_PARENTS

Writer = Callable[..., Path]


def problems_of(path: Path) -> tuple[Problem, ...]:
    with pytest.raises(ManifestError) as caught:
        load(path)
    return caught.value.problems


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
        ("a: 1\n---\n---\nb: 2\n", 2, "Keep one manifest per file"),
        ("# x\nkind: SparkApplication\nspec: {mode: cluster}\n", 2, "'SparkApplication' is no kind"),
        ("a: \x07\n", 1, "control characters"),
        ("a: 1\nb: !!int x\n", 2, "cannot be read as a whole number"),
        ("a: 1\nb: !!bool x\n", 2, "cannot be read as a truth value"),
        ("a: 1\nb: 0x_\n", 2, "cannot be read as a whole number"),
        (f"a: 1\nb: {'9' * 5_000}\n", 2, "cannot be read as a whole number"),
        (f"a: {'[' * 3_000}{']' * 3_000}\n", 1, "too many brackets"),
    ],
)
def test_what_is_no_manifest_at_all_is_said_clearly(text: str, line: int, fragment: str, tmp_path: Path) -> None:
    path = tmp_path / "m.yaml"
    path.write_text(text)

    problems = problems_of(path)

    assert any(problem.line == line and fragment in problem.detail for problem in problems), problems


@pytest.mark.parametrize(
    "around", ["---\n{}", "{}---\n", "{}---\n# nothing\n---\n", "---\n---\n{}...\n", "# x\n---\n{}"]
)
def test_empty_documents_beside_a_manifest_do_not_count(around: str, write: Writer) -> None:
    path = write()
    path.write_text(around.format(path.read_text()))

    assert load(path).name == "flights"


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


@pytest.mark.parametrize(
    "topics",
    ["[!!binary QUJD]", "!!set {flights}", "!!omap [flights: 1]", "!!pairs [flights: 1]", "!list [flights]"],
)
def test_a_tag_of_yamls_own_or_at_a_list_is_a_problem(write: Writer, topics: str) -> None:
    problem = problems_of(write(("topics: [flights]", f"topics: {topics}")))[0]

    assert (problem.path.startswith("spec.sources[0].topics"), problem.line) == (True, 21)
    assert "Tags are not supported" in problem.remedy


@pytest.mark.parametrize(
    "date",
    ["2024-02-30", "2024-13-01", "0000-01-01", "2024-01-01 25:00:00", "2024-01-01T10:00:00+99:99", "2024-01-02"],
)
def test_a_date_needs_quotes_whether_there_is_such_a_day_or_not(write: Writer, date: str) -> None:
    problems = problems_of(write(("function: flights", f"function: flights\n    options: {{cutover: {date}}}")))

    assert [(problem.path, problem.line) for problem in problems] == [("spec.job.options.cutover", 10)]
    assert problems[0].detail == f'must be a string, not the date {date}. Put it in quotes: "{date}"'


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
