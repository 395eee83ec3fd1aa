"""Opens the surfaces of a run folder with other people's programs; a part of check_exports.py.

PLY: trimesh. OBJ: trimesh. VTP: VTK. USDA: usd-core. GLB: trimesh. POV-Ray: povray renders it. Mitsuba: mitsuba renders it.
Radiance: oconv and rpict (from the path, or as pyradiance brings them) render it.
"""

import json
import pathlib
import re
import shutil
import struct
import subprocess
import tempfile

import numpy as np

from readers import read_plain_ply, read_surface, read_vtp, stack

SIZE = (96, 54)


def volume(points, triangles):
    a, b, c = (points[triangles[:, k]].astype(float) for k in range(3))
    return np.einsum("ij,ij->i", a, np.cross(b, c)).sum() / 6


def near(check, what, a, b, tolerance):
    check.same(f"{what}: {a:.7g} is {b:.7g}", bool(abs(a - b) <= tolerance * max(abs(a), abs(b), 1e-30)), True)


def check_trimesh(check, path, rows, faces):
    if not check.module("trimesh"):
        return
    import trimesh

    if path.suffix == ".ply":
        mesh = trimesh.load(path, process=False)
        check.same(f"{path.name}: trimesh vertices", np.asarray(mesh.vertices, "f4"), stack(rows, "xyz"))
        check.same(f"{path.name}: trimesh triangles", mesh.faces, faces)
    else:
        # A mesh for each fluid, its vertices in an order of its own.
        loaded = trimesh.load(path, process=False)
        meshes = list(loaded.geometry.values()) if isinstance(loaded, trimesh.Scene) else [loaded]
        mesh = trimesh.util.concatenate(meshes)
        check.same(f"{path.name}: trimesh triangles", len(mesh.faces), len(faces))
        corners = stack(rows, "xyz")[faces].reshape(-1, 3)
        same = np.sort(np.asarray(mesh.vertices, "f4")[mesh.faces].reshape(-1, 3), axis=0)
        check.same(f"{path.name}: trimesh corners", same, np.sort(corners, axis=0))
    near(check, f"{path.name}: trimesh volume", mesh.volume, volume(stack(rows, "xyz"), faces), 1e-5)
    merged = mesh.copy()
    merged.merge_vertices(merge_norm=True)
    check.same(f"{path.name}: watertight", merged.is_watertight, True)


def check_vtp(check, path, rows, faces):
    data = read_vtp(check, path)
    if data is None:
        return
    from vtkmodules.util.numpy_support import vtk_to_numpy

    check.same(f"{path.name}: points", vtk_to_numpy(data.GetPoints().GetData()), stack(rows, "xyz"))
    corners = vtk_to_numpy(data.GetPolys().GetConnectivityArray())
    check.same(f"{path.name}: triangles", corners.reshape(-1, 3), faces)
    fields = data.GetPointData()
    check.same(f"{path.name}: normals", vtk_to_numpy(fields.GetNormals()), stack(rows, ["nx", "ny", "nz"]))
    check.same(f"{path.name}: velocity", vtk_to_numpy(fields.GetArray("velocity")), stack(rows, ["vx", "vy", "vz"]))
    if "fluid" in rows.dtype.names:
        check.same(f"{path.name}: fluid", vtk_to_numpy(fields.GetArray("fluid")), rows["fluid"])


