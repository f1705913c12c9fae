"""The jar of Tandem's own Java classes. Made by `python -m tandem.engine.jvm.classes`, at set-up and when an image is built.

It is compiled by `javac` where there is a JDK, else by Eclipse's compiler, which runs on any Java. Warnings are errors.
"""

import hashlib
import os
import tempfile
import zipfile
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Final

import typer

from tandem.engine.jvm.errors import JarsError
from tandem.engine.jvm.jars import READY, default_cache, file_system_jar
from tandem.engine.jvm.java import java_executable
from tandem.engine.jvm.pyspark_files import pyspark_jars
from tandem.engine.jvm.resolver import resolve_packages
from tandem.process.child import ChildProcess, Command
from tandem.waiting import Deadline

ECLIPSE: Final = "org.eclipse.jdt:ecj:3.40.0"
"""Eclipse's compiler for Java."""

_DEADLINE_S: Final = 300.0
_KEPT_OTHERS: Final = 9
_PREFIX: Final = "tandem-classes-"
_RELEASE: Final = "17"
# Not what Spark's own class files and jars are warned of.
_JAVAC: Final = ("-proc:none", "-Xlint:all,-classfile,-path", "-Werror")
# It does not see the deprecation that javac wants to be suppressed.
_ECLIPSE: Final = ("-proc:none", "-warn:-warningToken", "-failOnWarning")


def sources() -> list[Path]:
    """Tandem's Java files."""
    return sorted(Path(__file__).parent.glob("*.java"))


def classes_jar() -> Path:
    """The jar, for `spark.driver.extraClassPath`; its name tells its sources and the version of PySpark.

    It is in the folder that `$TANDEM_SPARK_JARS` names, if that is set; else in the cache, where it is compiled if it is
    missing. Raises `JarsError`, `JavaMissingError`.
    """
    ready = os.environ.get(READY)
    jar = Path(ready or default_cache()) / _name()
    if jar.is_file():
        return jar
    if ready:
        remedy = f"`python -m tandem.engine.jvm.classes --folder {ready}` makes it where there is a network"
        raise JarsError(f"{jar} is missing: {remedy}, or let ${READY} name a folder that has it")
    return make_jar(jar.parent)


def make_jar(folder: Path, eclipse: bool = False) -> Path:
    """Compile the sources into a jar in `folder`; an older one is replaced in one step.

    `eclipse` : by Eclipse's compiler, even where there is a JDK. Raises `JarsError`, `JavaMissingError`.
    """
    folder.mkdir(parents=True, exist_ok=True)
    jar = folder / _name()
    with tempfile.TemporaryDirectory(prefix="compiling-", dir=folder) as temporary:
        work, deadline = Path(temporary), Deadline(_DEADLINE_S)
        classes = work / "classes"
        _compile(_compiler(work, eclipse, deadline), classes, work, deadline)
        made = work / jar.name
        with zipfile.ZipFile(made, "w") as archive:
            for file in sorted(classes.rglob("*.class")):
                archive.writestr(zipfile.ZipInfo(str(file.relative_to(classes))), file.read_bytes())
        made.replace(jar)
    _remove_old(jar)
    return jar


def _name() -> str:
    digest = hashlib.sha256(version("pyspark").encode())
    for source in sources():
        digest.update(source.name.encode() + source.read_bytes())
    return f"{_PREFIX}{digest.hexdigest()[:10]}.jar"


def _compiler(work: Path, eclipse: bool, deadline: Deadline) -> tuple[str, ...]:
    """The command that compiles, without what it compiles."""
    java = java_executable().resolve()
    javac = java.with_name("javac")
    if javac.is_file() and not eclipse:
        return (str(javac), "--release", _RELEASE, *_JAVAC)
    jars = resolve_packages((ECLIPSE,), work, work / "resolver.log", deadline)
    return (str(java), "-jar", str(next(jars.glob("*ecj*.jar"))), f"-{_RELEASE}", *_ECLIPSE)


def _compile(compiler: tuple[str, ...], classes: Path, work: Path, deadline: Deadline) -> None:
    class_path = os.pathsep.join(map(str, [*pyspark_jars("*"), file_system_jar()]))
    options = ("-d", str(classes), "-cp", class_path, *map(str, sources()))
    log = work / "compiler.log"
    process = ChildProcess("the compiler", Command((*compiler, *options), log))
    try:
        process.wait(deadline.remaining_s)
        if process.running or process.exit_code != 0:
            raise JarsError(f"{compiler[0]} does not compile Tandem's Java classes:\n{log.read_text(errors='replace')}")
    finally:
        process.kill()


def _remove_old(jar: Path) -> None:
    """Jars of other versions stay for a while: somebody may still start with them."""
    others = [path for path in jar.parent.glob(f"{_PREFIX}*.jar") if path != jar]
    for path in sorted(others, key=lambda path: path.stat().st_mtime)[:-_KEPT_OTHERS]:
        path.unlink(missing_ok=True)


def main(
    folder: Annotated[Path | None, typer.Option(help="Put the jar into this folder (for an image)")] = None,
) -> None:
    """Compile Tandem's Java classes, if there is no jar of them."""
    typer.echo(classes_jar() if folder is None else make_jar(folder))


if __name__ == "__main__":
    typer.run(main)
