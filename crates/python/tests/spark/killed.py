"""The survey is the same when a worker is killed after some shards: Python's process, or the executor with all its processes."""

import os
import pathlib
import sys

import coldstart
import coldstart.spark
from cluster import HERE, OUT, TREE, WHOLE, digests, session

# Python imports it at its start, on the workers only. The first attempt at task 1 makes one of its two shards, begins the other,
# and kills.
HOOK = """
import os
import signal
import subprocess

import coldstart

make = coldstart.survey


def survey(what, directory, *, shard, **options):
    number, tasks = shard
    marker = directory + ".killed"
    if number == 1 and not os.path.exists(marker):
        open(marker, "x").close()
        made = make(what, directory, shard=(1, 2 * tasks), **options)
        assert made["made"] == 1, made
        unfinished = directory + "/.working/shard=00002"
        os.mkdir(unfinished)
        with open(unfinished + "/objects.parquet", "w") as table:
            table.write("PAR1")
        if {executor}:
            daemon = str(os.getppid())
            executor = subprocess.run(["ps", "-o", "ppid=", "-p", daemon], capture_output=True, check=True).stdout
            os.kill(int(executor), signal.SIGKILL)
        os.kill(os.getpid(), signal.SIGKILL)
    return make(what, directory, shard=shard, **options)


coldstart.survey = survey
"""

hook = pathlib.Path(HERE, "hook")
hook.mkdir()
(hook / "sitecustomize.py").write_text(HOOK.replace("{executor}", str(sys.argv[1] == "executor")))
spark = session(str(hook))
coldstart.survey([TREE], WHOLE)
outcome = coldstart.spark.survey(spark, [TREE], OUT, tasks=2)
assert os.path.exists(OUT + ".killed")
# The shard that was complete when the worker died was kept by the second attempt.
assert (outcome["shards"], outcome["kept"], outcome["made"]) == (4, 1, 3), outcome
assert digests(WHOLE) == digests(OUT)
spark.stop()
print("checked")