def check_glb(check, path, rows, faces):
    data = path.read_bytes()
    magic, version, total, length, kind = struct.unpack_from("<4sIII4s", data)
    check.same(f"{path.name}: head", (magic, version, total, kind), (b"glTF", 2, len(data), b"JSON"))
    gltf = json.loads(data[20 : 20 + length])
    binary = data[28 + length :]
    for accessor in gltf["accessors"]:
        view = gltf["bufferViews"][accessor["bufferView"]]
        width = {"VEC3": 3, "SCALAR": 1}[accessor["type"]]
        dtype = {5126: "<f4", 5125: "<u4"}[accessor["componentType"]]
        values = np.frombuffer(binary, dtype, accessor["count"] * width, view["byteOffset"]).reshape(-1, width)
        check.same(f"{path.name}: view", (values.nbytes, view["byteOffset"] % 4), (view["byteLength"], 0))
        if "min" in accessor:
            check.same(f"{path.name}: least", values.min(axis=0), np.float32(accessor["min"]))
            check.same(f"{path.name}: greatest", values.max(axis=0), np.float32(accessor["max"]))
    extensions = {name for m in gltf["materials"] for name in m.get("extensions", {})}
    check.same(f"{path.name}: water refracts", "KHR_materials_transmission" in extensions, True)
    if not check.module("trimesh"):
        return
    import trimesh

    scene = trimesh.load(path)
    fluids = sorted(set(rows["fluid"])) if "fluid" in rows.dtype.names else [0]
    water = [scene.geometry[name] for name in list(scene.geometry)[: len(fluids)]]
    check.same(f"{path.name}: trimesh triangles", sum(len(m.faces) for m in water), len(faces))
    total = sum(volume(np.asarray(m.vertices), np.asarray(m.faces)) for m in water)
    near(check, f"{path.name}: trimesh volume", total, volume(stack(rows, "xyz"), faces), 1e-5)


def check_usda(check, folder, surfaces):
    if not check.module("pxr"):
        return
    from pxr import Usd, UsdGeom, UsdShade

    stage = Usd.Stage.Open(str(folder / "run.usda"))
    check.same("run.usda: errors", len(stage.GetCompositionErrors()), 0)
    check.same("run.usda: up", (UsdGeom.GetStageUpAxis(stage), UsdGeom.GetStageMetersPerUnit(stage)), ("Y", 1.0))
    check.same("run.usda: time codes", (stage.GetStartTimeCode(), stage.GetEndTimeCode()), (min(surfaces), max(surfaces)))
    mesh = UsdGeom.Mesh(stage.GetPrimAtPath("/Run/Surface"))
    check.same("run.usda: samples", mesh.GetPointsAttr().GetTimeSamples(), sorted(map(float, surfaces)))
    for frame, (rows, faces) in surfaces.items():
        at = Usd.TimeCode(frame)
        name = f"run.usda at {frame}"
        check.same(f"{name}: points", np.array(mesh.GetPointsAttr().Get(at)), stack(rows, "xyz"))
        check.same(f"{name}: corners", np.array(mesh.GetFaceVertexIndicesAttr().Get(at)), faces.reshape(-1))
        check.same(f"{name}: counts", np.array(mesh.GetFaceVertexCountsAttr().Get(at)), np.full(len(faces), 3))
        check.same(f"{name}: normals", np.array(mesh.GetNormalsAttr().Get(at)), stack(rows, ["nx", "ny", "nz"]))
        check.same(f"{name}: velocities", np.array(mesh.GetVelocitiesAttr().Get(at)), stack(rows, ["vx", "vy", "vz"]))
        check.same(f"{name}: normals are", mesh.GetNormalsInterpolation(), "vertex")
        valid, reason = UsdGeom.Mesh.ValidateTopology(
            mesh.GetFaceVertexIndicesAttr().Get(at), mesh.GetFaceVertexCountsAttr().Get(at), len(rows)
        )
        check.same(f"{name}: topology {reason}", valid, True)
        particles = folder / f"particles_{frame:04}.ply"
        if particles.exists():
            cloud = UsdGeom.Points(stage.GetPrimAtPath("/Run/Particles"))
            points, _, _ = read_plain_ply(particles)
            check.same(f"{name}: particles", np.array(cloud.GetPointsAttr().Get(at)), stack(points, "xyz"))
            ids = np.array(cloud.GetIdsAttr().Get(at)).astype("u4")
            check.same(f"{name}: ids", ids, points["id"])
            check.same(f"{name}: velocities of particles", np.array(cloud.GetVelocitiesAttr().Get(at)),
                       stack(points, ["vx", "vy", "vz"]))
    material = UsdShade.MaterialBindingAPI(mesh).ComputeBoundMaterial()[0]
    shader = material.ComputeSurfaceSource()[0]
    check.same("run.usda: material", shader.GetShaderId(), "UsdPreviewSurface")
    camera = UsdGeom.Camera(stage.GetPrimAtPath("/Run/Camera")).GetCamera(Usd.TimeCode(min(surfaces)))
    check.same("run.usda: camera", bool(camera.focalLength > 0), True)
    for prim in stage.Traverse():
        if prim.IsA(UsdGeom.Mesh) and "/Walls/" in str(prim.GetPath()):
            wall = UsdGeom.Mesh(prim)
            points = wall.GetPointsAttr().Get()
            valid, reason = UsdGeom.Mesh.ValidateTopology(
                wall.GetFaceVertexIndicesAttr().Get(), wall.GetFaceVertexCountsAttr().Get(), len(points)
            )
            check.same(f"run.usda: {prim.GetName()} {reason}", valid, True)
    moving = [p for p in stage.Traverse() if UsdGeom.Xformable(p).TransformMightBeTimeVarying()]
    print(f"run.usda: {len(surfaces)} frames, moving: {', '.join(p.GetName() for p in moving) or 'nothing'}")
    try:
        from pxr import UsdValidation
    except ImportError:
        check.missing("pxr.UsdValidation")
        return
    validators = UsdValidation.ValidationRegistry().GetOrLoadAllValidators()
    problems = UsdValidation.ValidationContext(validators).Validate(stage)
    for problem in problems:
        print("run.usda:", problem.GetMessage())
    check.same(f"run.usda: {len(validators)} validators", len(problems), 0)


