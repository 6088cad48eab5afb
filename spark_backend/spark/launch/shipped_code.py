"""Our packages as one archive, which a cluster's hosts get from the server: tasks run what the server runs."""

from __future__ import annotations

import zipfile
from pathlib import Path

_PACKAGES = ("protocol", "spark_backend")


def write_code(directory: Path) -> Path:
    """Write the archive into the directory; returns its path. Raises OSError."""
    root = Path(__file__).resolve().parents[3]
    archive = directory / "sparql_streams.zip"
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as packed:
        for package in _PACKAGES:
            for file in sorted((root / package).rglob("*.py")):
                packed.write(file, file.relative_to(root))
    return archive
