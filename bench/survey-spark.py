#!/usr/bin/env python3
"""What a survey by Spark costs, beside the same survey by one process of the same package: in turn, several rounds, new directories.

    python3 bench/survey-spark.py [--objects 10000] [--rounds 3] [--work DIRECTORY]

Builds the Python package with the profile `survey`. Needs Java 17, and on PYTHONPATH pyspark, pyarrow and pandas.
The objects are copies of the shared objects of at most 1 MB below /usr/lib. A survey takes a file with several names once, so links
would not do. Both read the same files from the page cache. Spark has two workers of one processor on this machine; its time is
that of the job, whose workers run already and have surveyed another tree; the time to start Spark is given beside it. On a machine that
is not idle, run it with a higher priority (`nice -n -15`), or the number of threads decides.
"""

import argparse
import hashlib
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
LARGEST = 1_000_000


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--objects", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--work", default=ROOT / "target", type=pathlib.Path)
    parser.add_argument("--built", action="store_true", help="take what is built already")
    options = parser.parse_args()
    build = ["cargo", "build", "--profile", "survey", "-p", "coldstart-python"]
    if not options.built:
        subprocess.run(build, cwd=ROOT, check=True)
    options.work.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=options.work) as work:
        work = pathlib.Path(work)
        package(work)
        tree = make_tree(work / "tree", options.objects)
        warm = make_tree(work / "warm", 50)
        print(json.dumps(measure(work, tree, warm, options.rounds), indent=2))


def package(work):
    shutil.copytree(ROOT / "crates/python/python/coldstart", work / "coldstart")
    shutil.copy(ROOT / "target/survey/lib_coldstart.so", work / "coldstart/_coldstart.abi3.so")
    sys.path.insert(0, str(work))
    os.environ["PYTHONPATH"] = f"{work}:{os.environ.get('PYTHONPATH', '')}"


def make_tree(tree, objects):
    """So many objects, in directories of 1,000."""
    found = [path for path in sorted(pathlib.Path("/usr/lib").rglob("*.so*")) if path.is_file() and not path.is_symlink()]
    found = [path for path in found if path.stat().st_size <= LARGEST and path.open("rb").read(4) == b"\x7fELF"]
    for number in range(objects):
        place = tree / str(number // 1000) / f"{number}.so"
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(found[number % len(found)], place)
    return tree


def measure(work, tree, warm, rounds):
    began = time.perf_counter()
    spark = start_spark(work)
    import coldstart.spark

    coldstart.spark.survey(spark, [warm], work / "warm-out")
    start = time.perf_counter() - began
    script = "import coldstart, sys; coldstart.survey([sys.argv[1]], sys.argv[2])"

    def alone(out):
        subprocess.run([sys.executable, "-c", script, tree, out], check=True)

    def by_spark(out):
        outcome = coldstart.spark.survey(spark, [tree], out)
        assert outcome["objects"] == objects, outcome

    kinds = {"alone": alone, "spark": by_spark}
    objects = sum(1 for _ in tree.rglob("*.so"))
    times, loads = {name: [] for name in kinds}, []
    # The first round fills the page cache and is not counted.
    for number in range(rounds + 1):
        digests = set()
        loads.append(round(os.getloadavg()[0], 1))
        for name, run in kinds.items():
            out = work / name
            began = time.perf_counter()
            run(out)
            times[name].append(time.perf_counter() - began)
            print(number, name, round(times[name][-1], 2), file=sys.stderr, flush=True)
            digests.add(digest(out))
            shards = len(list(out.glob("shard=*")))
            shutil.rmtree(out)
        assert len(digests) == 1, "the two surveys differ"
    spark.stop()
    times = {name: all_times[1:] for name, all_times in times.items()}
    ratios = [spark / alone for spark, alone in zip(times["spark"], times["alone"])]
    whole = [(spark + start) / alone for spark, alone in zip(times["spark"], times["alone"])]
    return {
        "objects": objects,
        "bytes": sum(path.stat().st_size for path in tree.rglob("*.so")),
        "shards": shards,
        "processors": os.cpu_count(),
        "load_before_each_round": loads[1:],
        "seconds": {name: [round(second, 2) for second in seconds] for name, seconds in times.items()},
        "start_of_spark_seconds": round(start, 2),
        "ratio": {"median": round(statistics.median(ratios), 2), "all": [round(ratio, 2) for ratio in ratios]},
        "ratio_with_start_of_spark": round(statistics.median(whole), 2),
    }


def start_spark(work):
    import pyspark
    from pyspark.sql import SparkSession

    home = work / "spark-home"
    home.mkdir()
    for entry in pathlib.Path(pyspark.__file__).parent.iterdir():
        (home / entry.name).symlink_to(entry)
    os.environ.update(SPARK_HOME=str(home), SPARK_LOCAL_IP="127.0.0.1", PYSPARK_PYTHON=sys.executable)
    builder = SparkSession.builder.master("local-cluster[2,1,1024]")
    for name, value in {
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.local.dir": str(work / "spark-local"),
        "spark.log.level": "ERROR",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def digest(survey):
    """Of all tables and their names."""
    whole = hashlib.sha256()
    for file in sorted(survey.glob("shard=*/*")):
        whole.update(str(file.relative_to(survey)).encode() + file.read_bytes())
    return whole.hexdigest()


if __name__ == "__main__":
    main()
