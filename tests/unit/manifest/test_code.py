"""The job's code is looked at without being run."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_file_location
from pathlib import Path

import pytest

from tandem.manifest import CodeNotFoundError, check_code, find_code, load

Writer = Callable[..., Path]

GOOD = [
    "def flights(flights, weather): ...",
    "def flights(weather, flights): ...",
    "def flights(ctx, flights, weather): ...",
    "def flights(flights, weather, ctx): ...",
    "def flights(flights, *, weather, ctx): ...",
    "def flights(flights: int, weather: str, limit: int = 5) -> int: ...",
    "def flights(**frames): ...",
    "def flights(flights, **rest): ...",
    "from elsewhere import flights",
    "import elsewhere as flights",
    "flights = make()",
    "flights: object = make()",
    "@decorated\ndef flights(x): ...",
    "if True:\n    def flights(flights, weather): ...",
    "try:\n    import fast\nexcept ImportError:\n    def flights(flights, weather): ...",
    "raise SystemExit('this must never run')\ndef flights(flights, weather): ...",
    "from elsewhere import *",
    "try:\n    from fast import *\nexcept ImportError:\n    pass",
    "class flights:\n    def __new__(cls, flights, weather): ...",
    "class Flights:\n    def __call__(self, flights, weather): ...\nflights = Flights()",
    "import os\nmatch os.name:\n    case 'posix':\n        def flights(flights, weather): ...",
    "for flights in makers: ...",
    "for _ in range(1):\n    def flights(flights, weather): ...",
    "while True:\n    def flights(flights, weather): ...\n    break",
    "try:\n    def flights(flights, weather): ...\nexcept* ValueError: ...",
    "with made() as flights: ...",
    "print(flights := make())",
    "first, *flights = make()",
    "def make():\n    global flights\n    def flights(flights, weather): ...\nmake()",
    "exec('flights = 1')",
    "globals()['flights'] = make()",
    "import sys\nsetattr(sys.modules[__name__], 'flights', make())",
    "if fast():\n    def flights(flights, weather): ...\nelse:\n    def flights(frames): ...",
    "def flights(flights, weather):\n    return flights",
    "def flights(flights, weather):\n    if weather:\n        return {'delays': flights}",
    "def flights(flights, weather):\n    yield flights",
]
BAD = [
    ("def other(flights, weather): ...", "defines no function flights. It defines other"),
    ("def flight(flights, weather): ...", "Did you mean flight?"),
    ("x = 1", "Define it at the top level: def flights(…):"),
    ("class A:\n    def flights(self): ...", "defines no function flights"),
    ("def outer():\n    def flights(flights, weather): ...", "defines no function flights. It defines outer"),
    ("import os\ndef flights(flights): ...", "job.py:2: flights has no parameter for the source weather"),
    ("def flights(): ...", "no parameter for the sources flights, weather. Write def flights(flights, weather):"),
    ("def flights(flights, weather, planes): ...", "has a parameter planes, but there is no such source"),
    ("def flights(flights, weather, *, limit): ...", "has a parameter limit"),
    ("def flights(flights, weather, context): ...", "named after sources (flights, weather) or ctx"),
    ("def flights(flights, weather, /): ...", "is called by names. Remove the '/'"),
    ("async def flights(flights, weather): ...", "flights is async. Write def flights(flights, weather):"),
    ("def flights(flights, weather, spark): ...", "has a parameter spark, but there is no such source. Parameters are"),
    ("def flights(flights, weather, spark): ...", "or ctx; the session is ctx.spark"),
    (
        "def flights(flights, weather):\n    flights.writeStream.start()",
        "job.py:1: flights returns nothing. Tandem starts",
    ),
    ("def flights(flights, weather):\n    if weather:\n        return\n    return None", "flights returns nothing"),
    ("def flights(flights, weather):\n    def rows():\n        return 1\n    rows()", "flights returns nothing"),
    ("def flights(flights, weather):\n    rows = [lambda x: (yield x)]", "flights returns nothing"),
]


@pytest.mark.parametrize("code", GOOD)
def test_code_that_takes_the_sources_is_good(code: str, write: Writer) -> None:
    assert check_code(load(write(code=code))) == ()


@pytest.mark.parametrize(("code", "fragment"), BAD)
def test_code_that_cannot_be_called_with_the_sources_is_a_problem_of_the_function(
    code: str, fragment: str, write: Writer
) -> None:
    (problem,) = check_code(load(write(code=code)))

    assert (problem.path, problem.line) == ("spec.job.function", 9)
    assert fragment in problem.detail


@pytest.mark.parametrize(
    ("code", "fragment"),
    [
        ("def flights(flights, weather)\n    pass", "job.py:1: expected ':'"),
        ("x = 1\n  y = 2", "job.py:2: unexpected indent"),
        ("x = '\0'", "job.py: source code string cannot contain null bytes. Correct"),
    ],
)
def test_code_that_is_no_python_is_a_problem_of_the_file(code: str, fragment: str, write: Writer) -> None:
    (problem,) = check_code(load(write(code=code)))

    assert (problem.path, problem.line) == ("spec.job.file", 8)
    assert fragment in problem.detail


def test_several_complaints_come_at_once(write: Writer) -> None:
    problems = check_code(load(write(code="def flights(flight, weather): ...")))

    assert ["no parameter" in problem.message for problem in problems] == [True, False]


def test_code_that_is_not_there_is_a_problem(write: Writer) -> None:
    (problem,) = check_code(load(write(code=None)))

    assert (problem.path, problem.line) == ("spec.job.file", 8)
    assert "No such file" in problem.message


def test_a_module_that_is_named_like_a_file_is_one(write: Writer) -> None:
    (problem,) = check_code(load(write(("file: job.py", "module: job.py"))))

    assert problem.detail.endswith("A file is named so: file: job.py")


def test_a_module_is_found_without_importing_its_packages(write: Writer, tmp_path: Path) -> None:
    package = tmp_path / "elsewhere" / "outer" / "inner"
    package.mkdir(parents=True)
    (package.parent / "__init__.py").write_text("raise SystemExit('this must never run')")
    (package / "job.py").write_bytes(b"x = 1\n")
    manifest = load(write(("file: job.py", "module: outer.inner.job")))

    assert find_code(manifest, [str(tmp_path / "elsewhere")]).path == package / "job.py"


def test_a_module_beside_the_manifest_goes_first(write: Writer, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "job.py").write_text("x = 2\n")

    found = find_code(load(write(("file: job.py", "module: job"), code="x = 1\n")), [str(other)])

    assert found.content == b"x = 1\n"


def test_a_module_that_is_installed_for_development_is_found(
    write: Writer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By a finder that pip puts beside those that look along the path."""
    package = tmp_path / "project" / "src" / "developed"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("raise SystemExit('this must never run')")
    (package / "job.py").write_bytes(b"x = 1\n")

    class Finder(MetaPathFinder):
        def find_spec(self, name: str, *_: object) -> ModuleSpec | None:
            folders = [str(package)]
            at = package / "__init__.py"
            known = spec_from_file_location(name, at, submodule_search_locations=folders)
            return known if name == "developed" else None

    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path, Finder()])
    manifest = load(write(("file: job.py", "module: developed.job")))

    assert find_code(manifest).path == package / "job.py"


