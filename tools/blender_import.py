#!/usr/bin/env python3
"""Makes a Blender scene of a run: its surface sequence as water, walls, camera, sun and sky.

    blender --python tools/blender_import.py -- DIR                       in Blender, to look at and change
    blender --background --python tools/blender_import.py -- DIR --save water.blend
    python3 tools/blender_import.py DIR --save water.blend --render 12    with `pip install bpy` (Python 3.11)

DIR holds surface_0000.ply … (or .obj), as `undine run --surface --export ply` writes them; run.usda, where it
is there (`--export ply,usda`), gives walls, solids, camera and frame rate. The mesh of a frame is read when the frame is shown, so a long run opens
at once: the .blend keeps this script's handler as a text block (allow it to run, or start the script again).
"""

import argparse
import math
import pathlib
import re
import sys

import bpy
from mathutils import Vector

HANDLER = '''
import bpy, pathlib

def read_frame(scene, *_):
    """Puts the surface of the present frame into the object `Water`."""
    water = bpy.data.objects.get("Water")
    if water is None or "undine_folder" not in water:
        return
    folder = pathlib.Path(bpy.path.abspath(water["undine_folder"]))
    ending = water["undine_ending"]
    path = folder / f"surface_{scene.frame_current:04d}.{ending}"
    if not path.exists():
        return
    known = set(bpy.data.objects)
    if ending == "ply":
        bpy.ops.wm.ply_import(filepath=str(path), forward_axis="NEGATIVE_Z", up_axis="Y")
    else:
        bpy.ops.wm.obj_import(filepath=str(path), forward_axis="NEGATIVE_Z", up_axis="Y")
    new = [o for o in bpy.data.objects if o not in known]
    if len(new) > 1:
        bpy.context.view_layer.objects.active = new[0]
        for o in bpy.data.objects:
            o.select_set(o in new)
        bpy.ops.object.join()
        new = [o for o in bpy.data.objects if o not in known]
    if not new:
        return
    mesh = new[0].data
    # The importer turns y up into z up by the object's pose.
    mesh.transform(new[0].matrix_world)
    old = water.data
    mesh.materials.clear()
    for material in old.materials:
        mesh.materials.append(material)
    for polygon in mesh.polygons:
        polygon.use_smooth = True
    water.data = mesh
    bpy.data.objects.remove(new[0])
    if old.users == 0:
        bpy.data.meshes.remove(old)

for handler in list(bpy.app.handlers.frame_change_pre):
    if getattr(handler, "__name__", "") == "read_frame":
        bpy.app.handlers.frame_change_pre.remove(handler)
bpy.app.handlers.frame_change_pre.append(read_frame)
'''


def z_up(p):
    """Undine's y is up, Blender's z."""
    return Vector((p[0], -p[2], p[1]))


def glassy(name, ior, color, density):
    """Glass outside, and inside a body that absorbs with depth."""
    material = bpy.data.materials.new(name)
    material.use_nodes = True
    nodes, links = material.node_tree.nodes, material.node_tree.links
    nodes.clear()
    output = nodes.new("ShaderNodeOutputMaterial")
    glass = nodes.new("ShaderNodeBsdfGlass")
    glass.inputs["Roughness"].default_value = 0.0
    glass.inputs["IOR"].default_value = ior
    links.new(glass.outputs["BSDF"], output.inputs["Surface"])
    if density > 0:
        volume = nodes.new("ShaderNodeVolumeAbsorption")
        volume.inputs["Color"].default_value = (*color, 1)
        volume.inputs["Density"].default_value = density
        links.new(volume.outputs["Volume"], output.inputs["Volume"])
    return material


def matte(name, color):
    material = bpy.data.materials.new(name)
    material.use_nodes = True
    shader = material.node_tree.nodes["Principled BSDF"]
    shader.inputs["Base Color"].default_value = (*color, 1)
    shader.inputs["Roughness"].default_value = 0.7
    return material


def read_stage(path):
    """Camera, floor and frame rate of run.usda: a text of which we wrote every line."""
    text = path.read_text() if path.exists() else ""
    rate = re.search(r"timeCodesPerSecond = ([\d.eE+-]+)", text)
    found = {"rate": float(rate.group(1)) if rate else 60.0}
    floor = re.search(r'def Mesh "Floor".*?points = \[\(\S+ ([^,]+),', text, re.S)
    if floor:
        found["floor"] = float(floor.group(1))
    camera = re.search(
        r'def Camera "Camera".*?verticalAperture = (\S+).*?focalLength = (\S+).*?xformOp:transform = (.*?)\n', text, re.S
    )
    if camera:
        numbers = [float(n) for n in re.findall(r"[-+\d.eE]+", camera.group(3))]
        position, back = numbers[12:15], numbers[8:11]
        found["camera"] = (position, back, 2 * math.atan(float(camera.group(1)) / 2 / float(camera.group(2))))
    return found


