"""Spark's daemon of Python workers, ``python -m spark_backend.spark.daemon``, with what evaluates loaded.

It forks one worker after another, some of them in the middle of a batch: each would load it anew, for a second. Its
first fork is the pool of the evaluators that they all use.
"""

from __future__ import annotations

import gc
import importlib
import os

from pyspark.daemon import manager

from spark_backend.evaluation.pool import open_pool
from spark_backend.spark.processes import POOL_NAME
from spark_backend.spark.task import start_evaluator

_OF_EVALUATIONS = ("pyspark.worker", "spark_backend.evaluation.evaluator", "spark_backend.spark_sql.translation.plans")

if __name__ == "__main__":
    for module in _OF_EVALUATIONS:
        importlib.import_module(module)
    # What is never looked at by the collector stays shared with the workers.
    gc.freeze()
    # As ``manager`` does itself: the group is ended as a whole.
    os.setpgid(0, 0)
    open_pool(start_evaluator, POOL_NAME)
    manager()
