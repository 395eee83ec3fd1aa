//! Lattices of points in shapes.

use glam::DVec3;
use rayon::prelude::*;

use super::aabb::Aabb;
use super::mesh::TriMesh;

/// Most points of a lattice: particles are numbered by u32. Larger wishes give an empty list.
const MAX_POINTS: f64 = u32::MAX as f64;

/// Points on a surface belong to no side: the share of the radius squared that is left out.
const SKIN: f64 = 1e-12;

/// Number of layers in a length, at least one.
fn layers(length: f64, spacing: f64) -> f64 {
    (length / spacing).round().max(1.0)
}

/// Whether a lattice of about `count` points can be made at all.
fn feasible(spacing: f64, count: f64) -> bool {
    spacing > 0.0 && spacing.is_finite() && count <= MAX_POINTS
}

/// Number of points of [`fill_box`].
pub(super) fn box_count(min: DVec3, max: DVec3, spacing: f64) -> f64 {
    (max - min).to_array().iter().map(|l| layers(*l, spacing)).product()
}

/// The lattice coordinates along x, y and z centred between two corners.
fn centred(min: DVec3, max: DVec3, spacing: f64) -> [Vec<f64>; 3] {
    [0, 1, 2].map(|axis| {
        let length = max[axis] - min[axis];
        let n = layers(length, spacing);
        let start = min[axis] + 0.5 * (length - n * spacing);
        (0..n as usize).map(|i| start + (i as f64 + 0.5) * spacing).collect()
    })
}

/// A lattice centred in a box; a box of 30 spacings has its 30 layers half a spacing from its faces.
pub(super) fn fill_box(min: DVec3, max: DVec3, spacing: f64) -> Vec<DVec3> {
    if !feasible(spacing, box_count(min, max, spacing)) {
        return Vec::new();
    }
    let [x, y, z] = centred(min, max, spacing);
    let mut points = Vec::with_capacity(x.len() * y.len() * z.len());
    for &z in &z {
        for &y in &y {
            points.extend(x.iter().map(|&x| DVec3::new(x, y, z)));
        }
    }
    points
}

/// Upper bound of the points of [`fill_sphere`]: cells of lattice points inside lie in a ball half a cell larger.
pub(super) fn sphere_count(radius: f64, spacing: f64) -> f64 {
    let r = radius / spacing + 0.75_f64.sqrt();
    4.0 / 3.0 * std::f64::consts::PI * r * r * r
}

/// Upper bound of the points of [`disc_lattice`].
pub(super) fn disc_count(radius: f64, spacing: f64) -> f64 {
    let r = radius / spacing + 0.5_f64.sqrt();
    std::f64::consts::PI * r * r
}

/// A lattice at odd multiples of half a spacing from the centre: mirror images and quarter turns map it to itself.
/// A ball too small for that keeps its centre.
pub(super) fn fill_sphere(center: DVec3, radius: f64, spacing: f64) -> Vec<DVec3> {
    if !feasible(spacing, sphere_count(radius, spacing)) {
        return Vec::new();
    }
    let odd = odd_numbers(radius, spacing);
    let limit = half_spacings2(radius, spacing);
    let half = 0.5 * spacing;
    let mut points = Vec::new();
    for &k in &odd {
        for &j in &odd {
            // Sums of squares of whole numbers are exact, so symmetric points share one fate.
            let inside = odd.iter().filter(|&&i| i * i + j * j + k * k < limit);
            points.extend(inside.map(|&i| center + half * DVec3::new(i, j, k)));
        }
    }
    if points.is_empty() && radius > 0.0 {
        points.push(center);
    }
    points
}

/// A lattice in a cylinder's own frame: layers from half a spacing above the base, in each a square lattice about the
/// axis. A thin cylinder keeps its axis, a flat one its middle layer.
pub(super) fn fill_cylinder(base: DVec3, axis: DVec3, radius: f64, height: f64, spacing: f64) -> Vec<DVec3> {
    let n = layers(height, spacing);
    if !feasible(spacing, n * disc_count(radius, spacing)) {
        return Vec::new();
    }
    let (frame, main) = frame(axis);
    let odd = odd_numbers(radius, spacing);
    let limit = half_spacings2(radius, spacing);
    let across = if odd.is_empty() || limit <= 2.0 { vec![0.0] } else { odd };
    let along: Vec<f64> = if height <= 0.5 * spacing {
        vec![height / spacing]
    } else {
        // The last layer stays inside although n is rounded up.
        (0..n as usize).map(|k| 2.0 * k as f64 + 1.0).filter(|k| 0.5 * k * spacing < height).collect()
    };
    let lists = [0, 1, 2].map(|k| if k == main { &along } else { &across });
    let half = 0.5 * spacing;
    let mut points = Vec::new();
    for &k in lists[2] {
        for &j in lists[1] {
            for &i in lists[0] {
                let mut o = [i, j, k];
                let at = base + half * (i * frame[0] + j * frame[1] + k * frame[2]);
                o[main] = 0.0;
                if o[0] * o[0] + o[1] * o[1] + o[2] * o[2] < limit {
                    points.push(at);
                }
            }
        }
    }
    points
}