def add_walls(folder):
    """Walls and solids of run.usda, moving as they do; else the walls that stand still."""
    if (folder / "run.usda").exists():
        bpy.ops.wm.usd_import(
            filepath=str(folder / "run.usda"), prim_path_mask="/Run/Walls,/Run/Solids,/Run/Looks",
            import_guide=False, import_cameras=False, import_lights=False, set_frame_range=False,
        )
        glass = glassy("Glass of walls", 1.52, (1, 1, 1), 0)
        for object in bpy.data.objects:
            if object.type == "MESH":
                for slot in object.material_slots:
                    if slot.material and slot.material.name == "Glass":
                        slot.material = glass
    elif (folder / "walls.ply").exists():
        bpy.ops.wm.ply_import(filepath=str(folder / "walls.ply"), forward_axis="NEGATIVE_Z", up_axis="Y")
        walls = bpy.context.object
        walls.name = "Walls"
        walls.data.materials.append(matte("Wall", (0.5, 0.5, 0.5)))


def main():
    words = sys.argv[sys.argv.index("--") + 1:] if "--" in sys.argv else sys.argv[1:]
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--save", type=pathlib.Path, help="where to write the .blend")
    parser.add_argument("--render", type=int, metavar="FRAME", help="render a frame to FRAME.png beside the .blend")
    parser.add_argument("--samples", type=int, default=64)
    parser.add_argument("--width", type=int, default=1280)
    options = parser.parse_args(words)
    folder = options.folder.resolve()
    frames = {}
    for ending in ("ply", "obj"):
        for path in folder.glob(f"surface_*.{ending}"):
            if number := re.fullmatch(r"surface_(\d+)", path.stem):
                frames.setdefault(int(number.group(1)), ending)
        if frames:
            break
    if not frames:
        sys.exit(f"no surface_*.ply or .obj in {folder}")

    bpy.ops.wm.read_factory_settings(use_empty=True)
    scene = bpy.context.scene
    stage = read_stage(folder / "run.usda")
    scene.frame_start, scene.frame_end = min(frames), max(frames)
    scene.render.fps = max(1, round(stage["rate"]))

    mesh = bpy.data.meshes.new("Water")
    water = bpy.data.objects.new("Water", mesh)
    scene.collection.objects.link(water)
    water["undine_folder"], water["undine_ending"] = str(folder), ending
    text = bpy.data.texts.new("undine_frames.py")
    text.write(HANDLER)
    text.use_module = True
    exec(HANDLER, {})
    scene.frame_set(min(frames))

    corners = [water.matrix_world @ v.co for v in water.data.vertices]
    low = Vector([min((c[k] for c in corners), default=-1) for k in range(3)])
    high = Vector([max((c[k] for c in corners), default=1) for k in range(3)])
    size = max(high - low) or 1.0
    water.data.materials.append(glassy("Water", 1.333, (0.2, 0.55, 0.85), 1.5 / size))
    for polygon in water.data.polygons:
        polygon.use_smooth = True

    add_walls(folder)
    ground = stage.get("floor", low.z - 1e-3 * size)
    bpy.ops.mesh.primitive_plane_add(size=100 * size, location=(*((low + high) / 2)[:2], ground))
    floor = bpy.context.object
    floor.name = "Floor"
    floor.data.materials.append(matte("Floor", (0.65, 0.65, 0.65)))

    lens = bpy.data.cameras.new("Camera")
    camera = bpy.data.objects.new("Camera", lens)
    scene.collection.objects.link(camera)
    lens.sensor_fit = "VERTICAL"
    if "camera" in stage:
        position, back, fov = stage["camera"]
        camera.location = z_up(position)
        camera.rotation_euler = z_up(back).to_track_quat("Z", "Y").to_euler()
        lens.angle_y = fov
    else:
        middle = (low + high) / 2
        camera.location = middle + size * Vector((0.8, -2.4, 0.9))
        camera.rotation_euler = (camera.location - middle).to_track_quat("Z", "Y").to_euler()
        lens.angle_y = math.radians(36)
    lens.clip_end = 1000 * size
    scene.camera = camera

    sun = bpy.data.objects.new("Sun", bpy.data.lights.new("Sun", "SUN"))
    sun.data.energy, sun.data.angle = 3.0, math.radians(0.53)
    sun.rotation_euler = (math.radians(35), math.radians(-25), 0)
    scene.collection.objects.link(sun)
    world = bpy.data.worlds.new("Sky")
    world.use_nodes = True
    world.node_tree.nodes["Background"].inputs["Color"].default_value = (0.6, 0.75, 1.0, 1)
    scene.world = world

    scene.render.engine = "CYCLES"
    scene.cycles.samples = options.samples
    scene.cycles.use_denoising = False
    scene.render.resolution_x, scene.render.resolution_y = options.width, options.width * 9 // 16
    print(f"{len(frames)} frames, {len(water.data.polygons)} triangles in the first")
    if options.save:
        bpy.ops.wm.save_as_mainfile(filepath=str(options.save.resolve()))
    if options.render is not None:
        scene.frame_set(options.render)
        print(f"{len(water.data.polygons)} triangles in frame {options.render}")
        beside = options.save.resolve().parent if options.save else pathlib.Path.cwd()
        scene.render.filepath = str(beside / f"{options.render}.png")
        bpy.ops.render.render(write_still=True)


if __name__ == "__main__":
    main()
