//! The keys of shapes.

use super::*;

pub(super) static SHAPE: Table = Table {
    name: "shape",
    doc: "Exactly one of the shapes.",
    keys: &[
        key("box", Kind::Table(&BOX), OTHER, "", "Axis-aligned box."),
        key("sphere", Kind::Table(&SPHERE), OTHER, "", "Ball."),
        key("cylinder", Kind::Table(&CYLINDER), OTHER, "", "Round cylinder."),
        key("disc", Kind::Table(&DISC), OTHER, "", "Flat disc, for emitters and cloth."),
        key("mesh", Kind::Table(&MESH), OTHER, "", "Closed triangle mesh."),
        key("heightfield", Kind::Table(&HEIGHTFIELD), OTHER, "", "Terrain, solid below, for boundaries."),
    ],
    groups: &[Group { keys: &["box", "sphere", "cylinder", "disc", "mesh", "heightfield"], required: true }],
};

const INSIDE: Key = key("inside", Choice(SIDES), Absent("solid"), "", "The boundary's `inside`, written with its shape.");

static BOX: Table = Table {
    name: "box",
    doc: "Axis-aligned box.",
    keys: &[
        key("min", Vector(PLACE), Required, "m", "Lowest corner."),
        key("max", Vector(PLACE), Required, "m", "Highest corner."),
        INSIDE,
    ],
    groups: &[],
};

static SPHERE: Table = Table {
    name: "sphere",
    doc: "Ball.",
    keys: &[
        key("center", Vector(PLACE), Required, "m", "Centre."),
        key("radius", Number(LENGTH), Required, "m", "Radius."),
        INSIDE,
    ],
    groups: &[],
};

static CYLINDER: Table = Table {
    name: "cylinder",
    doc: "Round cylinder.",
    keys: &[
        key("base", Vector(PLACE), OTHER, "m", "Centre of its lower end."),
        key("center", Vector(PLACE), OTHER, "m", "Its middle, instead of `base`."),
        key("axis", Direction, UP, "", "Direction from the lower to the upper end."),
        key("radius", Number(LENGTH), Required, "m", "Radius."),
        key("height", Number(LENGTH), Required, "m", "Height along the axis."),
        INSIDE,
    ],
    groups: &[Group { keys: &["base", "center"], required: true }],
};

static DISC: Table = Table {
    name: "disc",
    doc: "Flat disc, for emitters and cloth.",
    keys: &[
        key("center", Vector(PLACE), Required, "m", "Centre."),
        key("normal", Direction, Required, "", "Normal; emitters stream along it."),
        key("radius", Number(LENGTH), Required, "m", "Radius."),
    ],
    groups: &[],
};

static MESH: Table = Table {
    name: "mesh",
    doc: "Closed triangle mesh, from an OBJ, PLY or STL file or made by the program; scaled, then rotated, then moved.",
    keys: &[
        key("file", Text, OTHER, "", "File, relative to the scene file's folder."),
        key("make", Choice(&["dragon"]), OTHER, "",
            "A model of the program: a dragon 1 m long, standing on y = 0 about the y axis, looking along +x."),
        key("rock", Kind::Table(&ROCK), OTHER, "", "A rock."),
        key("rocks", Kind::Table(&ROCKS), OTHER, "", "A heap of rocks."),
        key("lathe", Kind::Table(&LATHE), OTHER, "", "A body turned about the y axis: a vessel, a funnel, a pipe."),
        key("scale", Number(above(0.0, 1e9)), Num(1.0), "", "Factor on all coordinates."),
        key("rotate", Vector(range(-1e6, 1e6)), ZERO, "°", "Turns about x, then y, then z."),
        key("translate", Vector(PLACE), ZERO, "m", "Offset."),
        INSIDE,
    ],
    groups: &[Group { keys: &["file", "make", "rock", "rocks", "lathe"], required: true }],
};

const SEED: Key = key("seed", Integer(0, i64::MAX as u64), Num(0.0), "", "Which of all such shapes.");
const ROUGHNESS: Key = key("roughness", Number(SHARE), Num(0.6), "",
    "From 0, a ball, to 1, flat faces and sharp edges. Raising it makes rocks smaller within their radius.");

