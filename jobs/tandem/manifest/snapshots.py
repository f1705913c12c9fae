"""Where and how often snapshots of the state are taken."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Final

from pydantic import AfterValidator, Field

from tandem.manifest.problems import refusal
from tandem.manifest.secrets import SecretReference, resolve_all
from tandem.manifest.values import Count, Duration, PathText, Section, Within

SECRET: Final = re.compile(
    r"(^key$|secret|token|password|passwd|credential|account_key|connection_string|private)", re.I
)
_FLAGS: Final = {"true": True, "false": False}


def _location(store: str) -> str:
    scheme, separator, rest = store.partition("://")
    if not separator:
        return store
    if not re.fullmatch(r"[a-z][a-z0-9+.-]*", scheme):
        raise refusal(f"{store!r} is no URL", "Write a path, or scheme://place, e.g. s3://bucket/snapshots")
    if scheme not in ("file", "local") and not rest.strip("/"):
        raise refusal(f"{store!r} names no bucket or host", f"Write {scheme}://place, e.g. s3://bucket/snapshots")
    if "@" in rest.partition("/")[0] and ":" in rest.partition("@")[0]:
        raise refusal("a secret must not stand in a manifest", "Move it to spec.snapshots.secretProperties")
    return store


def _name(name: str) -> str:
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
        raise refusal(f"{name!r} is no option of a file system", "Use the names of fsspec, e.g. endpoint_url")
    return name


def _plain(name: str) -> str:
    if SECRET.search(_name(name)):
        raise refusal(
            "a secret must not stand in a manifest",
            f"Move it to spec.snapshots.secretProperties, e.g. {name}: {{env: SNAPSHOTS_{name.upper()}}}",
        )
    return name


class SnapshotsSpec(Section):
    """The store of snapshots, which outlives machines: state is restored from it where no replica has a newer one."""

    store: Annotated[PathText, AfterValidator(_location)] = Field(
        description="A path, relative to the manifest, or a URL of fsspec: s3://bucket/path, hdfs://host/path"
    )
    interval: Annotated[Duration, Within(100, 86_400_000)] = Field(
        default="5s", validate_default=True, description="Between two snapshots"
    )
    retain_count: Count = Field(
        default=10, ge=1, le=1_000_000, description="So many of the newest stay, however old they are"
    )
    retain_age: Annotated[Duration, Within(0, 31_536_000_000)] = Field(
        default="10m", validate_default=True, description="Those that are younger stay, however many they are"
    )
    properties: Mapping[Annotated[str, AfterValidator(_plain)], str] = Field(
        default_factory=dict, description="Options of fsspec's file system, e.g. endpoint_url"
    )
    secret_properties: Mapping[Annotated[str, AfterValidator(_name)], SecretReference] = Field(
        default_factory=dict,
        description="Options whose values are read from the environment or a file, e.g. key, secret",
    )

    def url(self, job: str, base: Path = Path()) -> str:
        """The job's own folder in the store; a relative path starts from `base`."""
        place = self.store if "://" in self.store else str((base / Path(self.store).expanduser()).absolute())
        return f"{place.rstrip('/')}/{job}"

    def options(self, environ: Mapping[str, str], base: Path = Path()) -> dict[str, str | bool]:
        """What the file system is opened with, secrets included: never for a log.

        `environ` : the environment's variables, for `secretProperties` of kind `env`.
        `base` : the folder that relative secret files start from: the manifest's.

        Raises `SecretError`: a variable or file that a secret is to come from is missing or empty.
        """
        secrets = resolve_all(self.secret_properties, environ, base, "spec.snapshots")
        plain = {name: _FLAGS.get(value.lower(), value) for name, value in self.properties.items()}
        return {**plain, **secrets}
