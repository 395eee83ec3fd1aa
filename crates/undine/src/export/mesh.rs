//! What all writers share: their signature, checks before the first byte, the parts of several fluids, numbers as text.

use std::borrow::Cow;
use std::fmt;
use std::io;

use super::unfit;
use crate::frame::Frame;
use crate::plain::Shortest;
use crate::surface::Surface;

use super::stage::Stage;

/// One frame with its surface and what stands around it.
#[derive(Clone, Copy, Debug)]
pub struct Shot<'a> {
    /// Time, number and solids are taken from it.
    pub frame: &'a Frame,
    /// The fluid's surface.
    pub surface: &'a Surface,
    /// Walls, camera and looks.
    pub stage: &'a Stage,
}

/// Fails unless the arrays fit each other, every corner exists and every number is finite.
pub(super) fn check(surface: &Surface) -> io::Result<()> {
    let vertices = surface.position.len();
    for (name, length) in [
        ("normals", surface.normal.len()),
        ("velocities", surface.velocity.len()),
        ("fluids", surface.fluid.len()),
    ] {
        if length != 0 && length != vertices {
            return Err(unfit(format!("the surface has {length} {name} for {vertices} vertices")));
        }
    }
    if u32::try_from(vertices).is_err() {
        return Err(unfit(format!("{vertices} vertices are more than a mesh file can count")));
    }
    for (t, triangle) in surface.triangles.iter().enumerate() {
        if let Some(corner) = triangle.iter().find(|&&corner| corner as usize >= vertices) {
            return Err(unfit(format!("triangle {t} has the corner {corner}, but there are {vertices}")));
        }
    }
    for (name, vectors) in
        [("position", &surface.position), ("normal", &surface.normal), ("velocity", &surface.velocity)]
    {
        if let Some(vertex) = vectors.iter().position(|v| !v.iter().all(|x| x.is_finite())) {
            return Err(unfit(format!("the {name} of vertex {vertex} is not finite")));
        }
    }
    Ok(())
}

/// Fails unless the solids are whole and finite.
pub(super) fn check_solids(frame: &Frame) -> io::Result<()> {
    for body in &frame.solids {
        let name = &body.name;
        if body.velocity.len() != body.nodes.len() {
            return Err(unfit(format!("solid `{name}` has nodes without velocity")));
        }
        if body.triangles.as_flattened().iter().any(|&node| node as usize >= body.nodes.len()) {
            return Err(unfit(format!("solid `{name}` has a triangle over a missing node")));
        }
        let numbers = body.nodes.as_flattened().iter().chain(body.velocity.as_flattened());
        if !numbers.chain([&body.radius]).all(|x| x.is_finite()) {
            return Err(unfit(format!("solid `{name}` has a number that is not finite")));
        }
    }
    Ok(())
}

/// The surface of each fluid that has triangles, by the fluid of a triangle's first corner. One fluid costs no copy.
pub(super) fn parts(surface: &Surface) -> Vec<(u8, Cow<'_, Surface>)> {
    if surface.triangles.is_empty() {
        return Vec::new();
    }
    let first = surface.fluid.first().copied().unwrap_or(0);
    if surface.fluid.iter().all(|&fluid| fluid == first) {
        return vec![(first, Cow::Borrowed(surface))];
    }
    let fluid_of = |t: &[u32; 3]| surface.fluid[t[0] as usize];
    let mut present = [false; 256];
    surface.triangles.iter().for_each(|t| present[fluid_of(t) as usize] = true);
    let fluids = (0..=u8::MAX).filter(|&fluid| present[fluid as usize]);
    fluids.map(|fluid| (fluid, Cow::Owned(pick(surface, |t| fluid_of(t) == fluid)))).collect()
}

/// The triangles that are wanted, with the vertices they use.
fn pick(surface: &Surface, wanted: impl Fn(&[u32; 3]) -> bool) -> Surface {
    const UNUSED: u32 = u32::MAX;
    let mut number = vec![UNUSED; surface.position.len()];
    let mut part = Surface::default();
    for triangle in surface.triangles.iter().filter(|t| wanted(t)) {
        let corners = triangle.map(|corner| {
            let i = corner as usize;
            if number[i] == UNUSED {
                number[i] = part.position.len() as u32;
                part.position.push(surface.position[i]);
                part.normal.extend(surface.normal.get(i));
                part.velocity.extend(surface.velocity.get(i));
                part.fluid.extend(surface.fluid.get(i));
            }
            number[i]
        });
        part.triangles.push(corners);
    }
    part
}

