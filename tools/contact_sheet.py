#!/usr/bin/env python3
"""A contact sheet of a run: particles of a few frames, coloured by speed or fluid, seen by the scene's camera.

    pip install numpy matplotlib
    undine run dam-break -o out
    python3 tools/contact_sheet.py out sheet.png --frames 0,20,40,120

Particles are drawn as shaded discs, the far ones first. Without --frames, four moments spread over the run.
"""

import argparse
import pathlib
import tomllib

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np


def read_ply(path):
    """The vertices of a binary little-endian PLY file as a record array."""
    types = {"float": "<f4", "double": "<f8", "uchar": "u1", "uint": "<u4", "int": "<i4"}
    data = path.read_bytes()
    end = data.index(b"end_header\n") + len(b"end_header\n")
    columns, count, element = [], 0, None
    for line in data[:end].decode("ascii").splitlines():
        words = line.split()
        if words[0] == "element":
            element = words[1]
            count = int(words[2]) if element == "vertex" else count
        elif words[0] == "property" and element == "vertex":
            columns.append((words[2], types[words[1]]))
    return np.frombuffer(data, np.dtype(columns), count, end)


class Camera:
    """A pinhole camera, y up; without one in the scene it frames the points."""

    def __init__(self, scene, points, aspect):
        camera = scene.get("camera")
        if camera:
            self.eye = np.array(camera["position"], float)
            target = np.array(camera["target"], float)
            fov = camera.get("fov", 40.0)
        else:
            low, high = points.min(0), points.max(0)
            target = 0.5 * (low + high)
            self.eye = target + np.array([0.25, 0.35, 1.0]) * 2.0 * np.linalg.norm(high - low)
            fov = 40.0
        ahead = target - self.eye
        self.ahead = ahead / np.linalg.norm(ahead)
        side = np.cross(self.ahead, [0.0, 1.0, 0.0])
        self.side = side / np.linalg.norm(side)
        self.up = np.cross(self.side, self.ahead)
        self.scale = 1.0 / np.tan(0.5 * np.radians(fov))
        self.aspect = aspect

    def project(self, points):
        """Screen coordinates (-1..1 high, -aspect..aspect wide), depth in m."""
        d = np.asarray(points, float) - self.eye
        depth = d @ self.ahead
        shown = np.where(depth > 1e-9, depth, np.nan)
        return self.scale * (d @ self.side) / shown, self.scale * (d @ self.up) / shown, depth


def box_edges(low, high):
    corners = [np.array([(low, high)[i >> a & 1][a] for a in range(3)]) for i in range(8)]
    return [np.array([corners[i], corners[i | 1 << a]]) for i in range(8) for a in range(3) if not i >> a & 1]


def circle(center, axis, radius):
    axis = np.array(axis, float) / np.linalg.norm(axis)
    u = np.cross(axis, [1.0, 0.0, 0.0] if abs(axis[0]) < 0.9 else [0.0, 1.0, 0.0])
    u /= np.linalg.norm(u)
    v = np.cross(axis, u)
    turn = np.linspace(0.0, 2.0 * np.pi, 65)[:, None]
    return np.array(center, float) + radius * (np.cos(turn) * u + np.sin(turn) * v)


def outlines(scene):
    """Lines that show walls."""
    lines = []
    if "domain" in scene:
        lines += box_edges(np.array(scene["domain"]["min"], float), np.array(scene["domain"]["max"], float))
    for boundary in scene.get("boundary", []):
        (kind, shape), = ((k, v) for k, v in boundary["shape"].items() if k != "inside")
        if kind == "box":
            lines += box_edges(np.array(shape["min"], float), np.array(shape["max"], float))
        elif kind == "sphere":
            lines += [circle(shape["center"], a, shape["radius"]) for a in np.eye(3)]
        elif kind == "cylinder":
            axis = np.array(shape.get("axis", [0, 1, 0]), float)
            axis /= np.linalg.norm(axis)
            height = shape["height"]
            base = np.array(shape["base"], float) if "base" in shape else shape["center"] - 0.5 * height * axis
            rims = [circle(base + f * height * axis, axis, shape["radius"]) for f in (0, 0.5, 1)]
            lines += rims + [np.array([rims[0][i], rims[2][i]]) for i in range(0, 64, 16)]
    return lines


