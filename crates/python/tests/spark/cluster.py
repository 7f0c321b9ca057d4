"""What the tests with Spark share: a cluster of two workers on this machine, and surveys compared."""

import hashlib
import os
import pathlib
import sys

import pyarrow.parquet
import pyspark
from pyspark.sql import SparkSession

HERE = pathlib.Path.cwd()
TREE, WHOLE, OUT = (str(HERE / name) for name in ("tree", "whole", "out"))


def session(*first_of_path):
    """A session with two executors of one processor, each a process; their Python looks into these directories first."""
    # Workers keep their files below it, so it is not where others have Spark.
    home = HERE / "spark-home"
    if not home.exists():
        home.mkdir()
        for entry in pathlib.Path(pyspark.__file__).parent.iterdir():
            (home / entry.name).symlink_to(entry)
    os.environ.update(SPARK_HOME=str(home), SPARK_LOCAL_IP="127.0.0.1", PYSPARK_PYTHON=sys.executable)
    path = ":".join([*first_of_path, os.environ["PYTHONPATH"]])
    settings = {
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.executorEnv.PYTHONPATH": path,
        "spark.local.dir": str(HERE / "spark-local"),
        "spark.log.level": "ERROR",
        "spark.ui.enabled": "false",
    }
    builder = SparkSession.builder.master("local-cluster[2,1,1024]")
    for name, value in settings.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def digests(survey):
    """The complete shards' files with their digests."""
    files = sorted(pathlib.Path(survey).glob("shard=*/*"))
    return {str(file.relative_to(survey)): hashlib.sha256(file.read_bytes()).hexdigest() for file in files}


def sorted_rows(table):
    return sorted(table.to_pylist(), key=repr)


def rows_of(survey, table):
    """The rows of a survey's table, by another reader than Spark."""
    files = sorted(pathlib.Path(survey).glob(f"shard=*/{table}.parquet"))
    return sorted_rows(pyarrow.concat_tables(pyarrow.parquet.ParquetFile(file).read() for file in files))