def lit(check, what, picture):
    """A picture of something: not black, not one colour."""
    picture = np.asarray(picture, float)
    check.same(f"{what}: size", picture.shape[:2], SIZE[::-1])
    check.same(f"{what}: numbers", bool(np.all(np.isfinite(picture))), True)
    check.same(f"{what}: not black (mean {picture.mean():.3f})", bool(picture.mean() > 0.05), True)
    check.same(f"{what}: not flat (deviation {picture.std():.3f})", bool(picture.std() > 0.02), True)
    return picture.mean(axis=2)


def render_pov(check, folder, frame, work):
    povray = shutil.which("povray")
    if not povray:
        return check.missing("povray")
    out = work / "pov.ppm"
    command = [povray, "scene.pov", f"+KFI{frame}", f"+KFF{frame}", f"+W{SIZE[0]}", f"+H{SIZE[1]}", "-D", "+FP", f"+O{out}"]
    run = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    check.same("povray: exit code", run.returncode, 0)
    if run.returncode:
        print(run.stderr[-2000:])
        return None
    for warning in re.findall(r".*[Ww]arning.*", run.stderr):
        print("povray:", warning)
    # POV-Ray numbers the pictures of a sequence with as many digits as the last has.
    path = next(iter(sorted(work.glob("pov*.ppm"))))
    data = path.read_bytes()
    head = re.match(rb"P6\s+(?:#.*\s+)*(\d+)\s+(\d+)\s+(\d+)\s", data)
    width, height, most = map(int, head.groups())
    picture = np.frombuffer(data, "u1" if most < 256 else ">u2", width * height * 3, head.end()) / most
    return lit(check, "povray", picture.reshape(height, width, 3))


def render_mitsuba(check, folder, frame):
    if not check.module("mitsuba"):
        return None
    import mitsuba

    mitsuba.set_variant("scalar_rgb")
    # It tells of every column that it has no use for.
    mitsuba.set_log_level(mitsuba.LogLevel.Error)
    scene = mitsuba.load_file(str(folder / f"surface_{frame:04}.xml"), spp="16", width=str(SIZE[0]), height=str(SIZE[1]))
    picture = np.array(mitsuba.render(scene))[:, :, :3]
    return lit(check, "mitsuba", np.minimum(picture, 2))


