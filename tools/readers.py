"""Readers that the checks share: formats by their definition, in a few lines each, and VTK's reader of VTP."""

import struct

import numpy as np

PLY_TYPES = {"float": "<f4", "double": "<f8", "uchar": "u1", "uint": "<u4"}


def stack(rows, names):
    return np.stack([rows[n] for n in names], axis=1)


def ply_head(data):
    """Columns of the vertices, counts by element, comments, and where the data begin."""
    end = data.index(b"end_header\n") + len(b"end_header\n")
    lines = data[:end].decode("ascii").splitlines()
    assert lines[:2] == ["ply", "format binary_little_endian 1.0"], lines[:2]
    columns, counts, element = [], {}, None
    for line in lines:
        words = line.split()
        if words[0] == "element":
            element = words[1]
            counts[element] = int(words[2])
        elif words[0] == "property" and element == "vertex":
            columns.append((words[2], PLY_TYPES[words[1]]))
    comments = [line.split(None, 1)[1] for line in lines if line.startswith("comment ")]
    return columns, counts, comments, end


def read_plain_ply(path):
    """PLY by its definition: columns of the vertices, as arrays, the comments, and how many bytes follow."""
    data = path.read_bytes()
    columns, counts, comments, end = ply_head(data)
    rows = np.frombuffer(data, np.dtype(columns), counts.get("vertex", 0), end)
    return rows, comments, len(data) - end - rows.nbytes


def read_surface(path):
    """A PLY surface by its definition: vertex columns and triangles."""
    data = path.read_bytes()
    columns, counts, _, end = ply_head(data)
    rows = np.frombuffer(data, np.dtype(columns), counts["vertex"], end)
    face = np.dtype([("n", "u1"), ("v", "<u4", 3)])
    faces = np.frombuffer(data, face, counts["face"], end + rows.nbytes)
    assert end + rows.nbytes + faces.nbytes == len(data) and np.all(faces["n"] == 3)
    return rows, faces["v"]


def read_plain_bgeo(path):
    """Classic BGEO version 5 by its definition: attributes by name."""
    data = path.read_bytes()
    at = 0

    def take(form):
        nonlocal at
        values = struct.unpack_from(">" + form, data, at)
        at += struct.calcsize(">" + form)
        return values

    assert take("4sc") == (b"Bgeo", b"V")
    version, points, prims, pgroups, rgroups, pattrs, vattrs, rattrs, attrs = take("9i")
    assert version == 5 and (prims, pgroups, rgroups, vattrs, rattrs, attrs) == (0,) * 6
    columns = [("P", ">f4", 3), ("w", ">f4", 1)]
    for _ in range(pattrs):
        (length,) = take("H")
        (name,) = take(f"{length}s")
        size, kind = take("Hi")
        take(f"{size}i")
        columns.append((name.decode(), {0: ">f4", 1: ">i4", 5: ">f4"}[kind], size))
    rows = np.frombuffer(data, np.dtype([(n, t, s) if s > 1 else (n, t) for n, t, s in columns]), points, at)
    assert data[at + rows.nbytes:] == b"\x00\xff", "the end is not 00 ff"
    assert np.all(rows["w"] == 1)
    return rows


def read_vtp(check, path):
    """VTP as VTK reads it, which must find nothing wrong; None where VTK is not installed."""
    if not check.module("vtk"):
        return None
    from vtkmodules.vtkIOXML import vtkXMLPolyDataReader

    reader = vtkXMLPolyDataReader()
    reader.SetFileName(str(path))
    errors = []
    reader.AddObserver("ErrorEvent", lambda *_: errors.append(1))
    reader.Update()
    check.same(f"{path.name}: vtk errors", len(errors), 0)
    return reader.GetOutput()
