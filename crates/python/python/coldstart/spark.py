"""The same survey by Apache Spark: shards made by the tasks of a job, and objects inspected that no shared directory holds.

With a directory that all workers share, each task makes its part of the shards, and the tables are those of `coldstart.survey`, byte
for byte. Shards are whole or not there, so a task that Spark repeats after its worker died makes only what is missing:

    import coldstart.spark
    coldstart.spark.survey(spark, ["/srv/packages"], "/srv/survey", tasks=200)
    coldstart.spark.read(spark, "/srv/survey", "objects").groupBy("package").sum("packing_saves_bytes").show()

Without one, Spark reads the files, and hands their bytes over:

    files = spark.read.format("binaryFile").option("recursiveFileLookup", "true").load("s3a://bucket/tree")
    coldstart.spark.inspect(files, table="findings").write.parquet("s3a://bucket/findings")

The workers need this package, of the same version as the driver's, and pyarrow. Nothing that is surveyed is executed.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import coldstart

if TYPE_CHECKING:
    import pyarrow
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["TABLES", "inspect", "read", "survey"]

#: The tables of a survey.
TABLES = ("objects", "findings", "needed", "initialisers", "owners", "modules", "problems")

#: What a task says of itself: which it is, what `coldstart.survey` counted, and why it gave up.
_COUNTS = ("shards", "kept", "made", "elsewhere", "files", "objects", "findings", "problems")
_OUTCOME = "task long, " + "".join(f"{name} long, " for name in _COUNTS) + "error string, hint string"

#: The table `problems` of `inspect`, as a survey has it.
_PROBLEMS = "source string, archive string, path string, problem string"

#: Between two looks at a shard that another process is making, in seconds.
_FIRST_PAUSE, _LONGEST_PAUSE = 0.5, 30.0


def survey(
    spark: SparkSession,
    what: Sequence[str | os.PathLike[str]],
    directory: str | os.PathLike[str],
    tasks: int | None = None,
    *,
    one_file_system: bool = False,
    patience: float = 600.0,
) -> dict[str, int]:
    """Surveys packages, images and directories into `directory`, and returns the counts of `coldstart.survey`.

    All workers must see `what` and `directory` under these paths. Relative paths are those of the driver. There are as many tasks as
    Spark runs at once, unless `tasks` says otherwise; each looks through the names of all files once.

    A shard that another process is making is waited for, at most `patience` seconds. The survey is complete when this returns;
    otherwise it raises `coldstart.Error`, or what Spark raises when a task fails too often. Complete shards are kept, and the same call
    makes the others.
    """
    if tasks is None:
        tasks = _parallelism(spark)
    if tasks < 1:
        raise ValueError(f"tasks is {tasks}, and not at least 1")
    job = {
        "version": coldstart.__version__,
        "what": [os.path.abspath(one) for one in what],
        "directory": os.path.abspath(directory),
        "tasks": tasks,
        "one_file_system": one_file_system,
        "patience": patience,
    }

    # Python's processes get the function by its name, and the job by value.
    def run(batches: Iterator[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
        from coldstart.spark import _run_tasks

        return _run_tasks(batches, job)

    numbers = spark.range(1, tasks + 1, 1, numPartitions=tasks)
    outcomes = [row.asDict() for row in numbers.mapInArrow(run, _OUTCOME).collect()]
    return _sum(outcomes, tasks, os.fspath(directory))


def read(spark: SparkSession, directory: str | os.PathLike[str], table: str) -> DataFrame:
    """A table of a survey: one of `TABLES`. A path is the driver's; anything with a scheme, such as `s3a://`, is left to Spark."""
    if table not in TABLES:
        raise ValueError(f"no table {table!r}: there are {', '.join(TABLES)}")
    place = os.fspath(directory).rstrip("/")
    if "://" not in place:
        place = "file://" + os.path.abspath(directory)
    # To Spark a path is a pattern.
    escaped = "".join("\\" + letter if letter in "\\*?[]{}" else letter for letter in place)
    return spark.read.parquet(f"{escaped}/*/{table}.parquet")


