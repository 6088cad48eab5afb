"""The site of the documentation: Sphinx with MyST, built by ``make docs`` without a network."""

from __future__ import annotations

from importlib.metadata import version as installed_version

project = "sparql-streams"
author = "the authors of sparql-streams"
project_copyright = author
version = release = installed_version("sparql-streams")

extensions = ["myst_parser"]
myst_heading_anchors = 3
# A reference that resolves to nothing is a warning, and make docs takes warnings for errors.
nitpicky = True
# Pygments knows SPARQL 1.1, and neither windows nor REGISTER.
suppress_warnings = ["misc.highlighting_failure"]

html_theme = "furo"
html_title = "sparql-streams"