@pytest.mark.parametrize("module", ["absent", "absent.job", "sys", "job.inner", "json.absent"])
def test_a_module_that_has_no_file_is_a_problem(module: str, write: Writer) -> None:
    manifest = load(write(("file: job.py", f"module: {module}")))

    with pytest.raises(CodeNotFoundError, match=module):
        find_code(manifest)
    assert check_code(manifest)[0].path == "spec.job.module"


@pytest.mark.parametrize(
    ("name", "fragment"),
    [
        ("job.v2.py", "job.v2.py has a dot in its name, so Python cannot import it. Rename it, e.g. job_v2.py"),
        (
            "shop/__init__.py",
            "is imported by the name of its package. Name the package: module: shop, with the manifest",
        ),
        (
            "queue.py",
            "queue.py has the name of a module that Python, Spark or Tandem imports, and would take its place",
        ),
        ("pyspark.py", "Rename it, or move it to another folder"),
    ],
)
def test_a_file_that_python_cannot_import_by_its_name_is_a_problem(
    name: str, fragment: str, write: Writer, tmp_path: Path
) -> None:
    (tmp_path / "shop").mkdir()
    (tmp_path / name).write_text("def flights(flights, weather): ...")

    (problem,) = check_code(load(write(("file: job.py", f"file: {name}"), code=None)))

    assert (problem.path, problem.line) == ("spec.job.file", 8)
    assert fragment in problem.detail


