#!/usr/bin/env python3
"""Times a dam break on Undine's grid beside Blender's Mantaflow, on this machine, in one run.

    cargo build --release && apt install blender
    python3 tools/compare_mantaflow.py [--cells 64] [--frames 25] [--rounds 5] [--threads 2] [--json]

The same tank (2 x 1 x 1 m, CELLS x CELLS/2 x CELLS/2 cells) and column, as many frames of 1/25 s, each program in a process of
its own, in turns, without a mesh and with one; both write what they compute. Mantaflow's particles are a band along the
surface, Undine's markers fill the liquid. The best of the rounds is shown. Exit 2 if a program is missing.
"""

import argparse
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
RATE = 25
SCENE = """
gravity = [0, -9.81, 0]
[time]
duration = 60
frame_rate = {rate}
[domain]
min = [0, 0, 0]
max = [2, 1, 1]
[model]
kind = "mac"
spacing = {spacing}
[[fluid]]
shape = {{ box = {{ min = [0, 0, 0], max = [0.5, 0.96875, 1] }} }}
"""


def undine(program, cells, frames, threads, mesh):
    with tempfile.TemporaryDirectory() as folder:
        scene = pathlib.Path(folder, "dam.toml")
        scene.write_text(SCENE.format(rate=RATE, spacing=2 / cells))
        command = [program, "run", scene, "-o", pathlib.Path(folder, "out"), "--frames", frames, "--threads", threads]
        command += ["--json", "--export", "ply", *(["--surface"] if mesh else [])]
        begin = time.perf_counter()
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=True)
        return time.perf_counter() - begin, json.loads(done.stdout)


def mantaflow(cells, frames, threads, mesh):
    script = ROOT / "tools" / "peers" / "mantaflow_dam.py"
    command = ["blender", "-b", "-t", str(threads), "-P", script, "--", str(cells), str(frames), str(RATE)]
    done = subprocess.run([*command, "mesh" if mesh else "none"], capture_output=True, text=True, check=True)
    line = next(line for line in done.stdout.splitlines() if line.startswith("RESULT "))
    result = json.loads(line.removeprefix("RESULT "))
    return result["data"] + (result["mesh"] or 0.0), result


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cells", type=int, default=64, help="cells along the tank")
    parser.add_argument("--frames", type=int, default=25, help="frames of 1/25 s")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    program = ROOT / "target" / "release" / "undine"
    if not program.exists() or not shutil.which("blender"):
        print("needs target/release/undine (cargo build --release) and blender", file=sys.stderr)
        return 2
    best = {}
    for _ in range(args.rounds):
        for mesh in (False, True):
            for name in ("undine", "mantaflow"):
                if name == "undine":
                    seconds, _ = undine(program, args.cells, args.frames, args.threads, mesh)
                else:
                    seconds, _ = mantaflow(args.cells, args.frames, args.threads, mesh)
                each = 1e3 * seconds / args.frames
                best[name, mesh] = min(each, best.get((name, mesh), each))
    rows = []
    for mesh in (False, True):
        ours, theirs = best["undine", mesh], best["mantaflow", mesh]
        rows.append({"mesh": mesh, "undine_ms": ours, "mantaflow_ms": theirs, "ratio": theirs / ours})
    if args.json:
        print(json.dumps({"cells": args.cells, "frames": args.frames, "threads": args.threads, "rows": rows}, indent=2))
        return 0
    half = args.cells // 2
    print(f"{args.cells} x {half} x {half} cells, {args.frames} frames of 1/{RATE} s, {args.threads} threads, ms a frame")
    for row in rows:
        what = "with a mesh" if row["mesh"] else "without mesh"
        print(f"{what:13} Undine {row['undine_ms']:7.1f}  Mantaflow {row['mantaflow_ms']:7.1f}  ratio {row['ratio']:.2f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
