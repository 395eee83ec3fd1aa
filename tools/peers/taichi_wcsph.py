"""A plain weakly compressible SPH in Taichi, on the CPU, in 32 bits.

    taichi_wcsph.py PARTICLES THREADS STEPS [TIME]

Counting sort into cells of one support radius each step, particle data reordered so that neighbours lie together
in memory; density; Tait pressure; symmetric pressure force and viscosity in one loop; symplectic Euler; walls that
push out and reflect. Cubic spline, support h of two spacings. With TIME (s), runs that long without timing.
"""

import math
import sys

import numpy as np
import taichi as ti

import dam_break as dam

WANTED, THREADS, STEPS = int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
DURATION = float(sys.argv[4]) if len(sys.argv) > 4 else 0.0

ti.init(arch=ti.cpu, cpu_max_num_threads=THREADS, default_fp=ti.f32, default_ip=ti.i32, log_level=ti.ERROR)

D = dam.spacing(WANTED)
H = 2.0 * D
DT = dam.step_size(WANTED)
COUNTS, FIRST = dam.lattice(WANTED)
N = COUNTS[0] * COUNTS[1] * COUNTS[2]
LOW, HIGH = dam.tank(WANTED)
CELLS = [math.ceil((b - a) / H) for a, b in zip(LOW, HIGH)]
CELL_COUNT = CELLS[0] * CELLS[1] * CELLS[2]

MASS = dam.DENSITY * D**3
STIFFNESS = dam.DENSITY * dam.SOUND**2 / dam.EXPONENT
SPLINE = 8.0 / (math.pi * H**3)
RESTITUTION = 0.5

low = ti.Vector(LOW)
high = ti.Vector(HIGH)

position = ti.Vector.field(3, ti.f32, N)
velocity = ti.Vector.field(3, ti.f32, N)
sorted_position = ti.Vector.field(3, ti.f32, N)
sorted_velocity = ti.Vector.field(3, ti.f32, N)
# 1/density and pressure/density^2: all that the force loop needs of a neighbour.
volume = ti.field(ti.f32, N)
pressure_term = ti.field(ti.f32, N)
cell_of = ti.field(ti.i32, N)
rank = ti.field(ti.i32, N)
cell_size = ti.field(ti.i32, CELL_COUNT)
# Particles of cell c: cell_start[c] to cell_start[c + 1].
cell_start = ti.field(ti.i32, CELL_COUNT + 1)


@ti.func
def cell_coordinates(x):
    c = ti.cast((x - low) * (1.0 / H), ti.i32)
    return ti.max(0, ti.min(c, ti.Vector(CELLS) - 1))


@ti.func
def cell_index(cx, cy, cz):
    # x runs fastest, so that three cells side by side are one run of particles.
    return (cz * CELLS[1] + cy) * CELLS[0] + cx


@ti.func
def spline(q):
    """Cubic spline over q = r/h in [0, 1]."""
    w = 0.0
    if q < 0.5:
        w = 6.0 * q * q * (q - 1.0) + 1.0
    else:
        t = 1.0 - q
        w = 2.0 * t * t * t
    return SPLINE * w


@ti.func
def spline_slope(q):
    """dW/dr over q."""
    s = 0.0
    if q < 0.5:
        s = q * (3.0 * q - 2.0)
    else:
        t = 1.0 - q
        s = -t * t
    return 6.0 * SPLINE / H * s


@ti.kernel
def count_cells():
    for c in cell_size:
        cell_size[c] = 0
    for i in position:
        c = cell_coordinates(position[i])
        k = cell_index(c.x, c.y, c.z)
        cell_of[i] = k
        rank[i] = ti.atomic_add(cell_size[k], 1)


@ti.kernel
def sum_cells():
    ti.loop_config(serialize=True)
    for c in range(CELL_COUNT):
        cell_start[c + 1] = cell_start[c] + cell_size[c]


@ti.kernel
def reorder():
    for i in position:
        k = cell_start[cell_of[i]] + rank[i]
        sorted_position[k] = position[i]
        sorted_velocity[k] = velocity[i]


@ti.kernel
def compute_density():
    for i in sorted_position:
        x = sorted_position[i]
        c = cell_coordinates(x)
        total = 0.0
        for cz in range(ti.max(c.z - 1, 0), ti.min(c.z + 2, CELLS[2])):
            for cy in range(ti.max(c.y - 1, 0), ti.min(c.y + 2, CELLS[1])):
                begin = cell_start[cell_index(ti.max(c.x - 1, 0), cy, cz)]
                end = cell_start[cell_index(ti.min(c.x + 1, CELLS[0] - 1), cy, cz) + 1]
                for j in range(begin, end):
                    r2 = (x - sorted_position[j]).norm_sqr()
                    if r2 < H * H:
                        total += spline(ti.sqrt(r2) * (1.0 / H))
        density = ti.max(MASS * total, dam.DENSITY)
        ratio = density / dam.DENSITY
        square = ratio * ratio
        pressure = STIFFNESS * (square * square * square * ratio - 1.0)
        volume[i] = MASS / density
        pressure_term[i] = pressure / (density * density)


@ti.kernel
def advance():
    for i in sorted_position:
        x = sorted_position[i]
        v = sorted_velocity[i]
        p = pressure_term[i]
        c = cell_coordinates(x)
        a = ti.Vector([0.0, dam.GRAVITY, 0.0])
        for cz in range(ti.max(c.z - 1, 0), ti.min(c.z + 2, CELLS[2])):
            for cy in range(ti.max(c.y - 1, 0), ti.min(c.y + 2, CELLS[1])):
                begin = cell_start[cell_index(ti.max(c.x - 1, 0), cy, cz)]
                end = cell_start[cell_index(ti.min(c.x + 1, CELLS[0] - 1), cy, cz) + 1]
                for j in range(begin, end):
                    apart = x - sorted_position[j]
                    r2 = apart.norm_sqr()
                    if r2 < H * H and r2 > 1e-12:
                        r = ti.sqrt(r2)
                        slope = spline_slope(r * (1.0 / H)) / r
                        # Viscosity of Monaghan's form, 10 = 2 (dimensions + 2).
                        approach = (v - sorted_velocity[j]).dot(apart) / (r2 + 0.01 * H * H)
                        a += (
                            (10.0 * dam.VISCOSITY * volume[j] * approach - MASS * (p + pressure_term[j]))
                            * slope
                            * apart
                        )
        v += DT * a
        x += DT * v
        for k in ti.static(range(3)):
            if x[k] < low[k]:
                x[k] = low[k]
                v[k] = -RESTITUTION * v[k]
            elif x[k] > high[k]:
                x[k] = high[k]
                v[k] = -RESTITUTION * v[k]
        position[i] = x
        velocity[i] = v


def step():
    count_cells()
    sum_cells()
    reorder()
    compute_density()
    advance()
    ti.sync()


def main():
    grid = np.meshgrid(*[first + D * np.arange(n) for first, n in zip(FIRST, COUNTS)], indexing="ij")
    position.from_numpy(np.stack([axis.ravel() for axis in grid], axis=1).astype(np.float32))
    windows = dam.Windows(STEPS if DURATION == 0.0 else math.ceil(DURATION / DT) - dam.WARM_UP)
    while not windows.finished():
        step()
        windows.tick()
    dam.report(
        version=".".join(map(str, ti.__version__)),
        windows=windows.milliseconds,
        step=DT,
        time=windows.done * DT,
        **dam.describe(position.to_numpy(), WANTED),
    )


main()
