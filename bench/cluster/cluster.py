#!/usr/bin/env python3
"""Many nodes start one program at once from one network file system: what its server has to do, and how long it takes.

Each node is a mount of its own of xtask/src/bench/index/slow_tree.c, with caches of its own; each rank is a start in a mount namespace of its
own. All mounts share one queue, so they are clients of one server. Needs root, gcc, pkg-config, libfuse3-dev, and the programs coldstart and
coldstart-run:

    sudo bench/cluster/cluster.py --coldstart target/release/coldstart --output cluster.json

Two programs: one in C that needs 80 libraries in as many directories, all in its run path, as Spack links programs; one in Python
with 100 directories of modules, whose interpreter is on the node.
"""

import argparse
import json
import mmap
import os
import pathlib
import platform
import shutil
import statistics
import struct
import subprocess
import sys
import time

LIBRARIES = 80
MODULES = 100
LATENCY_US = 500
SERVICE_US = 200
MB_PER_S = 1000
DEADLINE = 600
HERE = pathlib.Path(__file__).resolve().parent


def run(*words, **options):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, **options)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, words))}: {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


class Server:
    """The queue that all mounts share: see `struct queue`."""

    def __init__(self, directory):
        self.path = directory / "queue"
        self.path.write_bytes(bytes(32))
        self.file = open(self.path, "r+b")
        self.memory = mmap.mmap(self.file.fileno(), 32)

    def reset(self):
        self.memory[:] = bytes(32)

    def counts(self):
        _, names, reads, read_bytes = struct.unpack("4Q", self.memory[:])
        return {"names": names, "reads": reads, "bytes": read_bytes}


def demand(counts):
    """Seconds that the server works for these requests."""
    requests = counts["names"] + counts["reads"]
    return requests * SERVICE_US / 1e6 + counts["bytes"] / (MB_PER_S * 1e6)


def mean_value_analysis(nodes, of_one, think):
    """Seconds until `nodes` clients have what each needs `of_one` seconds of the server for, and `think` elsewhere.

    Exact mean value analysis of a closed network with one queue and one delay (Reiser and Lavenberg 1980).
    """
    queued = 0.0
    response = of_one
    for clients in range(1, nodes + 1):
        response = of_one * (1 + queued)
        queued = clients * response / (response + think)
    return response + think


class Cluster:
    def __init__(self, options):
        self.work = pathlib.Path(options.work).resolve()
        shutil.rmtree(self.work, ignore_errors=True)
        self.source, self.seen, self.mounts, self.made = (self.work / name for name in ("source", "seen", "nodes", "made"))
        for directory in (self.source, self.seen, self.mounts, self.made):
            directory.mkdir(parents=True)
        self.coldstart = pathlib.Path(options.coldstart).resolve()
        self.launcher = self.coldstart.with_name("coldstart-run")
        self.ranks = options.ranks
        self.server = Server(self.work)
        self.program = self.work / "slow_tree"
        flags = run("pkg-config", "--cflags", "--libs", "fuse3").split()
        run("gcc", "-O2", "-o", self.program, HERE / "../../xtask/src/bench/index/slow_tree.c", *flags)

    def build(self):
        """The world, made where programs will see it, and what makes them start faster, made on a node: an index is for the device it was made on."""
        run("mount", "--bind", self.source, self.seen)
        try:
            self._libraries()
            self._modules()
        finally:
            run("umount", self.seen)
        at = self.node(0, latency=0, service=0)
        run("mount", "--bind", at, self.seen)
        try:
            ways = self._ways()
        finally:
            run("umount", self.seen)
            run("umount", at)
        # Nodes cannot write.
        run("cp", "-a", f"{self.made}/.", self.source)
        # Where an image of one program goes.
        for name in ways:
            (self.seen / name).mkdir()
        return ways

    def _libraries(self):
        root = self.seen / "libraries"
        places = [root / f"package{number}/lib" for number in range(LIBRARIES)]
        for number, place in enumerate(places):
            place.mkdir(parents=True)
            # 256 KiB of data that is read, as a library of its size has.
            source = f"static char data{number}[262144] = {{1}}; int part{number}(void) {{ int sum = 0; " \
                f"for (int at = 0; at < 262144; at += 4096) sum += data{number}[at]; return sum; }}"
            run("gcc", "-shared", "-fPIC", "-O1", "-xc", "-", "-o", place / f"libpart{number}.so", input=source)
        calls = "".join(f"int part{number}(void);" for number in range(LIBRARIES))
        calls += "int main(void) { return 0" + "".join(f" + 0 * part{number}()" for number in range(LIBRARIES)) + "; }"
        paths = ":".join(map(str, places))
        links = [word for number, place in enumerate(places) for word in (f"-L{place}", f"-lpart{number}")]
        run("gcc", "-O0", "-xc", "-", "-o", root / "program", "-Wl,--no-as-needed", *links, f"-Wl,-rpath,{paths}", input=calls)

    def _modules(self):
        root = self.seen / "modules"
        for number in range(MODULES):
            package = root / f"site{number}/package{number}"
            package.mkdir(parents=True)
            (package / "__init__.py").write_text("from . import part\n")
            (package / "part.py").write_text("\n".join(f"def f{at}(x): return x + {at}" for at in range(40)))
        (root / "main.py").write_text("\n".join(f"import package{number}" for number in range(MODULES)))
        run("python3", root / "main.py", env=self._python())

    def _python(self):
        sites = ":".join(str(self.seen / f"modules/site{number}") for number in range(MODULES))
        return {**os.environ, "PYTHONPATH": sites}

    def _ways(self):
        """Command and environment of each way to start, by program."""
        plain = {"libraries": [self.seen / "libraries/program"], "modules": ["python3", self.seen / "modules/main.py"]}
        environments = {"libraries": dict(os.environ), "modules": self._python()}
        ways = {}
        for name, command in plain.items():
            environment = environments[name]
            plan = self.seen / f"{name}.plan"
            run(self.coldstart, "prefetch", "record", "-o", self.made / plan.name, "--", *command, env=environment)
            ways[name] = {
                "plain": (command, environment, None),
                "plan": ([self.launcher, plan, "--", *command], environment, None),
                "image": (command, environment, self.source / f"{name}.erofs"),
            }
        bound = self.seen / "libraries/bound"
        (self.made / "libraries").mkdir()
        run(self.coldstart, "bind", plain["libraries"][0], "-o", self.made / "libraries/bound")
        ways["libraries"]["bind"] = ([bound], environments["libraries"], None)
        index = self.seen / "modules.index"
        run(self.coldstart, "index", "make", "-o", self.made / index.name, "--", *plain["modules"], env=environments["modules"])
        run("cp", "-a", self.made / index.name, self.source)
        ways["modules"]["index"] = (
            [self.launcher, "--index", index, "--", *plain["modules"]], environments["modules"], None)
        # A plan of what a start reads that has the index.
        plan = self.seen / "modules-index.plan"
        run(self.coldstart, "prefetch", "record", "-o", self.made / plan.name, "--",
            self.coldstart, "index", "run", index, "--", *plain["modules"], env=environments["modules"])
        ways["modules"]["index and plan"] = (
            [self.launcher, "--index", index, plan, "--", *plain["modules"]], environments["modules"], None)
        for name in plain:
            run(self.coldstart, "image", "make", "--tree", self.seen / name, "-o", self.made / f"{name}.erofs", "--", *plain[name],
                env=environments[name])
        return ways

    def node(self, number, latency=LATENCY_US, service=SERVICE_US):
        at = self.mounts / str(number)
        at.mkdir(exist_ok=True)
        settings = {
            "SLOW_TREE_US": latency, "SLOW_TREE_ROOT": self.source, "SLOW_TREE_QUEUE": self.server.path,
            "SLOW_TREE_SERVICE_US": service, "SLOW_TREE_MB_PER_S": MB_PER_S,
        }
        run(self.program, at, env={**os.environ, **{name: str(value) for name, value in settings.items()}})
        return at

    def measure(self, way, program, nodes):
        """All ranks of all nodes at once, with nothing in the nodes' caches of the file system."""
        command, environment, image = way
        mounted = []
        try:
            for number in range(nodes):
                mounted.append(self.node(number))
            roots = list(mounted)
            self.server.reset()
            clock = time.monotonic()
            if image is not None:
                # One reader per node: its ranks share what it has read.
                mounting = []
                for number, at in enumerate(list(mounted)):
                    place = self.mounts / f"image{number}"
                    place.mkdir(exist_ok=True)
                    mounting.append((subprocess.Popen(["mount", "-t", "erofs", "-o", "loop,ro", at / image.name, place]), place))
                for process, place in mounting:
                    if process.wait(timeout=DEADLINE) != 0:
                        sys.exit(f"{image} could not be mounted on {place}")
                    mounted.append(place)
                roots = [place for _, place in mounting]
            # With an image the seen directory of one program is the image; otherwise all of the file system.
            target = self.seen if image is None else self.seen / program
            script = 'mount --bind "$1" "$2" && shift 2 && exec "$@"'
            starts = []
            for root in roots:
                for _ in range(self.ranks):
                    inside = root / str(self.seen / program).lstrip("/") if image is not None else root
                    words = ["unshare", "-m", "sh", "-c", script, "sh", inside, target, *command]
                    starts.append(subprocess.Popen([str(word) for word in words], env=environment, stdout=subprocess.DEVNULL))
            codes = [start.wait(timeout=DEADLINE) for start in starts]
            seconds = time.monotonic() - clock
            if any(codes):
                sys.exit(f"{program}: {command[0]} ended with {sorted(set(codes))}")
            return {"nodes": nodes, "seconds": seconds, **self.server.counts()}
        finally:
            for at in reversed(mounted):
                subprocess.run(["umount", at], check=False)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--coldstart", required=True, help="the program; coldstart-run is beside it")
    parser.add_argument("--work", default="/var/tmp/coldstart-cluster", help="a directory for the world; removed before and afterwards")
    parser.add_argument("--nodes", type=int, nargs="+", default=[1, 2, 4, 8, 16, 32])
    parser.add_argument("--ranks", type=int, default=2, help="starts on each node")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--output", type=pathlib.Path)
    options = parser.parse_args()
    if os.geteuid() != 0:
        sys.exit("it mounts file systems: run it as root")
    cluster = Cluster(options)
    ways = cluster.build()
    results = []
    print(f"{'program':10} {'way':15} {'nodes':>5} {'requests':>9} {'MB':>7} {'seconds':>16} {'model':>7} {'at least':>8}")
    for program, of_program in ways.items():
        measured = {name: {nodes: [] for nodes in options.nodes} for name in of_program}
        for nodes in options.nodes:
            for _ in range(options.rounds):
                for name, way in of_program.items():
                    measured[name][nodes].append(cluster.measure(way, program, nodes))
        for name, by_nodes in measured.items():
            one = by_nodes[options.nodes[0]]
            of_one = statistics.median(demand(point) for point in one) / options.nodes[0]
            think = max(0.0, statistics.median(point["seconds"] for point in one) - of_one)
            for nodes, points in by_nodes.items():
                times = sorted(point["seconds"] for point in points)
                point = {
                    "program": program, "way": name, "nodes": nodes, "points": points,
                    "model_seconds": mean_value_analysis(nodes, of_one, think),
                    "server_seconds": statistics.median(demand(point) for point in points),
                }
                results.append(point)
                requests = statistics.median(point["names"] + point["reads"] for point in points)
                megabytes = statistics.median(point["bytes"] for point in points) / 1e6
                spread = f"{statistics.median(times):.2f} ({times[0]:.2f}-{times[-1]:.2f})"
                print(f"{program:10} {name:15} {nodes:5} {requests:9.0f} {megabytes:7.1f} {spread:>16} "
                      f"{point['model_seconds']:7.2f} {point['server_seconds']:8.2f}", flush=True)
            thousand = mean_value_analysis(1000, of_one, think)
            results.append({"program": program, "way": name, "nodes": 1000, "model_seconds": thousand})
            print(f"{program:10} {name:15}  1000 on paper: {thousand:.1f} s", flush=True)
    if options.output:
        about = {
            "date": time.strftime("%Y-%m-%d"), "kernel": platform.release(), "processors": os.cpu_count(),
            "latency_us": LATENCY_US, "service_us": SERVICE_US, "mb_per_s": MB_PER_S, "ranks": options.ranks,
        }
        options.output.write_text(json.dumps({"about": about, "results": results}, indent=1) + "\n")
    shutil.rmtree(cluster.work)


if __name__ == "__main__":
    main()
