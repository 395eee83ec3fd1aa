#!/usr/bin/env python3
"""Opens the files of a run folder with other people's programs and compares them.

    pip install numpy meshio trimesh vtk usd-core mitsuba pyradiance;  apt install povray
    cargo run --release -p undine --example export_sample -- DIR
    python3 tools/check_exports.py DIR [--reader target/release/examples/particles_to_ply]

PLY particles are read by meshio, trimesh and VTK, VTP and PVD by VTK, BGEO by partio where it is installed and by a
reader of its own here. Surfaces: see check_surfaces.py. With --reader, files written by other people's programs are
read by Undine: see check_imports.py. A program that is not installed is skipped and named; --strict makes that a
failure. Exit 0 if all agree.
"""

import argparse
import pathlib
import sys
import xml.etree.ElementTree as ET

import numpy as np

from check_imports import check_imports
from check_surfaces import check_surfaces
from readers import read_plain_bgeo, read_plain_ply, read_vtp, stack

SCALARS = ["density", "pressure", "fluid", "id"]


class Checker:
    def __init__(self):
        self.failures, self.skipped, self.checks = [], set(), 0

    def same(self, what, a, b):
        self.checks += 1
        a, b = np.asarray(a), np.asarray(b)
        if a.shape != b.shape or not np.array_equal(a, b, equal_nan=a.dtype.kind == "f"):
            self.failures.append(what)
            print(f"DIFFERS {what}: {a.shape} {b.shape}")

    def module(self, name):
        try:
            return __import__(name, fromlist=["x"])
        except ImportError:
            return self.missing(name)

    def missing(self, name):
        if name not in self.skipped:
            print(f"skipped: {name} is not installed")
        self.skipped.add(name)
        return None


def check_ply(check, path):
    rows, comments, rest = read_plain_ply(path)
    expected = ["x", "y", "z", "vx", "vy", "vz", "density", "pressure", "fluid", "id"]
    names = list(rows.dtype.names)
    if names[10:]:
        expected += ["nx", "ny", "nz"]
    check.same(f"{path.name}: columns", names, expected)
    check.same(f"{path.name}: end of file", rest, 0)
    check.same(f"{path.name}: comments", [c.split()[0] for c in comments], ["undine", "time", "frame"])
    position = stack(rows, "xyz")
    if check.module("meshio"):
        import meshio

        mesh = meshio.read(path)
        check.same(f"{path.name}: meshio points", mesh.points, position)
        for name in names[3:]:
            check.same(f"{path.name}: meshio {name}", mesh.point_data[name], rows[name])
    if check.module("trimesh") and len(rows):
        import trimesh

        cloud = trimesh.load(path, process=False)
        check.same(f"{path.name}: trimesh points", np.asarray(cloud.vertices, np.float32), position)
    if check.module("vtk"):
        from vtkmodules.util.numpy_support import vtk_to_numpy
        from vtkmodules.vtkIOPLY import vtkPLYReader

        reader = vtkPLYReader()
        reader.SetFileName(str(path))
        reader.Update()
        points = reader.GetOutput().GetPoints()
        if len(rows):
            check.same(f"{path.name}: vtk points", vtk_to_numpy(points.GetData()), position)
    return rows, float(comments[1].split()[1])


