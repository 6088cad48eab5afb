"""Settings for all tests."""

from __future__ import annotations

import os

from hypothesis import settings

# The ordinary run tries the same examples every time: what fails on one machine fails on all.
# HYPOTHESIS_PROFILE=default looks for new ones.
settings.register_profile("repeatable", derandomize=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeatable"))
