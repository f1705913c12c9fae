"""Making a copied checkpoint independent of the folder that it was copied from.

Spark names the files with the schemas of `transformWithState` by absolute paths, in the metadata of the operator
(`OperatorStateMetadataV2.stateSchemaFilePaths`): in a copy these still point to the original, which may be gone, or on
another machine.
"""

import json
from pathlib import Path

_OPERATORS = "state/*/_metadata/v2/*"
_SCHEMAS = "/_stateSchema/"


def relocate(checkpoint: Path, home: Path | None = None) -> None:
    """Let all paths in a checkpoint point into `home`, where it will be (default: where it is).

    Files are replaced, never written into: they may be hard links to those of a running query.
    """
    home = (home or checkpoint).absolute()
    for path in checkpoint.glob(_OPERATORS):
        if path.name.startswith("."):
            continue
        version, _, text = path.read_text().partition("\n")
        metadata = json.loads(text)
        before = json.dumps(metadata)
        operator = f"{home.as_posix()}/state/{path.parts[-4]}"
        for store in metadata["stateStoreInfo"]:
            paths = store.get("stateSchemaFilePaths", [])
            store["stateSchemaFilePaths"] = [f"file:{operator}{_SCHEMAS}{p.rpartition(_SCHEMAS)[2]}" for p in paths]
        if json.dumps(metadata) != before:
            changed = path.with_name(f".{path.name}.relocated")
            changed.write_text(f"{version}\n{json.dumps(metadata, separators=(',', ':'))}")
            changed.replace(path)