def radiance(program):
    if found := shutil.which(program):
        return found
    try:
        import pyradiance
    except ImportError:
        return None
    found = pathlib.Path(pyradiance.__file__).parent / "bin" / program
    return str(found) if found.exists() else None


def render_radiance(check, folder, frame, work):
    oconv, rpict, pvalue = map(radiance, ["oconv", "rpict", "pvalue"])
    if not (oconv and rpict and pvalue):
        return check.missing("radiance")
    octree = work / "rad.oct"
    with open(octree, "wb") as out:
        run = subprocess.run([oconv, "scene.rad", f"surface_{frame:04}.rad"], cwd=folder, stdout=out, stderr=subprocess.PIPE)
    check.same("oconv: exit code", run.returncode, 0)
    check.same(f"oconv: messages {run.stderr[:300]!r}", len(run.stderr), 0)
    command = [rpict, "-vf", "scene.vf", "-x", str(SIZE[0]), "-y", str(SIZE[1]), "-pa", "0", "-ab", "1", "-ad", "64", "-lr", "8"]
    run = subprocess.run([*command, str(octree)], cwd=folder, capture_output=True)
    check.same(f"rpict: exit code {run.stderr[:300]!r}", run.returncode, 0)
    values = subprocess.run([pvalue, "-h", "-H", "-o", "-d"], input=run.stdout, capture_output=True)
    if values.returncode or not values.stdout:
        values = subprocess.run([pvalue, "-h", "-H", "-o"], input=run.stdout, capture_output=True)
    picture = np.array(values.stdout.split(), float).reshape(SIZE[1], SIZE[0], -1)
    return lit(check, "radiance", np.minimum(picture, 2))


def check_pictures(check, folder, frame):
    with tempfile.TemporaryDirectory() as work:
        work = pathlib.Path(work)
        pictures = {
            "povray": render_pov(check, folder, frame, work),
            "mitsuba": render_mitsuba(check, folder, frame),
            "radiance": render_radiance(check, folder, frame, work),
        }
    pictures = {name: p for name, p in pictures.items() if p is not None}
    names = sorted(pictures)

    def alike(a, b):
        return float(np.corrcoef(a.ravel(), b.ravel())[0, 1])

    # They light the scene each in its way, but all look at it from the same place: no picture is mirrored.
    for a, b in zip(names, names[1:]):
        straight = alike(pictures[a], pictures[b])
        mirrored = max(alike(pictures[a], pictures[b][:, ::-1]), alike(pictures[a], pictures[b][::-1]))
        print(f"{a} and {b}: correlation {straight:.2f}, mirrored {mirrored:.2f}")
        check.same(f"{a} and {b} see the same", bool(straight > mirrored and straight > 0.3), True)


def check_surfaces(check, folder):
    surfaces = {}
    for path in sorted(folder.glob("surface_*.ply")):
        if not re.fullmatch(r"surface_\d+", path.stem):
            continue
        rows, faces = read_surface(path)
        surfaces[int(path.stem.split("_")[1])] = rows, faces
        check_trimesh(check, path, rows, faces)
        for ending, function in [(".obj", check_trimesh), (".vtp", check_vtp), (".glb", check_glb)]:
            if path.with_suffix(ending).exists():
                function(check, path.with_suffix(ending), rows, faces)
    if not surfaces:
        return
    if (folder / "run.usda").exists():
        check_usda(check, folder, surfaces)
    if (folder / "scene.pov").exists():
        check_pictures(check, folder, max(surfaces))
    if check.module("trimesh"):
        import trimesh

        for path in sorted(folder.glob("walls.*")) + sorted(folder.glob("walls_*.ply")):
            if path.suffix in (".ply", ".obj"):
                mesh = trimesh.load(path, process=False)
                mesh.merge_vertices(merge_norm=True, merge_tex=True)
                check.same(f"{path.name}: closed", (len(mesh.faces) > 0, mesh.is_watertight), (True, True))
