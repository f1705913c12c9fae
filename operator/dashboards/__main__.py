"""`PYTHONPATH=operator python -m dashboards` writes the dashboards into the chart."""

from __future__ import annotations

from dashboards.write import FOLDER, texts


def main() -> None:
    """Write every dashboard, and say where."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, text in texts().items():
        path = FOLDER / f"{name}.json"
        path.write_text(text)
        print(path)


if __name__ == "__main__":
    main()
