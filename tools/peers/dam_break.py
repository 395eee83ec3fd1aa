"""The dam break every peer runs, and how its steps are timed.

The scene is that of crates/undine/benches/speed.rs: a column of 1 x 1 x 0.5 m in a tank of 2.5 x 2 x 0.5 m,
y up. SI units throughout.
"""

import json
import time

import numpy as np

COLUMN = (1.0, 1.0, 0.5)
TANK = (2.5, 2.0, 0.5)
GRAVITY = -9.81
DENSITY = 1000.0
# Speed of sound of both peers' equations of state, m/s: about ten times the speed of a fall from half the column,
# the usual choice for weakly compressible SPH.
SOUND = 30.0
EXPONENT = 7
# The kinematic viscosity of SPlisHSPlasH's own dam break scene, m^2/s.
VISCOSITY = 0.01

WARM_UP = 20
# benches/speed.rs times windows of this many steps; the peers are timed the same way.
WINDOW = 3


def spacing(wanted):
    """Particle spacing for about `wanted` particles, the same formula as benches/common."""
    return (COLUMN[0] * COLUMN[1] * COLUMN[2] / wanted) ** (1.0 / 3.0)


def lattice(wanted):
    """Counts per axis and the first position per axis: a cubic lattice centred in the column."""
    d = spacing(wanted)
    counts = [round(side / d) for side in COLUMN]
    first = [(side - (n - 1) * d) / 2 for side, n in zip(COLUMN, counts)]
    return counts, first


def tank(wanted):
    """Lower and upper corner of the tank. Where rounding makes the lattice thicker than the column, the walls
    across it stand half a spacing off the outermost particles, so that no peer starts by being pushed out of one."""
    d = spacing(wanted)
    counts, _ = lattice(wanted)
    extra = max(0.0, counts[2] * d - TANK[2]) / 2
    return (0.0, 0.0, -extra), (TANK[0], TANK[1], TANK[2] + extra)


def step_size(wanted):
    """A fixed step, s, at a Courant number of 0.2 on sound speed and the support radius."""
    return 0.2 * 2 * spacing(wanted) / SOUND


class Windows:
    """Wall times of windows of WINDOW steps, after WARM_UP steps. Call `tick` after each step."""

    def __init__(self, steps):
        self.wanted = steps
        self.done = 0
        self.milliseconds = []
        self.start = 0.0

    def tick(self):
        now = time.perf_counter()
        self.done += 1
        timed = self.done - WARM_UP
        if timed > 0 and timed % WINDOW == 0:
            self.milliseconds.append((now - self.start) * 1e3 / WINDOW)
        if timed >= 0 and timed % WINDOW == 0:
            # Read the clock anew, so that the bookkeeping above is outside every window.
            self.start = time.perf_counter()

    def finished(self):
        return self.done >= WARM_UP + self.wanted


def neighbor_count(position, radius, samples=1000):
    """Mean number of other particles within `radius`, over particles drawn at random, by brute force."""
    position = np.asarray(position, dtype=np.float32)
    chosen = np.random.default_rng(1).choice(len(position), min(samples, len(position)), replace=False)
    total = 0
    for i in chosen:
        apart = position - position[i]
        total += int(np.count_nonzero(np.einsum("ij,ij->i", apart, apart) < radius * radius)) - 1
    return total / len(chosen)


def describe(position, wanted):
    """Numbers that show whether the particles are as many and as crowded as they should be, and move."""
    position = np.asarray(position, dtype=np.float64)
    if not np.isfinite(position).all():
        raise SystemExit("the simulation blew up: a position is not finite")
    return {
        "particles": len(position),
        "neighbors": neighbor_count(position, 2 * spacing(wanted)),
        "height": float(position[:, 1].mean()),
        "front": float(position[:, 0].max()),
    }


def report(**values):
    """Hands the result to compare_peers.py: the last line of standard output, one JSON object."""
    print(json.dumps(values), flush=True)