def draw(axes, scene, rows, camera, size, top_speed, by_fluid):
    for line in outlines(scene):
        x, y, _ = camera.project(line)
        axes.plot(x, y, color="#9aa4ad", lw=0.6, zorder=0)
    points = np.stack([rows["x"], rows["y"], rows["z"]], 1)
    x, y, depth = camera.project(points)
    order = np.argsort(-depth)
    if by_fluid:
        table = np.array([f.get("color", [0.1, 0.4, 0.8]) for f in scene["fluid"]]) ** (1 / 2.2)
        color = table[rows["fluid"]]
    else:
        speed = np.sqrt(rows["vx"] ** 2 + rows["vy"] ** 2 + rows["vz"] ** 2)
        color = plt.get_cmap("YlGnBu_r")(np.clip(speed / top_speed, 0, 1) * 0.9)[:, :3]
    # Farther is darker.
    near, far = depth.min(), depth.max()
    color = color * (1.0 - 0.45 * (depth - near) / max(far - near, 1e-9))[:, None]
    spacing = scene["model"]["spacing"]
    # Diameter of one spacing, in points of the figure, squared.
    pixels = (spacing * camera.scale / depth * 0.5 * size * 72) ** 2
    axes.scatter(x[order], y[order], s=pixels[order], c=np.clip(color[order], 0, 1), lw=0, zorder=1)
    axes.set_xlim(-camera.aspect, camera.aspect)
    axes.set_ylim(-1, 1)
    axes.set_aspect("equal")
    axes.axis("off")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=pathlib.Path, help="run folder")
    parser.add_argument("picture", type=pathlib.Path, help="PNG to write")
    parser.add_argument("--frames", help="frame numbers, comma-separated")
    parser.add_argument("--columns", type=int, default=2)
    parser.add_argument("--width", type=float, default=4.0, help="of one picture, inches at 100 dpi")
    parser.add_argument("--aspect", type=float, default=1.6, help="width over height")
    parser.add_argument("--top-speed", type=float, help="speed of the lightest colour, m/s")
    parser.add_argument("--fluids", action="store_true", help="colour by fluid instead of speed")
    options = parser.parse_args()

    scene = tomllib.loads((options.run / "scene.toml").read_text())
    files = sorted(options.run.glob("particles_*.ply"))
    if not files:
        parser.error(f"no particles_*.ply in {options.run}")
    if options.frames:
        files = [options.run / f"particles_{int(n):04}.ply" for n in options.frames.split(",")]
    else:
        files = [files[round(k * (len(files) - 1) / 3)] for k in range(4)]
    frames = [read_ply(f) for f in files]
    speeds = [np.sqrt(r["vx"] ** 2 + r["vy"] ** 2 + r["vz"] ** 2) for r in frames if len(r)]
    top_speed = options.top_speed or max(1e-9, max(np.percentile(s, 99) for s in speeds))
    everything = np.concatenate([np.stack([r["x"], r["y"], r["z"]], 1) for r in frames])
    camera = Camera(scene, everything, options.aspect)

    rows = -(-len(frames) // options.columns)
    height = options.width / options.aspect
    figure, axes = plt.subplots(
        rows, options.columns, figsize=(options.width * options.columns, height * rows), squeeze=False
    )
    figure.subplots_adjust(0, 0, 1, 1, 0.01, 0.01)
    rate = scene.get("time", {}).get("frame_rate", 60)
    for axis in axes.flat:
        axis.axis("off")
    for axis, file, particles in zip(axes.flat, files, frames):
        if len(particles):
            draw(axis, scene, particles, camera, height, top_speed, options.fluids)
        time = int(file.stem.split("_")[1]) / rate
        axis.text(0.02, 0.96, f"{time:.2f} s, {len(particles)}", transform=axis.transAxes, va="top", fontsize=9)
    figure.savefig(options.picture, dpi=100, facecolor="white")


if __name__ == "__main__":
    main()