static ROCK: Table = Table {
    name: "rock",
    doc: "A rock: a ball stretched, cut and weathered.",
    keys: &[
        key("center", Vector(PLACE), ZERO, "m", "Its middle."),
        key("radius", Number(LENGTH), Required, "m", "No part of it is farther from its middle."),
        SEED,
        ROUGHNESS,
    ],
    groups: &[],
};

static ROCKS: Table = Table {
    name: "rocks",
    doc: "A heap of rocks in a box, laid one after the other into the deepest hollow, with gaps between them.",
    keys: &[
        key("min", Vector(PLACE), Required, "m", "Lowest corner of the box."),
        key("max", Vector(PLACE), Required, "m",
            "Highest corner. The heap is highest in the middle of the box; raising y makes it steeper."),
        key("radius", Number(LENGTH), Required, "m", "Radius of the largest rocks."),
        key("smallest", Number(LENGTH), Absent("all are alike"), "m", "Radius of the smallest rocks."),
        key("count", Integer(1, 1000), Num(100.0), "", "Most rocks; those that find no room are left out."),
        SEED,
        ROUGHNESS,
        key("ground", Name, Absent("the floor of the box"), "",
            "Name of a `[[boundary]]` above this one whose heightfield the heap rests on."),
    ],
    groups: &[],
};

static LATHE: Table = Table {
    name: "lathe",
    doc: "A closed outline turned about the y axis.",
    keys: &[
        key("outline", Rows(Some(2), 2000), Required, "m",
            "Points `[radius, y]` of the outline, in order; the last is joined to the first."),
        key("sides", Integer(3, 1000), Num(64.0), "", "Flat sides around the axis. Raising it rounds the body."),
    ],
    groups: &[],
};

static HEIGHTFIELD: Table = Table {
    name: "heightfield",
    doc: "Terrain over a rectangle of the xz plane; solid below.",
    keys: &[
        key("origin", Vector(PLACE), ZERO, "m",
            "Corner with the smallest x and z; its y is added to all heights."),
        key("size", Pair(LENGTH), Required, "m", "Extent along x and z."),
        key("heights", Rows(None, MAX_HEIGHTS), OTHER, "m",
            "Rows of heights: x along a row, z from row to row; at least 2 × 2."),
        key("file", Text, OTHER, "", "File of heights, relative to the scene file's folder."),
        key("terrain", Kind::Table(&TERRAIN), OTHER, "", "Hills made by the program."),
    ],
    groups: &[Group { keys: &["heights", "file", "terrain"], required: true }],
};

static TERRAIN: Table = Table {
    name: "terrain",
    doc: "Hills on a slope; where nothing else is said, the lowest heights are near the origin's y.",
    keys: &[
        SEED,
        key("relief", Number(range(0.0, 1e5)), Required, "m",
            "From the deepest hollow to the highest top. Raising it makes the hills steeper."),
        key("scale", Number(LENGTH), Required, "m", "Width of the widest hills. Raising it makes them gentler."),
        key("octaves", Integer(1, 12), Num(4.0), "",
            "Sizes of hills, each half as wide and high as the one before. Raising it roughens the ground."),
        key("slope", Number(range(-10.0, 10.0)), Num(0.0), "m/m", "Fall along x. Raising it makes fluid run faster."),
        key("cell", Number(LENGTH), Absent("scale / 24"), "m",
            "Distance of the samples. Raising it coarsens the ground."),
        key("valley", Kind::Table(&VALLEY), Absent("none"), "", "A valley along x, in the middle."),
    ],
    groups: &[],
};

static VALLEY: Table = Table {
    name: "valley",
    doc: "A winding valley with a flat bed.",
    keys: &[
        key("depth", Number(range(0.0, 1e5)), Required, "m", "Height of its banks above the bed. Raising it makes them steeper."),
        key("width", Number(LENGTH), Required, "m", "Width of its bed."),
        key("bank", Number(LENGTH), Required, "m", "Width of each bank. Raising it makes them gentler."),
        key("meander", Number(range(0.0, 1e7)), Num(0.0), "m", "How far it winds aside at most."),
        key("bend", Number(LENGTH), Absent("size of the terrain along x / 2"), "m", "Length of a bend."),
    ],
    groups: &[],
};
