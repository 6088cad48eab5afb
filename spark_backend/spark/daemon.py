"""Spark's daemon of Python workers, ``python -m spark_backend.spark.daemon``, with what evaluates loaded.

It forks one worker after another, some of them in the middle of a batch: each would load it anew, for a second.
"""

from __future__ import annotations

import gc
import importlib

from pyspark.daemon import manager

_OF_EVALUATIONS = ("pyspark.worker", "spark_backend.evaluation.process", "spark_backend.spark_sql.translation.plans")

if __name__ == "__main__":
    for module in _OF_EVALUATIONS:
        importlib.import_module(module)
    # What is never looked at by the collector stays shared with the workers.
    gc.freeze()
    manager()
