#!/usr/bin/env python3
"""Times a step of Undine beside other weakly compressible SPH programs, on this machine, in one run.

    cargo build --release --workspace && cargo bench -p undine --bench speed --no-run
    pip install numpy pySPlisHSPlasH taichi
    python3 tools/compare_peers.py [--particles 60000,250000] [--threads 2,1] [--json]

All run the same dam break (tools/peers/dam_break.py) with a support radius of two spacings, each in a process of
its own. Programs alternate in rounds, so that a busy machine is unfair to none. A peer whose package is not
installed is skipped and named. docs/peers.md says what is compared and why. Exit 0 if every check of the runs held,
1 if one did not, 2 if Undine is not built.
"""

import argparse
import importlib.util
import json
import os
import pathlib
import platform
import re
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
PEERS = ROOT / "tools" / "peers"
PACKAGES = {"splishsplash": ("pysplishsplash", "pySPlisHSPlasH"), "taichi": ("taichi", "taichi")}
NAMES = {"undine": "Undine", "splishsplash": "SPlisHSPlasH WCSPH", "taichi": "Taichi WCSPH, plain"}
# The column is cut from a cubic lattice: 26 neighbours within two spacings inside, 32 with those at just two,
# fewer at the faces, more where the fluid is compressed.
NEIGHBORS = (22.0, 36.0)


class Failed(Exception):
    """A program ended with an error or said something unexpected."""


def run(command, environment):
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **environment})
    if done.returncode != 0:
        raise Failed(f"{' '.join(map(str, command))}: exit {done.returncode}\n{done.stderr[-2000:]}")
    return done.stdout


def built_bench(name):
    """The program of a benchmark; cargo, which gives it a name of its own, tells which, and builds it if it is stale."""
    command = ["cargo", "bench", "--quiet", "-p", "undine", "--bench", name, "--no-run", "--message-format=json"]
    out = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True).stdout
    built = (json.loads(line) for line in out.splitlines() if line.startswith("{"))
    return next(pathlib.Path(m["executable"]) for m in built if m.get("executable") and m["target"]["name"] == name)


def priority():
    """Command that puts a process ahead of other load, where that is allowed."""
    command = ["chrt", "-f", "50"]
    try:
        allowed = subprocess.run([*command, "true"], capture_output=True).returncode == 0
    except FileNotFoundError:
        allowed = False
    return command if allowed else []


def processor():
    try:
        for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


