"""SPlisHSPlasH's weakly compressible SPH, without window or output.

    splishsplash_wcsph.py PARTICLES THREADS STEPS FOLDER [TIME]

The scene is SPlisHSPlasH's own DamBreakModel (volume-map walls, standard viscosity) with the tank, column, spacing
and method replaced. Its support radius is four particle radii, two spacings. THREADS must also be in
OMP_NUM_THREADS. FOLDER keeps the scene and the maps of the walls, which take long to build, for the next run. With
TIME (s), runs that long without timing.
"""

import ctypes
import importlib.metadata
import json
import math
import os
import sys

import dam_break as dam

# The wheel brings a copy of libGLdispatch of its own. Where the system has one too, the wrong one is initialised
# and the import crashes, unless the system's is there first.
try:
    ctypes.CDLL("libGLdispatch.so.0", mode=ctypes.RTLD_GLOBAL)
except OSError:
    pass

import pysplishsplash as sph

WANTED, THREADS, STEPS = int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
FOLDER = sys.argv[4]
DURATION = float(sys.argv[5]) if len(sys.argv) > 5 else 0.0
assert os.environ.get("OMP_NUM_THREADS") == str(THREADS)

BOX = """v 0 0 0
v 1 0 0
v 0 1 0
v 1 1 0
v 0 0 1
v 1 0 1
v 0 1 1
v 1 1 1
f 1 3 2
f 2 3 4
f 5 6 7
f 6 8 7
f 1 2 5
f 2 6 5
f 3 7 4
f 4 7 8
f 1 5 3
f 3 5 7
f 2 4 6
f 4 8 6
"""


def scene():
    d = dam.spacing(WANTED)
    counts, first = dam.lattice(WANTED)
    # Its volume maps push particles that start half a spacing off a wall out at once, hard enough to blow the run
    # up; one spacing more, near what DamBreakModel leaves, does not.
    low = [x - d for x in dam.tank(WANTED)[0]]
    high = [x + d for x in dam.tank(WANTED)[1]]
    size = [b - a for a, b in zip(low, high)]
    # A block holds round(length/d) - 1 particles along an axis, the first one d after its start.
    start = [x - d for x in first]
    end = [x + n * d for x, n in zip(first, counts)]
    return {
        "Configuration": {
            "particleRadius": d / 2,
            "simulationMethod": 0,
            "gravitation": [0, dam.GRAVITY, 0],
            "timeStepSize": dam.step_size(WANTED),
            "cflMethod": 0,
            "boundaryHandlingMethod": 2,
            "WCSPH": {
                "stiffness": dam.DENSITY * dam.SOUND**2 / dam.EXPONENT,
                "exponent": dam.EXPONENT,
            },
        },
        "Materials": [
            {
                "id": "Fluid",
                "density0": dam.DENSITY,
                "viscosityMethod": 1,
                "Standard viscosity": {"viscosity": dam.VISCOSITY},
            }
        ],
        "RigidBodies": [
            {
                "geometryFile": "box.obj",
                "translation": list(low),
                "rotationAxis": [1, 0, 0],
                "rotationAngle": 0,
                "scale": size,
                "isDynamic": False,
                "isWall": True,
                "mapInvert": True,
                "mapThickness": 0.0,
                # Cells of one support radius, as in DamBreakModel.
                "mapResolution": [math.ceil(side / (2 * d)) for side in size],
            }
        ],
        "FluidBlocks": [{"denseMode": 0, "start": start, "end": end}],
    }


def main():
    with open(os.path.join(FOLDER, "box.obj"), "w") as file:
        file.write(BOX)
    path = os.path.join(FOLDER, "scene.json")
    with open(path, "w") as file:
        json.dump(scene(), file)
    base = sph.Exec.SimulatorBase()
    base.init(
        sceneFile=path,
        useGui=False,
        useCache=True,
        initialPause=False,
        outputDir=os.path.join(FOLDER, "out"),
        stopAt=1e6,
    )
    base.initSimulation()
    clock = sph.TimeManager.getCurrent()
    steps = STEPS
    if DURATION > 0.0:
        steps = math.ceil(DURATION / clock.getTimeStepSize()) - dam.WARM_UP
    windows = dam.Windows(steps)

    def after_step():
        windows.tick()
        if windows.finished():
            base.setValueFloat(base.STOP_AT, 1e-9)

    base.setTimeStepCB(after_step)
    base.runSimulation()

    simulation = sph.Simulation.getCurrent()
    model = simulation.getFluidModel(0)
    count = model.numActiveParticles()
    dam.report(
        version=importlib.metadata.version("pySPlisHSPlasH"),
        windows=windows.milliseconds,
        step=clock.getTimeStepSize(),
        time=clock.getTime(),
        own_neighbors=sum(simulation.numberOfNeighbors(0, 0, i) for i in range(count)) / count,
        **dam.describe([model.getPosition(i) for i in range(count)], WANTED),
    )
    sys.stdout.flush()
    # Its destructors may run after the interpreter's; nothing is left to clean up.
    base.cleanup()


main()
