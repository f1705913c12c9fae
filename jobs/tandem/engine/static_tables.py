"""Static tables: what a job reads in its function, beside its streams, is read once for a generation.

A folder may get a file, or lose one, while the job runs; a replica that restarts would then compute with another table
than its peers. So the files are hashed and copied when the function reads them, and the copy is what Spark reads. The hash
is part of the job's identity, so a replica that cannot have the same content does not join. A table of Delta is read at the
version that it had.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any, Final

from pyspark.sql.readwriter import DataFrameReader

from tandem.engine.plan_leaves import leaves, roots_of
from tandem.engine.table_files import FilesError, TableFiles, newest_delta_version
from tandem.engine.users_code import replaced, users_line
from tandem.jobapi.errors import JobError
from tandem.manifest.going_on import how_to_accept

FORMATS: Final = ("parquet", "orc", "json", "csv", "text", "xml")
_OTHER_FILES: Final = ("binaryfile", "avro")
_REMEDY: Final = (
    "Make it a topic and one of spec.sources, look it up with ctx.determinant(...), or read a copy of it in files "
    f"({', '.join(FORMATS)})"
)


class TableChangedError(JobError):
    """A static table is not what it was when the job's generation began."""


class StaticTables:
    """Reads the static tables of a job for its function.

    `files` : keeps what the tables hold.
    `agreed` : name of a table → its version, as this replica's generation has it; empty if the generation has not
    begun.
    `how` : how the job goes on with a table that has changed; see `how_to_accept`.
    """

    def __init__(self, files: TableFiles, agreed: Mapping[str, str], how: str = how_to_accept("MANIFEST", {})) -> None:
        self._files = files
        self._how = how
        self._agreed = agreed
        self.versions: dict[str, str] = {}
        """Name → version of each table that was read."""
        self.folder = None if files.folder is None else str(files.folder)
        self._in_place: set[str] = set()
        self.roots: set[str] = set()
        """Where Spark reads them."""

    @property
    def moving(self) -> frozenset[str]:
        """The tables that are read where they are: their files may change."""
        return frozenset(name for name in self.versions if name in self._in_place)

    @contextmanager
    def reading(self) -> Iterator[None]:
        """While the block runs, Spark's readers read through this."""
        with ExitStack() as stack:
            wrappers: tuple[tuple[str, Callable[..., Any]], ...] = (
                ("format", self._format),
                ("option", self._option),
                ("options", self._options),
                ("load", self._load),
                ("jdbc", self._refuse("jdbc")),
                ("changes", self._refuse("changes")),
                *((name, self._file_method(name)) for name in FORMATS),
            )
            for name, wrapper in wrappers:
                stack.enter_context(replaced(DataFrameReader, name, _calling(wrapper, getattr(DataFrameReader, name))))
            yield

    def _format(self, original: Callable[..., Any], reader: Any, source: str) -> Any:
        reader._tandem_format = source
        return original(reader, source)

    def _option(self, original: Callable[..., Any], reader: Any, key: str, value: Any) -> Any:
        if key.lower() == "path":
            reader._tandem_path = value
            return reader
        if key.lower() == "basepath":
            raise JobError(f"the job's code reads a table with basePath ({users_line()}). Read the folder, and filter")
        if key.lower() in ("modifiedafter", "modifiedbefore"):
            raise JobError(
                f"the job's code reads a table by when its files were written, {key} ({users_line()}): Tandem reads a copy "
                "of them, whose time is another one in each process. Name the files or folders that it should read"
            )
        if key.lower() in ("versionasof", "timestampasof"):
            reader._tandem_version = f"{key} {value}"
        return original(reader, key, value)

    def _options(self, _: Callable[..., Any], reader: Any, **options: Any) -> Any:
        for key, value in options.items():
            reader.option(key, value)
        return reader

    def _load(
        self,
        original: Callable[..., Any],
        reader: Any,
        path: Any = None,
        format: Any = None,
        schema: Any = None,
        **options: Any,
    ) -> Any:
        if format is not None:
            reader.format(format)
        reader.options(**options)
        source = str(getattr(reader, "_tandem_format", "parquet"))
        given = path if path is not None else getattr(reader, "_tandem_path", None)
        if source.lower() == "delta" and given is not None:
            return self._seen(original(self._at_version(reader, str(given)), str(given), None, schema))
        if source.lower() not in (*FORMATS, *_OTHER_FILES) or given is None:
            raise _unknown(source)
        return self._seen(original(reader, self._pinned(source, _texts(given)), None, schema))

    def _file_method(self, source: str) -> Callable[..., Any]:
        def read(original: Callable[..., Any], reader: Any, *given: Any, **named: Any) -> Any:
            if source == "parquet":
                return self._seen(original(reader, *self._pinned(source, [str(path) for path in given]), **named))
            paths: Any = named.pop("paths" if "paths" in named else "path", None)
            paths, rest = (given[0], given[1:]) if paths is None and given else (paths, given)
            if not isinstance(paths, str | list | tuple):
                return original(reader, paths, *rest, **named)  # rows that the code made itself
            return self._seen(original(reader, self._pinned(source, _texts(paths)), *rest, **named))

        return read

    def _refuse(self, source: str) -> Callable[..., Any]:
        def refuse(_: Callable[..., Any], __: Any, *___: Any, **____: Any) -> Any:
            raise _unknown(source)

        return refuse

    def _pinned(self, source: str, paths: Sequence[str]) -> list[str]:
        """Where Spark is to read a table instead."""
        name = f"{source} {', '.join(paths)}"
        try:
            version, kept = self._files.kept(paths, self._agreed.get(name))
        except FilesError as error:
            raise JobError(f"the static table {name} ({users_line()}): {error}") from error
        self._note(name, version)
        if list(paths) == kept:
            self._in_place.add(name)
        return kept

    def _seen(self, frame: Any) -> Any:
        """Remember where Spark reads a table now."""
        for leaf in leaves(frame):
            self.roots |= set(roots_of(leaf))
        return frame

    def _at_version(self, reader: Any, path: str) -> Any:
        name = f"delta {path}"
        given = getattr(reader, "_tandem_version", None)
        if given is None:
            agreed = self._agreed.get(name, "").removeprefix("versionAsOf ")
            try:
                version = agreed or str(newest_delta_version(path, reader._spark))
            except FilesError as error:
                raise JobError(f"the static table {name} ({users_line()}): {error}") from error
            reader.option("versionAsOf", version)
            given = f"versionAsOf {version}"
        self._note(name, given)
        return reader

    def _note(self, name: str, version: str) -> None:
        agreed = self._agreed.get(name)
        if agreed is not None and agreed != version:
            raise TableChangedError(
                f"the static table {name} ({users_line()}) is not what it was when this generation of the job began, and no "
                "copy of that is left here. Replicas that run go on with what they read then. Restore what it held; or, to "
                f"go on with what it holds now, as the job's next generation, {self._how}. A table that changes often "
                "belongs into a topic, or into ctx.determinant(...)"
            )
        self.versions[name] = version


def _calling(wrapper: Callable[..., Any], original: Callable[..., Any]) -> Callable[..., Any]:
    def method(reader: Any, *given: Any, **named: Any) -> Any:
        return wrapper(original, reader, *given, **named)

    return method


def _texts(paths: Any) -> list[str]:
    return [paths] if isinstance(paths, str) else [str(path) for path in paths]


def _unknown(source: str) -> JobError:
    return JobError(
        f"the job's code reads a static table from {source} ({users_line()}). What it holds may change, and Tandem cannot "
        f"keep what it held, so replicas would compute with different tables. {_REMEDY}"
    )
