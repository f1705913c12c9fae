"""Secrets are named in a manifest, never written into it."""

from collections.abc import Mapping
from pathlib import Path

from pydantic import Field

from tandem.manifest.kubernetes import SecretKeyRef
from tandem.manifest.values import EnvironmentName, PathText, Section


class SecretError(ValueError):
    """A secret that the manifest refers to is not there."""


class SecretReference(Section):
    """Where a secret is: in an environment variable, in a file or in a Kubernetes Secret, one of them."""

    env: EnvironmentName | None = Field(default=None, description="The name of the environment variable that holds it")
    file: PathText | None = Field(
        default=None, description="The file that holds it; a relative one starts from the manifest"
    )
    secret_key_ref: SecretKeyRef | None = Field(
        default=None, description="A key of a Secret in the job's namespace; on Kubernetes only"
    )

    def resolve(self, environ: Mapping[str, str], base: Path, purpose: str) -> str:
        """Read the secret; a file's last line break is not part of it.

        `environ` : the environment's variables.
        `base` : the folder that a relative `file` starts from: the manifest's.
        `purpose` : What the secret is for, as error messages name it.

        Raises `SecretError`: the variable is not set, the file cannot be read, one of them is empty, or the secret is
        one of Kubernetes: there, the operator puts it into the environment and refers to it as `env`.
        """
        if self.secret_key_ref is not None:
            raise SecretError(
                f"{purpose}: secretKeyRef is for Kubernetes only. To run here, write {{env: NAME}} or {{file: path}}"
            )
        if self.env is not None:
            value = environ.get(self.env)
            if value is None:
                raise SecretError(
                    f"{purpose}: the environment variable {self.env} is not set. Export it before the start"
                )
            where = f"the environment variable {self.env}"
        else:
            path = base / Path(self.file or "").expanduser()
            try:
                value = path.read_text(encoding="utf-8").removesuffix("\n").removesuffix("\r")
            except (OSError, UnicodeDecodeError) as error:
                reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
                raise SecretError(f"{purpose}: cannot read the secret file {path}: {reason}") from error
            where = f"the secret file {path}"
        if not value:
            raise SecretError(f"{purpose}: {where} is empty")
        return value


def resolve_all(
    references: Mapping[str, SecretReference], environ: Mapping[str, str], base: Path, section: str
) -> dict[str, str]:
    """Read the `secretProperties` of a section, e.g. `spec.kafka`. The rest is as for `SecretReference.resolve`."""
    return {
        name: reference.resolve(environ, base, f"{section}.secretProperties[{name}]")
        for name, reference in references.items()
    }