/// The smallest box around the vertices.
pub(super) fn extent(position: &[[f32; 3]]) -> ([f32; 3], [f32; 3]) {
    position.iter().fold(([f32::INFINITY; 3], [f32::NEG_INFINITY; 3]), |(low, high), p| {
        (std::array::from_fn(|k| low[k].min(p[k])), std::array::from_fn(|k| high[k].max(p[k])))
    })
}

/// Who wrote a file and what moment it shows, as three lines of comment.
pub(super) fn signature(frame: &Frame, mark: &str) -> String {
    let (version, time, index) = (env!("CARGO_PKG_VERSION"), Shortest(frame.time), frame.index);
    format!("{mark} undine {version}\n{mark} time {time}\n{mark} frame {index}\n")
}

/// A name of letters, digits and underscores, not beginning with a digit: fit for every text format.
pub(super) fn identifier(name: &str) -> String {
    let mut identifier: String =
        name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    if !identifier.starts_with(|c: char| c.is_ascii_alphabetic()) {
        identifier.insert(0, '_');
    }
    identifier
}

/// The shortest digits that read back as the same f32; very large and very small ones with an exponent.
pub(super) struct Short(pub(super) f32);

impl fmt::Display for Short {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let size = self.0.abs();
        if size == 0.0 || (1e-5..1e9).contains(&size) {
            write!(f, "{}", self.0)
        } else {
            write!(f, "{:e}", self.0)
        }
    }
}

/// Numbers with something between them.
pub(super) struct Joined<'a>(pub(super) &'a [f32; 3], pub(super) &'static str);

impl fmt::Display for Joined<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Joined([x, y, z], between) = self;
        write!(f, "{}{between}{}{between}{}", Short(*x), Short(*y), Short(*z))
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::scene::mesh::TriMesh;
    use glam::DVec3;
    use proptest::prelude::*;

    /// Two balls of different fluids that move apart.
    pub(crate) fn balls() -> Surface {
        let mut surface = Surface::default();
        for (fluid, x) in [(0u8, -1.0), (1, 1.0)] {
            let ball = TriMesh::icosphere(DVec3::ZERO, 1.0, 2);
            let first = surface.position.len() as u32;
            for v in &ball.vertices {
                surface.position.push((0.5 * *v + DVec3::new(x, 0.75, 0.25)).as_vec3().to_array());
                surface.normal.push(v.as_vec3().to_array());
                surface.velocity.push([x as f32, 0.0, 0.0]);
                surface.fluid.push(fluid);
            }
            surface.triangles.extend(ball.triangles.iter().map(|t| t.map(|i| first + i)));
        }
        surface
    }

    #[test]
    fn parts_are_whole_and_disjoint() {
        let surface = balls();
        let parts = parts(&surface);
        assert_eq!(parts.iter().map(|(fluid, _)| *fluid).collect::<Vec<_>>(), [0, 1]);
        for (fluid, part) in &parts {
            check(part).unwrap();
            assert_eq!(part.position.len(), surface.position.len() / 2);
            assert_eq!(part.triangles.len(), surface.triangles.len() / 2);
            assert!(part.fluid.iter().all(|f| f == fluid));
        }
        let one = Surface { fluid: vec![], ..balls() };
        assert!(matches!(super::parts(&one)[..], [(0, Cow::Borrowed(_))]));
        assert!(super::parts(&Surface::default()).is_empty());
    }

    #[test]
    fn surfaces_that_do_not_hold_together_are_refused() {
        let refused = |change: fn(&mut Surface)| {
            let mut surface = balls();
            change(&mut surface);
            check(&surface).unwrap_err().to_string()
        };
        assert_eq!(refused(|s| s.normal.truncate(3)), "the surface has 3 normals for 324 vertices");
        assert_eq!(refused(|s| s.position[7][1] = f32::NAN), "the position of vertex 7 is not finite");
        assert_eq!(refused(|s| s.velocity[8][2] = f32::INFINITY), "the velocity of vertex 8 is not finite");
        let corner = "triangle 1 has the corner 324, but there are 324";
        assert_eq!(refused(|s| s.triangles[1][2] = 324), corner);
    }

    #[test]
    fn identifiers_begin_with_no_digit_and_hold_no_surprise() {
        assert_eq!(identifier("2. Glas \"groß\""), "_2__Glas__gro__");
        assert_eq!(identifier(""), "_");
        assert_eq!(identifier("ball"), "ball");
    }

    proptest! {
        #[test]
        fn a_short_number_reads_back_as_itself(bits: u32) {
            let x = f32::from_bits(bits);
            prop_assume!(x.is_finite());
            let text = Short(x).to_string();
            prop_assert_eq!(text.parse::<f32>().unwrap().to_bits(), bits);
            prop_assert!(text.len() <= 16, "{}", text);
        }
    }
}