@pytest.mark.parametrize("name", ["types.py", "logging/__init__.py", "src/queue.py"])
def test_what_takes_the_place_of_a_module_that_workers_need_is_a_problem(
    name: str, write: Writer, tmp_path: Path
) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text("X = 1")
    (tmp_path / "src" / "job.py").write_text("def flights(flights, weather): ...")

    (problem,) = check_code(load(write(("file: job.py", "file: src/job.py"), code=None)))

    assert f"{tmp_path / name.removesuffix('/__init__.py')} has the name of a module that Python" in problem.detail


@pytest.mark.parametrize(
    "name",
    ["utils.py", "kafka.py", "test/__init__.py", "code.py", "logging/notes.txt", "time.py", "my-job.py", "01 job.py"],
)
def test_other_names_beside_a_job_are_good(name: str, write: Writer, tmp_path: Path) -> None:
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text("def flights(flights, weather): ...")

    assert check_code(load(write())) == ()
    if name.endswith("job.py"):
        assert check_code(load(write(("file: job.py", f"file: {name}")))) == ()


BATCHES = ("topic: delays", "foreachBatch: writer:write")
OF_A_SINK = {
    "no module": (None, "there is no module writer. Put it beside the job's file or the manifest, or install it"),
    "another function": ("def wirte(df, batch_id): ...", "writer.py defines no function write. Did you mean wirte?"),
    "a mistake in the code": ("def write(:", "writer.py:1: invalid syntax"),
}


@pytest.mark.parametrize(("code", "said"), OF_A_SINK.values(), ids=OF_A_SINK)
def test_a_function_of_a_sink_that_is_not_there_is_found(
    write: Writer, tmp_path: Path, code: str | None, said: str
) -> None:
    (tmp_path / "job.py").write_text(GOOD[0])
    if code is not None:
        (tmp_path / "writer.py").write_text(code)

    (problem,) = check_code(load(write(BATCHES)))

    assert problem.path == "spec.sinks[0].foreachBatch"
    assert said in str(problem)
    assert check_code(load(write(BATCHES, ("  replicas: 2", "  replicas: 2\n  image: example.com/flights:1")))) == ()


@pytest.mark.parametrize(
    ("file", "code", "where"),
    [
        ("writer.py", "def write(df, batch_id): ...", "writer:write"),
        ("writer.py", "from elsewhere import *", "writer:write"),
        ("writer.py", "write = make()", "writer:write"),
        ("writer.py", "def __getattr__(name): ...", "writer:write"),
        ("pack/writer.py", "def write(df, batch_id): ...", "pack.writer:write"),
        ("job.py", f"{GOOD[0]}\ndef write(df, batch_id): ...", "job:write"),
        ("none.py", "", "math:sqrt"),
        ("none.py", "", "tandem.manifest.code:check_code"),
    ],
)
def test_a_function_of_a_sink_is_looked_for_as_a_replica_does(
    write: Writer, tmp_path: Path, file: str, code: str, where: str
) -> None:
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "job.py").write_text(GOOD[0])
    (tmp_path / "code" / file).parent.mkdir(exist_ok=True)
    (tmp_path / "code" / file).write_text(code)

    assert check_code(load(write(("file: job.py", "file: code/job.py"), (BATCHES[0], f"foreachBatch: {where}")))) == ()
