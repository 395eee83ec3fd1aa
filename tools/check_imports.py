"""Writes particle files with other people's programs and has Undine read them; a part of check_exports.py.

VTK writes VTP, VTU (text, base64, appended raw and base64, packed or not) and legacy files; meshio writes VTU, VTK and
PLY; numpy writes NPY, raw and text; BGEO is checked by the other direction.
"""

import gzip
import pathlib
import subprocess
import tempfile

import numpy as np

from readers import read_plain_ply, stack


def cloud():
    random = np.random.default_rng(1)
    count = 5000
    return {
        "position": random.normal(size=(count, 3)).astype("f4"),
        "velocity": random.normal(size=(count, 3)).astype("f4"),
        "density": random.uniform(990, 1010, count).astype("f4"),
        "id": random.permutation(count).astype("i4"),
    }


def vtk_files(work, data, double):
    from vtkmodules.util.numpy_support import numpy_to_vtk
    from vtkmodules.vtkCommonCore import vtkPoints
    from vtkmodules.vtkCommonDataModel import vtkCellArray, vtkPolyData, vtkUnstructuredGrid
    from vtkmodules.vtkIOLegacy import vtkPolyDataWriter, vtkUnstructuredGridWriter
    from vtkmodules.vtkIOXML import vtkXMLPolyDataWriter, vtkXMLUnstructuredGridWriter

    kind = "f8" if double else "f4"
    points = vtkPoints()
    points.SetData(numpy_to_vtk(data["position"].astype(kind), deep=1))

    def fill(grid):
        grid.SetPoints(points)
        for name in ["velocity", "density", "id"]:
            values = data[name] if name == "id" else data[name].astype(kind)
            array = numpy_to_vtk(values, deep=1)
            array.SetName(name)
            grid.GetPointData().AddArray(array)
        return grid

    poly = fill(vtkPolyData())
    verts = vtkCellArray()
    for i in range(len(data["position"])):
        verts.InsertNextCell(1, [i])
    poly.SetVerts(verts)
    grid = fill(vtkUnstructuredGrid())
    size = 8 * double
    for what, writer, ending in [(poly, vtkXMLPolyDataWriter, "vtp"), (grid, vtkXMLUnstructuredGridWriter, "vtu")]:
        for mode in ["Ascii", "Binary", "Appended", "AppendedRaw"]:
            for packed in [False, True]:
                for wide in [False, True]:
                    path = work / f"{mode}{'-zlib' * packed}{'-64' * wide}-{size}.{ending}"
                    w = writer()
                    w.SetFileName(str(path))
                    w.SetInputData(what)
                    getattr(w, f"SetDataModeTo{mode.removesuffix('Raw')}")()
                    if mode.startswith("Appended"):
                        w.SetEncodeAppendedData(mode == "Appended")
                    w.SetCompressorTypeToZLib() if packed else w.SetCompressorTypeToNone()
                    w.SetHeaderTypeToUInt64() if wide else w.SetHeaderTypeToUInt32()
                    w.SetBlockSize(4096 * 8)
                    w.Write()
                    yield path
    for what, writer, name in [(poly, vtkPolyDataWriter, "poly"), (grid, vtkUnstructuredGridWriter, "grid")]:
        for binary in [False, True]:
            for version in [42, 51]:
                path = work / f"{name}-{version}{'-binary' * binary}-{size}.vtk"
                w = writer()
                w.SetFileName(str(path))
                w.SetInputData(what)
                w.SetFileVersion(version)
                w.SetFileTypeToBinary() if binary else w.SetFileTypeToASCII()
                w.Write()
                yield path


def meshio_files(work, data):
    import meshio

    cells = [("vertex", np.arange(len(data["position"])).reshape(-1, 1))]
    fields = {name: data[name] for name in ["velocity", "density", "id"]}
    mesh = meshio.Mesh(data["position"], cells, point_data=fields)
    for name, options in [
        ("meshio.vtu", {}),
        ("meshio-text.vtu", {"binary": False}),
        ("meshio-plain.vtu", {"compression": None}),
        ("meshio.vtk", {"file_format": "vtk"}),
        ("meshio42.vtk", {"file_format": "vtk42"}),
        ("meshio-text.vtk", {"file_format": "vtk", "binary": False}),
    ]:
        mesh.write(work / name, **options)
        yield work / name


def numpy_files(work, data):
    position = data["position"]
    np.save(work / "c4.npy", position)
    np.save(work / "c8.npy", position.astype("f8"))
    np.save(work / "fortran.npy", np.asfortranarray(position.astype("f8")))
    np.save(work / "big.npy", position.astype(">f4"))
    position.astype("<f4").tofile(work / "raw.xyz")
    np.savetxt(work / "text.xyz", position, fmt="%.9g")
    yield from (work / name for name in ["c4.npy", "c8.npy", "fortran.npy", "big.npy", "raw.xyz", "text.xyz"])


def check_imports(check, reader, folder):
    data = cloud()
    with tempfile.TemporaryDirectory() as work:
        work = pathlib.Path(work)
        files = list(numpy_files(work, data))
        if check.module("vtk"):
            files += vtk_files(work, data, False)
            files += vtk_files(work, data, True)
        if check.module("meshio"):
            files += meshio_files(work, data)
        pairs = [(path, path.with_name(path.name + ".out.ply")) for path in files]
        run = subprocess.run([reader, *(str(p) for pair in pairs for p in pair)], capture_output=True, text=True)
        check.same(f"reader: {run.stderr.strip()}", run.returncode, 0)
        for path, out in pairs:
            if not out.exists():
                check.same(f"{path.name}: read", False, True)
                continue
            rows, _, _ = read_plain_ply(out)
            # VTK's legacy text has six digits of a float.
            rough = path.suffix == ".vtk" and path.stem.endswith(("42-0", "51-0"))

            def same(what, ours, theirs):
                if rough and np.allclose(ours, theirs, rtol=1e-5, atol=0):
                    ours = theirs
                check.same(f"{path.name}: {what}", ours, theirs)

            same("positions", stack(rows, "xyz"), data["position"])
            if path.suffix not in (".npy", ".xyz"):
                same("velocity", stack(rows, ["vx", "vy", "vz"]), data["velocity"])
                same("density", rows["density"], data["density"])
                same("id", rows["id"], data["id"].astype("u4"))
        # Our own, once more packed by Python.
        for bgeo in sorted(folder.glob("particles_*.bgeo"))[:1]:
            (work / "packed.bgeo").write_bytes(gzip.compress(bgeo.read_bytes()))
            out = work / "packed.ply"
            subprocess.run([reader, str(work / "packed.bgeo"), str(out)], check=True)
            ours, _, _ = read_plain_ply(out)
            rows, _, _ = read_plain_ply(bgeo.with_suffix(".ply"))
            check.same("packed.bgeo", ours, rows)
        print(f"{len(files)} files of other programs read")
