"""Times the dam break of tools/compare_mantaflow.py in Blender's Mantaflow; run by it as `blender -b -t N -P this -- ...`.

Prints one line of JSON: seconds for the simulation and for its meshes, and particles in the last frame.
"""

import json
import sys
import tempfile
import time

import bpy

args = sys.argv[sys.argv.index("--") + 1 :]
cells, frames, rate = int(args[0]), int(args[1]), int(args[2])
with_mesh = args[3] == "mesh"


def box(low, high):
    bpy.ops.mesh.primitive_cube_add(size=1, location=[(a + b) / 2 for a, b in zip(low, high)])
    made = bpy.context.object
    made.scale = [b - a for a, b in zip(low, high)]
    bpy.ops.object.transform_apply(location=False, rotation=False, scale=True)
    made.modifiers.new("fluid", "FLUID")
    return made


bpy.ops.wm.read_factory_settings(use_empty=True)
scene = bpy.context.scene
scene.render.fps = rate
scene.frame_start, scene.frame_end = 1, frames + 1

# Blender's z points up.
column = box((0, 0, 0), (0.5, 1, 0.96875))
fluid = column.modifiers["fluid"]
fluid.fluid_type = "FLOW"
fluid.flow_settings.flow_type = "LIQUID"
fluid.flow_settings.flow_behavior = "GEOMETRY"

tank = box((0, 0, 0), (2, 1, 1))
fluid = tank.modifiers["fluid"]
fluid.fluid_type = "DOMAIN"
domain = fluid.domain_settings
domain.domain_type = "LIQUID"
domain.resolution_max = cells
domain.cache_type = "MODULAR"
domain.cache_frame_start, domain.cache_frame_end = 1, frames + 1
domain.use_mesh = with_mesh
domain.use_adaptive_timesteps = True

with tempfile.TemporaryDirectory() as folder:
    domain.cache_directory = folder
    bpy.context.view_layer.objects.active = tank
    begin = time.perf_counter()
    bpy.ops.fluid.bake_data()
    data = time.perf_counter() - begin
    mesh = None
    if with_mesh:
        begin = time.perf_counter()
        bpy.ops.fluid.bake_mesh()
        mesh = time.perf_counter() - begin
    scene.frame_set(frames + 1)
    particles = tank.evaluated_get(bpy.context.evaluated_depsgraph_get()).particle_systems
    count = sum(len(p.particles) for p in particles)
print("RESULT " + json.dumps({"data": data, "mesh": mesh, "particles": count}))
