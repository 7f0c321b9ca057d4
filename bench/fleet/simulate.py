#!/usr/bin/env python3
"""A simulated fleet: how good is one plan that was merged from the starts of many hosts?

    python3 bench/fleet/simulate.py [--hosts 10000] [--trace BASE.coldtrace] [--directory DIR] [-o RESULT.json]

Needs duckdb and numpy. Three builds of a program with shifted pages, Zipf-distributed documents with pages of their own, pages that a
start touches or not, and odd hosts that touch other pages. The base is a model, or the touches of a real trace. The
merge is the query of docs/scale.md. Nine of ten hosts are merged, and of the tenth, a quarter is predicted: what it touched and the plan lacks is
missed, what the plan has and it did not touch is useless. All random numbers come from one seed.
"""

import argparse, json, os, pathlib, re, resource, sqlite3, subprocess, sys, time

import duckdb
import numpy

PAGE = 4096
BUILDS = [("a" * 40, 0.6), ("b" * 40, 0.3), ("c" * 40, 0.1)]
ODD, HELD_OUT = 0.05, 0.1
DOCUMENTS, DOCUMENT_PAGES = 2000, 150
PROGRAM = "/usr/lib/app/app"
SHARES = [1, 10, 33, 50, 90]


def query():
    text = (pathlib.Path(__file__).parents[2] / "docs/scale.md").read_text()
    return re.search(r"```sql\n(-- fleet table\n.*?)```", text, re.S).group(1)


def model(random):
    """Path, size in pages, touched pages with their places in the start: clusters of pages, as functions lie in a file."""
    files = []
    for number in range(60):
        name = PROGRAM if number == 0 else f"/usr/lib/app/lib{number}.so"
        size = int(random.pareto(1.2) * 300) + 64 if number else 12000
        size = min(size, 30000)
        wanted = max(8, int(size * random.uniform(0.05, 0.3)))
        pages = set()
        while len(pages) < wanted:
            at = int(random.integers(0, size))
            pages.update(range(at, min(size, at + 1 + int(random.geometric(0.25)))))
        begin = number / 60 * 0.8
        pages = numpy.array(sorted(pages))
        files.append((name, size, pages, begin + random.random(len(pages)) * 0.2))
    return files


