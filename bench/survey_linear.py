#!/usr/bin/env python3
"""Whether the time of a survey grows with the number of objects, and no faster.

    survey_linear.py COLDSTART-SURVEY OBJECTS-DIRECTORY SCRATCH-DIRECTORY [RUNS]

Takes about 1,000 ELF files of at most 256 KiB below OBJECTS-DIRECTORY, evenly spread over their names, copies them 8 times below
SCRATCH-DIRECTORY, and surveys 1, 2, 4 and 8 of the copies from a hot cache, in alternating order. Hard links would not do: a survey
has each file once. Prints time and processor time for each object: median and range. Processor time is what other load on the
machine disturbs least.
"""

import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import time

OBJECTS = 1000
LARGEST = 256 * 1024
TIMES = (1, 2, 4, 8)


def objects(directory):
    """ELF files by name, evenly spread."""
    files = sorted(path for path in pathlib.Path(directory).rglob("*") if path.is_file() and not path.is_symlink())
    found = [path for path in files if path.stat().st_size <= LARGEST and path.open("rb").read(4) == b"\x7fELF"]
    step = max(1, len(found) // OBJECTS)
    return found[::step][:OBJECTS]


def copy(files, place):
    place.mkdir(parents=True)
    for number, file in enumerate(files):
        shutil.copyfile(file, place / f"{number}-{file.name}")


def survey(program, trees, output):
    """Seconds, processor seconds, the most memory in MB and the number of objects of one survey."""
    shutil.rmtree(output, ignore_errors=True)
    start = time.monotonic()
    child = subprocess.Popen([program, "survey", *trees, "-o", output, "--json"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    outcome = child.stdout.read()
    _, status, used = os.wait4(child.pid, 0)
    seconds = time.monotonic() - start
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode != 0:
        sys.exit(f"{program} ended with {child.returncode}")
    return seconds, used.ru_utime + used.ru_stime, used.ru_maxrss / 1000, json.loads(outcome)["objects"]


def spread(values):
    return f"{statistics.median(values):.2f} ({min(values):.2f} to {max(values):.2f})"


def main():
    program, directory, scratch = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3])
    runs = int(sys.argv[4]) if len(sys.argv) > 4 else 5
    files = objects(directory)
    root = scratch / "linear"
    shutil.rmtree(root, ignore_errors=True)
    try:
        trees = [root / str(number) for number in range(max(TIMES))]
        for tree in trees:
            copy(files, tree)
        survey(program, trees, root / "out")  # warms the cache
        samples = {times: [] for times in TIMES}
        for run in range(runs):
            for times in TIMES if run % 2 == 0 else reversed(TIMES):
                samples[times].append(survey(program, trees[:times], root / "out"))
    finally:
        shutil.rmtree(root, ignore_errors=True)
    print(f"{len(files)} ELF files of {directory}, {runs} runs of each, {os.cpu_count()} processors, hot cache")
    print("| objects | ms per object | processor ms per object | most memory, MB |")
    print("|---|---|---|---|")
    for times, of in samples.items():
        [count] = {objects for _, _, _, objects in of}
        wall = spread([1000 * seconds / count for seconds, _, _, _ in of])
        processor = spread([1000 * used / count for _, used, _, _ in of])
        print(f"| {count} | {wall} | {processor} | {max(memory for _, _, memory, _ in of):.0f} |")


main()
