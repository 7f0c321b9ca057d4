"""Two workers make what one process makes, and what goes wrong is told."""

import fcntl
import os
import pathlib
import shutil

import coldstart
import coldstart.spark
from cluster import OUT, TREE, WHOLE, HERE, digests, rows_of, session, sorted_rows

spark = session()
coldstart.survey([TREE], WHOLE)
assert len(digests(WHOLE)) == 4 * 8, digests(WHOLE)

# The example of the documentation.
exec((HERE / "documented.py").read_text())
assert digests(WHOLE) == digests(OUT)
for table in coldstart.spark.TABLES:
    by_spark = sorted_rows(coldstart.spark.read(spark, OUT, table).toArrow())
    assert by_spark == rows_of(WHOLE, table), table
assert len(rows_of(WHOLE, "objects")) == 1300

again = coldstart.spark.survey(spark, [TREE], OUT)
assert again == coldstart.survey([TREE], WHOLE), again
assert again["kept"] == 4 and again["objects"] == 1300, again


def error(call):
    try:
        call()
    except coldstart.Error as error:
        return str(error), error.hint
    raise SystemExit("no error")


# A shard that another process makes, and makes no longer.
shutil.rmtree(f"{OUT}/shard=00001")
os.makedirs(f"{OUT}/.working", exist_ok=True)
with open(f"{OUT}/.working/shard=00001.lock", "w") as lock:
    fcntl.flock(lock, fcntl.LOCK_EX)
    message, hint = error(lambda: coldstart.spark.survey(spark, [TREE], OUT, tasks=2, patience=1))
    assert "another process is making 1 shard of" in message and "repeat" in hint, (message, hint)
outcome = coldstart.spark.survey(spark, [TREE], OUT, tasks=2)
assert (outcome["kept"], outcome["made"]) == (3, 1), outcome
assert digests(WHOLE) == digests(OUT)

message, hint = error(lambda: coldstart.spark.survey(spark, [TREE], TREE))
assert "not empty, and not a survey" in message and "new directory" in hint, (message, hint)
for wrong in (
    lambda: coldstart.spark.survey(spark, [TREE], OUT, tasks=0),
    lambda: coldstart.spark.read(spark, OUT, "things"),
    lambda: coldstart.spark.inspect(spark.range(1), "modules"),
):
    try:
        wrong()
        raise SystemExit("no error")
    except ValueError:
        pass

# Files whose bytes Spark hands over.
some = pathlib.Path(HERE, "some")
some.mkdir()
shutil.copy("/bin/sh", some)
(some / "script").write_text("#!/bin/sh\n")
(some / "empty").write_text("")
(some / "damaged").write_bytes(b"\x7fELF and so on")
files = spark.read.format("binaryFile").load(str(some))
for table in ("objects", "findings", "needed", "initialisers", "owners"):
    import pyarrow

    found = coldstart.inspect(some / "sh", name=f"file:{some}/sh")
    expected = pyarrow.table(getattr(found, table))
    by_spark = coldstart.spark.inspect(files, table).toArrow()
    assert by_spark.column_names == expected.column_names, (by_spark, expected)
    assert sorted_rows(by_spark) == sorted_rows(expected), table
[problem] = coldstart.spark.inspect(files, "problems").collect()
assert problem.path == f"file:{some}/damaged" and "ELF header" in problem.problem, problem
spark.stop()
print("checked")