def traced(path):
    """The same of a real trace. The program is its file with most touched pages."""
    base = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    end = base.execute("SELECT coalesce(ready_at, ended_at) FROM run").fetchone()[0] / 1e6
    rows = base.execute(
        "SELECT path, size, page, min(at_ms) FROM touches JOIN files USING (path) WHERE NOT zero_filled AND size > 0 "
        "AND category IN ('program', 'system') AND at_ms <= ? GROUP BY path, page", (end,)).fetchall()
    files = {}
    for path, size, page, at in rows:
        files.setdefault((path, -(-size // PAGE)), []).append((page, at / end))
    most = max(files, key=lambda file: len(files[file]))
    made = []
    for (path, size), pages in files.items():
        pages = [pair for pair in pages if pair[0] < size]
        name = PROGRAM if (path, size) == most else path
        made.append((name, size, numpy.array([page for page, _ in pages]), numpy.array([at for _, at in pages])))
    return made


def shifted(pages, build):
    """Where pages are in a later build: each change of the source moved all that follows."""
    return pages if build == 0 else pages + 3 * build + (pages // 700) * build


def write(files, hosts, directory, random):
    """The touches of all hosts, in Parquet files of 250 hosts."""
    chances = numpy.concatenate([numpy.where(random.random(len(pages)) < 0.8, 0.99, random.random(len(pages)))
                                 for _, _, pages, _ in files])
    file_of = numpy.concatenate([numpy.full(len(file[2]), number) for number, file in enumerate(files)])
    place = numpy.concatenate([file[3] for file in files])
    page = [numpy.concatenate([shifted(file[2], build) for file in files]) for build in range(3)]
    size = numpy.array([2 * file[1] + 16 for file in files])
    zipf = 1 / numpy.arange(1, DOCUMENTS + 1)
    popular = random.permutation(DOCUMENTS)
    # A document's own pages: of the files that it needs, pages that no start without it touches.
    of_document = [(random.integers(0, len(files), 3), random.random(DOCUMENT_PAGES)) for _ in range(DOCUMENTS)]
    build_of = random.choice(3, hosts, p=[share for _, share in BUILDS])
    odd = random.random(hosts) < ODD
    base = duckdb.connect()
    base.execute("SET threads = 2")
    base.execute("CREATE TABLE file (number INTEGER, path VARCHAR, pages BIGINT)")
    base.executemany("INSERT INTO file VALUES (?, ?, ?)",
                     [(number, file[0], int(size[number])) for number, file in enumerate(files)])
    for first in range(0, hosts, 250):
        columns = {"host": [], "build": [], "file": [], "page": [], "place": [], "start_ms": []}
        for host in range(first, min(hosts, first + 250)):
            build = build_of[host]
            keep = random.random(len(place)) < chances
            if odd[host]:
                # Plugins, another language: a third of the usual pages is missing, others come instead.
                keep &= random.random(len(place)) < 0.67
            numbers, pages, at = file_of[keep], page[build][keep], place[keep]
            document = popular[random.choice(DOCUMENTS, p=zipf / zipf.sum())]
            among, where = of_document[document]
            extra = numpy.repeat(among, DOCUMENT_PAGES // 3)
            more = (where * (size[extra] - 64)).astype(int) + build
            if odd[host]:
                other = random.integers(0, len(files), 2000)
                extra = numpy.concatenate([extra, other])
                more = numpy.concatenate([more, (random.random(2000) * size[other]).astype(int)])
            numbers, pages = numpy.concatenate([numbers, extra]), numpy.concatenate([pages, more])
            at = numpy.concatenate([at, numpy.full(len(extra), 0.9)])
            _, once = numpy.unique(numbers * 10**7 + pages, return_index=True)
            count = len(once)
            start = 3000 * random.lognormal(0, 0.4)
            for name, values in [("host", numpy.full(count, host)), ("build", numpy.full(count, build)),
                                 ("file", numbers[once]), ("page", pages[once]),
                                 ("place", numpy.clip(at[once] + random.normal(0, 0.02, count), 0, 1)),
                                 ("start_ms", numpy.full(count, start))]:
                columns[name].append(values)
        rows = {name: numpy.concatenate(values) for name, values in columns.items()}
        base.register("rows", rows)
        builds = " ".join(f"WHEN {number} THEN '{build}'" for number, (build, _) in enumerate(BUILDS))
        base.execute(f"""
            COPY (SELECT 'host' || host AS host, '{PROGRAM}' AS program, CASE build {builds} END AS program_build_id, path,
                CASE build {builds} END AS build_id, pages * {PAGE} AS size, page::BIGINT AS page,
                (place * start_ms * 1e6)::BIGINT AS at_ns, (start_ms * 1e6)::BIGINT AS start_ns
            FROM rows JOIN file ON file.number = rows.file ORDER BY host, path, page)
            TO '{directory}/{first:06}.parquet' (FORMAT parquet, COMPRESSION zstd)""")
        base.unregister("rows")


HELD = f"hash(host) % {round(1 / HELD_OUT)} = 0"
# One in forty hosts is predicted, each one of those left out.
JUDGED = "hash(host) % 40 = 0"


def merge(directory):
    """Runs in a process of its own, for its memory."""
    base = duckdb.connect()
    base.execute(f"SET threads = 2; SET memory_limit = '3GB'; SET temp_directory = '{directory}/spill'; SET max_temp_directory_size = '2GB'")
    base.execute(f"CREATE VIEW touches AS SELECT * FROM '{directory}/*.parquet' WHERE NOT ({HELD})")
    began, processor = time.monotonic(), time.process_time()
    base.execute(f"COPY ({query()}) TO '{directory}/fleet.jsonl' (FORMAT json)")
    print(json.dumps({
        "seconds": round(time.monotonic() - began, 1),
        "processor_seconds": round(time.process_time() - processor, 1),
        "peak_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10,
        "table_bytes": os.path.getsize(f"{directory}/fleet.jsonl"),
    }))


def judge(base, plan):
    """Of the held-out hosts: pages that the plan lacks, and pages that it reads in vain. `plan` is a table of pages."""
    base.execute(f"""CREATE OR REPLACE TABLE judged AS
        SELECT held.host, program_build_id, count(*) AS touched, count(plan.page) AS hit
        FROM held LEFT JOIN {plan} AS plan USING (program_build_id, path, build_id, page) GROUP BY held.host, program_build_id""")
    base.execute(f"CREATE OR REPLACE TABLE pages AS SELECT program_build_id, count(*) AS planned FROM {plan} GROUP BY ALL")
    missed, median, worst, useless, planned = base.execute("""
        SELECT sum(touched - hit) / sum(touched), median((touched - hit) / touched),
            quantile_cont((touched - hit) / touched, 0.95), avg(coalesce(planned, 0) - hit), avg(coalesce(planned, 0))
        FROM judged LEFT JOIN pages USING (program_build_id)""").fetchone()
    return {"plan_pages": round(planned), "plan_mib": round(planned * PAGE / 2**20, 1), "missed_percent": round(100 * missed, 1),
            "missed_percent_median": round(100 * median, 1), "missed_percent_p95": round(100 * worst, 1),
            "useless_pages": round(useless), "useless_percent": round(100 * useless / max(planned, 1), 1)}


def judged(directory):
    base = duckdb.connect()
    base.execute(f"SET threads = 2; SET memory_limit = '3GB'; SET temp_directory = '{directory}/spill'; SET max_temp_directory_size = '2GB'")
    base.execute(f"CREATE TABLE held AS SELECT host, program_build_id, path, build_id, page FROM '{directory}/*.parquet' WHERE {JUDGED}")
    base.execute(f"""CREATE TABLE fleet AS SELECT program_build_id, path, build_id, unnest(range(page, page + pages)) AS page,
        hosts, of_hosts FROM '{directory}/fleet.jsonl'""")
    results = {"judged_hosts": base.execute("SELECT count(DISTINCT host) FROM held").fetchone()[0]}
    for share in SHARES:
        base.execute(f"CREATE OR REPLACE TABLE chosen AS SELECT * FROM fleet WHERE hosts * 100 >= {share} * of_hosts")
        results[f"merged, {share} %"] = judge(base, "chosen")
    # One host's plan for all: eight hosts in turn. Its files are another version's on two of three builds, and are not read there.
    base.execute(f"""CREATE TABLE single AS SELECT host, program_build_id, path, build_id, page FROM '{directory}/000000.parquet'
        WHERE NOT ({HELD})""")
    names = [row[0] for row in base.execute("SELECT DISTINCT host FROM single ORDER BY host LIMIT 8").fetchall()]
    every, same = [], []
    for name in names:
        base.execute("CREATE OR REPLACE TABLE chosen AS SELECT * FROM single WHERE host = ?", [name])
        every.append(judge(base, "chosen"))
        base.execute("ALTER TABLE held RENAME TO all_held")
        base.execute("CREATE TABLE held AS SELECT * FROM all_held WHERE program_build_id IN (SELECT program_build_id FROM chosen)")
        same.append(judge(base, "chosen"))
        base.execute("DROP TABLE held; ALTER TABLE all_held RENAME TO held")
    for name, all_of in [("one host, all hosts", every), ("one host, hosts of its build", same)]:
        results[name] = {key: round(sum(one[key] for one in all_of) / len(all_of), 1) for key in all_of[0]}
    return results


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--hosts", type=int, default=10000)
    parser.add_argument("--trace")
    parser.add_argument("--directory", default="fleet-simulation")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("-o", "--output")
    parser.add_argument("--only-merge", action="store_true", help=argparse.SUPPRESS)
    words = parser.parse_args()
    if words.only_merge:
        return merge(words.directory)
    os.makedirs(words.directory, exist_ok=True)
    random = numpy.random.default_rng(words.seed)
    files = traced(words.trace) if words.trace else model(random)
    if not list(pathlib.Path(words.directory).glob("*.parquet")):
        write(files, words.hosts, words.directory, random)
    parquet = list(pathlib.Path(words.directory).glob("*.parquet"))
    base = duckdb.connect()
    base.execute(f"SELECT count(*), count(DISTINCT host) FROM '{words.directory}/*.parquet'")
    rows, hosts = base.fetchone()
    # A process of its own, for its memory.
    alone = [sys.executable, __file__, "--only-merge", "--directory", words.directory]
    cost = json.loads(subprocess.run(alone, check=True, stdout=subprocess.PIPE).stdout)
    result = {"hosts": hosts, "touches": rows, "parquet_bytes": sum(path.stat().st_size for path in parquet), "seed": words.seed,
              "base": "trace" if words.trace else "model", "duckdb": duckdb.__version__, "merge": cost,
              "plans": judged(words.directory)}
    text = json.dumps(result, indent=1)
    print(text)
    if words.output:
        pathlib.Path(words.output).write_text(text + "\n")


if __name__ == "__main__":
    main()