/// A square lattice in the plane of a disc, symmetric about its centre. Of the two symmetric placements (centre on a
/// point or between four) it is the one whose points × spacing² are nearer to the area.
pub fn disc_lattice(center: DVec3, normal: DVec3, radius: f64, spacing: f64) -> Vec<DVec3> {
    if !feasible(spacing, disc_count(radius, spacing)) || radius.is_nan() || radius <= 0.0 {
        return Vec::new();
    }
    let (frame, main) = frame(normal);
    let limit = half_spacings2(radius, spacing);
    let odd = odd_numbers(radius, spacing);
    let whole = (radius / spacing).floor() as i64;
    let even: Vec<f64> = (-whole..=whole).map(|i| 2.0 * i as f64).collect();
    let lattice = |numbers: &[f64]| -> Vec<(f64, f64)> {
        let pairs = numbers.iter().flat_map(|&j| numbers.iter().map(move |&i| (i, j)));
        pairs.filter(|(i, j)| i * i + j * j < limit).collect()
    };
    let (between, onto) = (lattice(&odd), lattice(&even));
    let wanted = 0.25 * std::f64::consts::PI * limit;
    let off = |lattice: &[(f64, f64)]| (lattice.len() as f64 - wanted).abs();
    let chosen = if !between.is_empty() && off(&between) <= off(&onto) { between } else { onto };
    let [u, v] = match main {
        0 => [frame[1], frame[2]],
        1 => [frame[0], frame[2]],
        _ => [frame[0], frame[1]],
    };
    chosen.into_iter().map(|(i, j)| center + 0.5 * spacing * (i * u + j * v)).collect()
}

/// The odd numbers within the radius, in half spacings.
fn odd_numbers(radius: f64, spacing: f64) -> Vec<f64> {
    let n = (radius / spacing + 0.5).floor().max(0.0) as i64;
    (-n..n).map(|i| 2.0 * i as f64 + 1.0).collect()
}

/// The radius squared, in half spacings, less the skin.
fn half_spacings2(radius: f64, spacing: f64) -> f64 {
    let r = 2.0 * radius / spacing;
    r * r * (1.0 - SKIN)
}

/// An orthonormal frame as near to x, y, z as `axis` allows, and which of the three `axis` is. Exact when `axis` is
/// along x, y or z.
pub(crate) fn frame(axis: DVec3) -> ([DVec3; 3], usize) {
    let main = (0..3).fold(0, |best, k| if axis[k].abs() > axis[best].abs() { k } else { best });
    let (next, last) = ((main + 1) % 3, (main + 2) % 3);
    let mut frame = [DVec3::ZERO; 3];
    frame[main] = axis;
    let world = DVec3::AXES[next];
    frame[next] = (world - axis * world.dot(axis)).normalize_or(world);
    frame[last] = axis.cross(frame[next]);
    // The lattice is symmetric; this only keeps the order of points the same for both directions of the axis.
    if frame[last][last] < 0.0 {
        frame[last] = -frame[last];
    }
    (frame, main)
}

/// Rows of a lattice that cost as much as a point to be gone through.
const ROWS_PER_POINT: f64 = 64.0;