class Undine:
    """benches/speed for the timing; the `undine` binary for where the particles are."""

    def __init__(self, options, folder):
        self.speed, self.binary, self.folder = options.speed, options.undine, folder
        self.version = run([self.binary, "--version"], {}).split()[-1]

    def time(self, particles, threads, steps, first):
        windows, out = [], ""
        # The benchmark prints the best of its windows; asked for one window, it prints that one.
        for _ in range(steps // dam.WINDOW):
            out = run(
                [*first, self.speed, str(particles), str(dam.WINDOW)], {"RAYON_NUM_THREADS": str(threads)}
            )
            found = re.search(r"(\d+) particles, (\d+) threads: ([\d.]+) ms/step.* dt (\S+)", out)
            if not found or int(found[2]) != threads:
                raise Failed(f"unexpected output of {self.speed}: {out}")
            windows.append(float(found[3]))
        return {"windows": windows, "step": float(found[4]), "timed_particles": int(found[1])}

    def simulate(self, particles, threads, duration, first):
        """Runs for `duration` seconds of simulated time; a frame at the end shows where the particles are."""
        scene = self.folder / "dam.toml"
        corner = list(dam.TANK)
        scene.write_text(
            f"gravity = [0, {dam.GRAVITY}, 0]\n"
            f"[time]\nduration = 4\nframe_rate = {1 / duration}\n"
            f"[domain]\nmin = [0, 0, 0]\nmax = {corner}\n"
            f"[model]\nspacing = {dam.spacing(particles)}\n"
            f"[[fluid]]\nshape = {{ box = {{ min = [0, 0, 0], max = {list(dam.COLUMN)} }} }}\n"
        )
        with tempfile.TemporaryDirectory(dir=self.folder) as out:
            command = [*first, self.binary, "run", scene, "-o", out + "/run", "--frames", "1", "--json"]
            result = json.loads(run([*command, "--threads", str(threads)], {}))
            frame = max(pathlib.Path(out, "run").glob("particles_*.ply"))
            return {
                "mean": sum(result["passes"].values()) * 1e3 / result["steps"],
                "steps": result["steps"],
                "time": result["simulated"],
                **dam.describe(stack(read_plain_ply(frame)[0], "xyz"), particles),
            }


class Peer:
    """A script of tools/peers, which reports by a line of JSON."""

    def __init__(self, script, folder=None):
        self.script, self.folder = PEERS / script, folder
        self.version = ""

    def call(self, particles, threads, steps, first, *more):
        arguments = [str(particles), str(threads), str(steps)]
        if self.folder:
            kept = self.folder / str(particles)
            kept.mkdir(exist_ok=True)
            arguments.append(str(kept))
        command = [*first, sys.executable, str(self.script), *arguments, *map(str, more)]
        out = run(command, {"OMP_NUM_THREADS": str(threads)})
        line = next((line for line in out.splitlines() if line.startswith('{"')), None)
        if line is None:
            raise Failed(f"no result from {self.script.name}: {out[-2000:]}")
        result = json.loads(line)
        self.version = result["version"]
        return result

    def time(self, particles, threads, steps, first):
        return self.call(particles, threads, steps, first)

    def simulate(self, particles, threads, duration, first):
        result = self.call(particles, threads, 0, first, duration)
        result["steps"] = round(result["time"] / result["step"])
        result["mean"] = statistics.fmean(result["windows"])
        return result


def problems(name, particles, result):
    """What is wrong with where a run's particles are; an empty list if nothing."""
    counts, first = dam.lattice(particles)
    expected = counts[0] * counts[1] * counts[2]
    start = first[1] + (counts[1] - 1) * dam.spacing(particles) / 2
    fall = -dam.GRAVITY * result["time"] ** 2 / 2
    # A column between walls falls a good part as fast as a free body, and never faster.
    fell = (start - result["height"]) / fall
    found = []
    if result["particles"] != expected:
        found.append(f"{name}: {result['particles']} particles, {expected} expected")
    if not NEIGHBORS[0] <= result["neighbors"] <= NEIGHBORS[1]:
        found.append(f"{name}: {result['neighbors']:.1f} neighbours on average")
    if not 0.2 <= fell <= 1.05:
        found.append(f"{name}: fell {fell:.2f} of a free fall")
    if result["front"] > dam.TANK[0] + 2 * dam.spacing(particles):
        found.append(f"{name}: front at {result['front']:.2f} m, outside the tank")
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--particles", default="60000,250000", help="wanted counts [default: %(default)s]")
    parser.add_argument("--threads", default="2,1", help="numbers of threads [default: %(default)s]")
    parser.add_argument("--rounds", type=int, default=3, help="rounds of all programs [default: %(default)s]")
    parser.add_argument("--steps", type=int, default=24, help="timed steps a round [default: %(default)s]")
    parser.add_argument(
        "--flow",
        type=float,
        default=0.25,
        metavar="SECONDS",
        help="also run the first count this long, for the mean step of a moving flow; 0: not [default: %(default)s]",
    )
    built = ROOT / "target" / "release"
    parser.add_argument("--undine", type=pathlib.Path, default=built / "undine", help="the binary")
    parser.add_argument("--speed", type=pathlib.Path, help="the built benchmark `speed` [default: as cargo has it]")
    parser.add_argument("--json", action="store_true", help="print one JSON object and nothing else")
    options = parser.parse_args()
    sizes = [int(n) for n in options.particles.split(",")]
    threads = [int(n) for n in options.threads.split(",")]
    if options.steps < dam.WINDOW or options.rounds < 1:
        parser.error(f"at least one round and {dam.WINDOW} steps")
    options.speed = options.speed or built_bench("speed")
    for path in (options.undine, options.speed):
        if not path.is_file():
            print(f"{path} is missing; build it as the head of this file says", file=sys.stderr)
            return 2

    def say(text=""):
        if not options.json:
            print(text, flush=True)

    def progress(text):
        if sys.stderr.isatty():
            print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)

    first = priority()
    failures, skipped, rows, flow = [], [], [], []
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        programs = {"undine": Undine(options, folder)}
        for key, (module, package) in PACKAGES.items():
            if importlib.util.find_spec(module) is None:
                skipped.append(f"{NAMES[key]}: skipped, not installed (pip install {package})")
            elif key == "taichi":
                programs[key] = Peer("taichi_wcsph.py")
            else:
                programs[key] = Peer("splishsplash_wcsph.py", folder)

        for size in sizes:
            for count in threads:
                windows = {key: [] for key in programs}
                last = {}
                for turn in range(options.rounds):
                    for key in list(programs):
                        progress(f"{size} particles, {count} threads, round {turn + 1}: {NAMES[key]}")
                        try:
                            last[key] = programs[key].time(size, count, options.steps, first)
                            windows[key] += last[key]["windows"]
                        except Failed as why:
                            failures.append(str(why))
                if windows["undine"]:
                    # Undine's example does not say where its particles are; a run as long as the peers' does.
                    until = next((r["time"] for r in last.values() if "time" in r), 0.01)
                    last["undine"].update(programs["undine"].simulate(size, count, until, first))
                    if last["undine"]["timed_particles"] != last["undine"]["particles"]:
                        failures.append("Undine: the timed run has another number of particles")
                for key, result in last.items():
                    failures += problems(f"{NAMES[key]}, {size}, {count} threads", size, result)
                    rows.append(
                        {
                            "peer": key,
                            "particles": result["particles"],
                            "threads": count,
                            "median_ms": statistics.median(windows[key]),
                            "min_ms": min(windows[key]),
                            "windows": len(windows[key]),
                            "neighbors": result["neighbors"],
                            "step_s": result["step"],
                            "time_s": result["time"],
                            "height_m": result["height"],
                            "wanted": size,
                        }
                    )
        if options.flow > 0:
            for key in programs:
                progress(f"{sizes[0]} particles for {options.flow} s: {NAMES[key]}")
                try:
                    result = programs[key].simulate(sizes[0], threads[0], options.flow, first)
                except Failed as why:
                    failures.append(str(why))
                    continue
                failures += problems(f"{NAMES[key]}, {options.flow} s", sizes[0], result)
                flow.append({"peer": key, "threads": threads[0], **result})
                flow[-1].pop("windows", None)
        progress("")

    for row in rows:
        ours = next(
            (r for r in rows if r["peer"] == "undine" and (r["wanted"], r["threads"]) == (row["wanted"], row["threads"])),
            None,
        )
        row["ratio_median"] = row["median_ms"] / ours["median_ms"] if ours else None
        row["ratio_min"] = row["min_ms"] / ours["min_ms"] if ours else None
    for row in flow:
        row["ratio"] = row["mean"] / flow[0]["mean"] if flow[0]["peer"] == "undine" else None

    header = {
        "processor": processor(),
        "cores": os.cpu_count(),
        "system": f"{platform.system()} {platform.machine()}, Python {platform.python_version()}",
        "versions": {NAMES[key]: program.version for key, program in programs.items()},
        "priority": " ".join(first) or "none: other load counts",
        "load": os.getloadavg()[0],
        "rounds": options.rounds,
        "window_steps": dam.WINDOW,
        "warm_up_steps": dam.WARM_UP,
    }
    if options.json:
        print(json.dumps({**header, "rows": rows, "flow": flow, "skipped": skipped, "failures": failures}, indent=2))
        return 1 if failures else 0

    say(f"{header['processor']}, {header['cores']} cores; {header['system']}")
    say("; ".join(f"{name} {version}" for name, version in header["versions"].items()))
    say(
        f"priority: {header['priority']}; load average at the end {header['load']:.1f}; "
        f"{options.rounds} alternating rounds; windows of {dam.WINDOW} steps after {dam.WARM_UP} of warm-up"
    )
    say("Other programs may have shared the cores: compare ratios within this run, not times with another run's.")
    for line in skipped:
        say(line)
    say()
    say(
        f"{'peer':21} {'particles':>9} {'threads':>7} {'median ms':>9} {'min ms':>8} "
        f"{'ratio (median)':>14} {'ratio (min)':>11} {'neighbours':>10} {'dt ms':>6}"
    )
    for row in rows:
        ratios = [f"{row[k]:.2f}" if row[k] else "-" for k in ("ratio_median", "ratio_min")]
        say(
            f"{NAMES[row['peer']]:21} {row['particles']:9} {row['threads']:7} {row['median_ms']:9.2f} "
            f"{row['min_ms']:8.2f} {ratios[0]:>14} {ratios[1]:>11} {row['neighbors']:10.1f} {row['step_s'] * 1e3:6.3f}"
        )
    if flow:
        say()
        say(f"The first {options.flow} s at {flow[0]['particles']} particles, {flow[0]['threads']} threads, one run each:")
        say(f"{'peer':21} {'mean ms':>9} {'ratio':>6} {'steps':>6} {'neighbours':>10} {'mean height m':>13} {'front m':>8}")
        for row in flow:
            say(
                f"{NAMES[row['peer']]:21} {row['mean']:9.2f} {row['ratio'] or float('nan'):6.2f} {row['steps']:6} "
                f"{row['neighbors']:10.1f} {row['height']:13.3f} {row['front']:8.3f}"
            )
    say()
    for line in failures:
        say(f"FAILED {line}")
    if not failures:
        say("All runs hold the particles and neighbours they should, and fall.")
    return 1 if failures else 0


sys.path.insert(0, str(PEERS))
try:
    import dam_break as dam
    from readers import read_plain_ply, stack
except ImportError as missing:
    sys.exit(f"{missing}; pip install numpy")

if __name__ == "__main__":
    sys.exit(main())