def check_vtp(check, path, rows, time):
    data = read_vtp(check, path)
    if data is None:
        return
    from vtkmodules.util.numpy_support import vtk_to_numpy

    count = len(rows)
    check.same(f"{path.name}: points", data.GetNumberOfPoints(), count)
    check.same(f"{path.name}: vertices", data.GetNumberOfVerts(), count)
    check.same(f"{path.name}: time", vtk_to_numpy(data.GetFieldData().GetArray("TimeValue")), [time])
    if not count:
        return
    check.same(f"{path.name}: positions", vtk_to_numpy(data.GetPoints().GetData()), stack(rows, "xyz"))
    verts = data.GetVerts()
    check.same(f"{path.name}: connectivity", vtk_to_numpy(verts.GetConnectivityArray()), np.arange(count))
    check.same(f"{path.name}: offsets", vtk_to_numpy(verts.GetOffsetsArray()), np.arange(count + 1))
    fields = data.GetPointData()
    check.same(f"{path.name}: velocity", vtk_to_numpy(fields.GetArray("velocity")), stack(rows, ["vx", "vy", "vz"]))
    for name in SCALARS:
        array = vtk_to_numpy(fields.GetArray(name))
        check.same(f"{path.name}: {name}", array, rows[name])
        check.same(f"{path.name}: type of {name}", array.dtype.str, rows[name].dtype.str)
    if "nx" in rows.dtype.names:
        check.same(f"{path.name}: normals", vtk_to_numpy(fields.GetNormals()), stack(rows, ["nx", "ny", "nz"]))


def check_bgeo(check, path, rows):
    points = read_plain_bgeo(path)
    check.same(f"{path.name}: positions", points["P"], stack(rows, "xyz"))
    check.same(f"{path.name}: v", points["v"], stack(rows, ["vx", "vy", "vz"]))
    for name in SCALARS:
        column = points[name]
        check.same(f"{path.name}: {name}", column.astype("u4") if name == "id" else column, rows[name])
    if "nx" in rows.dtype.names:
        check.same(f"{path.name}: N", points["N"], stack(rows, ["nx", "ny", "nz"]))
    if check.module("partio"):
        import partio

        data = partio.read(str(path))
        check.same(f"{path.name}: partio count", data.numParticles(), len(rows))
        for name, columns in [("position", "xyz"), ("v", ["vx", "vy", "vz"]), ("density", ["density"])]:
            attribute = data.attributeInfo(name)
            values = [data.get(attribute, i) for i in range(min(len(rows), 1000))]
            check.same(f"{path.name}: partio {name}", np.float32(values), stack(rows, columns)[:1000])


def check_pvd(check, path, times):
    listed = {d.get("file"): float(d.get("timestep")) for d in ET.parse(path).getroot().iter("DataSet")}
    check.same(f"{path.name}: files", sorted(listed), sorted(times))
    for name, time in times.items():
        check.same(f"{path.name}: time of {name}", listed.get(name), time)


def check_solids(check, path):
    rows, _, _ = read_plain_ply(path)
    check.same(f"{path.name}: columns", list(rows.dtype.names), ["x", "y", "z", "vx", "vy", "vz", "body"])
    if check.module("meshio"):
        import meshio

        mesh = meshio.read(path)
        check.same(f"{path.name}: meshio points", mesh.points, stack(rows, "xyz"))
        for cells in mesh.cells:
            # A triangle joins nodes of one body.
            bodies = rows["body"][cells.data]
            check.same(f"{path.name}: bodies of triangles", bodies.min(axis=1), bodies.max(axis=1))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--reader", help="the example particles_to_ply, to check what Undine reads")
    parser.add_argument("--strict", action="store_true", help="fail when a program other than partio is missing")
    options = parser.parse_args()
    check, times = Checker(), {}
    plys = sorted(options.folder.glob("particles_*.ply"))
    if not plys:
        sys.exit(f"no particles_*.ply in {options.folder}")
    for ply in plys:
        rows, time = check_ply(check, ply)
        vtp, bgeo = ply.with_suffix(".vtp"), ply.with_suffix(".bgeo")
        if vtp.exists():
            times[vtp.name] = time
            check_vtp(check, vtp, rows, time)
        if bgeo.exists():
            check_bgeo(check, bgeo, rows)
    if times:
        check_pvd(check, options.folder / "particles.pvd", times)
    for path in sorted(options.folder.glob("solids_*.ply")):
        check_solids(check, path)
    check_surfaces(check, options.folder)
    if options.reader:
        check_imports(check, options.reader, options.folder)
    missing = check.skipped - {"partio"}
    print(f"{check.checks} checks, {len(check.failures)} differ")
    sys.exit(1 if check.failures or (options.strict and missing) else 0)


if __name__ == "__main__":
    main()