/// Upper bound of the points of [`fill_mesh`]: those of its box, or those whose cells lie in the mesh or within half
/// a cell's diagonal of a triangle. A mesh that is thin but far spread counts for the rows that are searched.
pub(super) fn mesh_count(mesh: &TriMesh, spacing: f64) -> f64 {
    if !mesh.is_closed() {
        return 0.0;
    }
    let Aabb { min, max } = mesh.bounds();
    let reach = 0.75_f64.sqrt() * spacing;
    let pi = std::f64::consts::PI;
    let rims: f64 = (0..mesh.triangles.len())
        .map(|t| {
            let [a, b, c] = mesh.corners(t);
            0.5 * pi * reach * reach * (a.distance(b) + b.distance(c) + c.distance(a))
        })
        .sum();
    let tips = 4.0 / 3.0 * pi * reach.powi(3) * mesh.triangles.len() as f64;
    let around = mesh.volume() + mesh.area() * reach + rims + tips;
    let rows = layers(max.y - min.y, spacing) * layers(max.z - min.z, spacing);
    box_count(min, max, spacing).min((around / spacing.powi(3)).max(rows / ROWS_PER_POINT))
}

/// A lattice centred in a mesh's box, those points inside a closed mesh. Points are told by the winding number along
/// rows, which stays right where parts of a mesh overlap.
pub(super) fn fill_mesh(mesh: &TriMesh, spacing: f64) -> Vec<DVec3> {
    if !mesh.is_closed() || !feasible(spacing, mesh_count(mesh, spacing)) {
        return Vec::new();
    }
    let Aabb { min, max } = mesh.bounds();
    // Rows and columns are made in full, the points only where they are inside.
    if (max - min).max_element() / spacing > MAX_POINTS {
        return Vec::new();
    }
    let [x, y, z] = centred(min, max, spacing);
    z.par_iter()
        .flat_map_iter(|&z| {
            let mut points = Vec::new();
            let mut hits = Vec::new();
            for &y in &y {
                fill_row(mesh, &x, DVec3::new(spacing, y, z), &mut hits, &mut points);
            }
            points
        })
        .collect()
}

/// Adds the points of one row inside a mesh; `at` is (spacing, y, z).
fn fill_row(mesh: &TriMesh, x: &[f64], at: DVec3, hits: &mut Vec<(f64, i32)>, points: &mut Vec<DVec3>) {
    let DVec3 { x: spacing, y, z } = at;
    // Beside the lattice by odd amounts, so that the line meets no edge of a mesh drawn on round numbers.
    const ASIDE: [(f64, f64); 4] =
        [(2.718e-7, 3.1415e-7), (-4.669e-7, 1.618e-7), (1.202e-6, -5.772e-6), (-6.626e-6, -8.314e-6)];
    for (dy, dz) in ASIDE {
        let (y_line, z_line) = (y + dy * spacing, z + dz * spacing);
        hits.clear();
        let mut clean = true;
        mesh.line_along_x(y_line, z_line, |corners| match line_hit(corners, y_line, z_line) {
            LineHit::None => {}
            LineHit::At(x, turn) => hits.push((x, turn)),
            LineHit::Edge => clean = false,
        });
        if !clean || hits.iter().map(|h| h.1).sum::<i32>() != 0 {
            continue;
        }
        hits.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        let (mut winding, mut next) = (0, 0);
        for &x in x {
            while next < hits.len() && hits[next].0 < x {
                winding += hits[next].1;
                next += 1;
            }
            if winding > 0 {
                points.push(DVec3::new(x, y, z));
            }
        }
        return;
    }
    points.extend(x.iter().map(|&x| DVec3::new(x, y, z)).filter(|p| mesh.contains(*p)));
}

/// How a line along x meets a triangle.
enum LineHit {
    None,
    /// x of the hit, m, and +1 where the line enters the mesh, -1 where it leaves.
    At(f64, i32),
    /// Too close to an edge to tell.
    Edge,
}

fn line_hit(corners: [DVec3; 3], y: f64, z: f64) -> LineHit {
    let [a, b, c] = corners.map(|v| (v.y - y, v.z - z));
    // Swapping two corners negates the value exactly: neighbours agree on their common edge.
    let cross = |p: (f64, f64), q: (f64, f64)| p.0 * q.1 - p.1 * q.0;
    let (u, v, w) = (cross(b, c), cross(c, a), cross(a, b));
    if (u < 0.0 || v < 0.0 || w < 0.0) && (u > 0.0 || v > 0.0 || w > 0.0) {
        return LineHit::None;
    }
    if u == 0.0 || v == 0.0 || w == 0.0 {
        return LineHit::Edge;
    }
    let x = (u * corners[0].x + v * corners[1].x + w * corners[2].x) / (u + v + w);
    // The sum is the x component of the outward normal: against the line where it enters.
    LineHit::At(x, if u < 0.0 { 1 } else { -1 })
}

#[cfg(test)]
mod tests;