def inspect(files: DataFrame, table: str = "objects") -> DataFrame:
    """Inspects the ELF files among `files`, whose columns are `path` and `content` as Spark's format `binaryFile` has them.

    The result is the table of `coldstart.inspect` with this name: `objects`, `findings`, `needed`, `initialisers` or `owners`. Files
    that are not ELF are passed over. Those that cannot be inspected, such as object files for the linker, are rows of the table
    `problems`. Packages and images stay closed, and no file has an owner: that takes a survey.
    """
    inspected = [name for name in TABLES if name not in ("modules", "problems")]
    if table not in [*inspected, "problems"]:
        raise ValueError(f"no table {table!r}: there are {', '.join(inspected)} and problems")
    version = coldstart.__version__

    def run(batches: Iterator[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
        from coldstart.spark import _inspect_files

        return _inspect_files(batches, table, version)

    return files.select("path", "content").mapInArrow(run, _schema_of(table))


def _parallelism(spark: SparkSession) -> int:
    try:
        return spark.sparkContext.defaultParallelism
    except AttributeError:
        raise ValueError("Spark Connect does not say how many tasks run at once: name a number of `tasks`") from None


def _schema_of(table: str) -> Any:
    if table == "problems":
        return _PROBLEMS
    import pyarrow
    from pyspark.sql.pandas.types import from_arrow_schema

    return from_arrow_schema(pyarrow.table(getattr(coldstart.Inspection(), table)).schema)


def _sum(outcomes: list[dict[str, Any]], tasks: int, directory: str) -> dict[str, int]:
    """The counts of a whole survey; an error if it is not whole."""
    for outcome in outcomes:
        if outcome["error"] is not None:
            raise _error(f"task {outcome['task']} of {tasks}: {outcome['error']}", outcome["hint"])
    again = "repeat the survey into the same directory: complete shards are kept"
    if sorted(outcome["task"] for outcome in outcomes) != list(range(1, tasks + 1)):
        raise _error(f"not every task of the survey of `{directory}` said what it made", again)
    # What all tasks see, and what each counts of its own shards.
    shards = {outcome["shards"] for outcome in outcomes}
    total = {name: sum(outcome[name] for outcome in outcomes) for name in _COUNTS}
    complete = total["kept"] + total["made"]
    if shards != {complete}:
        raise _error(f"{complete} shards of `{directory}` are complete, and the workers count {sorted(shards)}", again)
    return {**total, "shards": complete, "files": max(outcome["files"] for outcome in outcomes)}


def _error(sentence: str, hint: str | None) -> coldstart.Error:
    error = coldstart.Error(sentence)
    error.hint = hint
    return error


def _same_version(version: str) -> None:
    """On a worker: refuses to go on with another version than the driver's."""
    if coldstart.__version__ != version:
        raise _error(
            f"this worker has coldstart {coldstart.__version__}, and the driver has {version}",
            "install the same version on all machines",
        )


def _run_tasks(batches: Iterator[pyarrow.RecordBatch], job: dict[str, Any]) -> Iterator[pyarrow.RecordBatch]:
    """On a worker: the tasks with these numbers.

    An error is an answer and no failure of the task: it would be the same a second time. What Spark tries again is a task of which
    nothing is heard, because its worker died.
    """
    import pyarrow

    for batch in batches:
        for task in batch.column(0).to_pylist():
            outcome: dict[str, Any] = dict.fromkeys(_COUNTS, 0) | {"error": None, "hint": None}
            try:
                _same_version(job["version"])
                outcome |= _run_task(task, job)
            except coldstart.Error as error:
                outcome |= {"error": str(error), "hint": error.hint}
            columns = {"task": pyarrow.array([task], pyarrow.int64())}
            columns |= {name: pyarrow.array([outcome[name]], pyarrow.int64()) for name in _COUNTS}
            columns |= {name: pyarrow.array([outcome[name]], pyarrow.string()) for name in ("error", "hint")}
            yield pyarrow.RecordBatch.from_pydict(columns)


def _run_task(task: int, job: dict[str, Any]) -> dict[str, int]:
    deadline = time.monotonic() + job["patience"]
    pause = _FIRST_PAUSE
    while True:
        outcome = coldstart.survey(
            job["what"], job["directory"], shard=(task, job["tasks"]), one_file_system=job["one_file_system"]
        )
        if outcome["elsewhere"] == 0:
            return outcome
        # An earlier attempt at this task that still runs, or another survey into the directory. A lock ends with its process.
        left = deadline - time.monotonic()
        if left <= 0:
            shards = "1 shard" if outcome["elsewhere"] == 1 else f"{outcome['elsewhere']} shards"
            raise _error(
                f"another process is making {shards} of `{job['directory']}` for more than {job['patience']:g} s",
                "repeat the survey when that process has ended",
            )
        time.sleep(min(pause, left))
        pause = min(2 * pause, _LONGEST_PAUSE)


def _inspect_files(
    batches: Iterator[pyarrow.RecordBatch], table: str, version: str
) -> Iterator[pyarrow.RecordBatch]:
    """On a worker: the rows of these files, file by file."""
    import pyarrow

    _same_version(version)
    for batch in batches:
        paths, contents = batch.column(0), batch.column(1)
        for path, content in zip(paths.to_pylist(), contents):
            # Without a copy for files that are no ELF files, which are most.
            content = content.as_buffer()
            if content is None or content[:4].to_pybytes() != b"\x7fELF":
                continue
            try:
                found = coldstart.inspect(content.to_pybytes(), name=path)
            except coldstart.Error as error:
                if table == "problems":
                    row = {"source": [path], "archive": [None], "path": [path], "problem": [str(error)]}
                    names = pyarrow.schema([(name, pyarrow.string()) for name in row])
                    yield pyarrow.RecordBatch.from_pydict(row, schema=names)
                continue
            if table != "problems":
                yield from pyarrow.table(getattr(found, table)).to_batches()
