//! Single triangles: nearest point, crossing by a segment.

use glam::DVec3;

/// Where on a triangle its nearest point lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Feature {
    /// In its interior.
    Face,
    /// On the edge from corner `k` to corner `k + 1`.
    Edge(usize),
    /// At corner `k`.
    Vertex(usize),
}

/// The normal of a triangle, of length twice its area; outward when the corners run counter-clockwise.
pub(crate) fn area_normal([a, b, c]: [DVec3; 3]) -> DVec3 {
    (b - a).cross(c - a)
}

/// The point of triangle `abc` nearest to `p` (Ericson, Real-Time Collision Detection, 5.1.5).
#[inline]
pub(crate) fn nearest_point(p: DVec3, [a, b, c]: [DVec3; 3]) -> (DVec3, Feature) {
    let (ab, ac, ap) = (b - a, c - a, p - a);
    let (d1, d2) = (ab.dot(ap), ac.dot(ap));
    if d1 <= 0.0 && d2 <= 0.0 {
        return (a, Feature::Vertex(0));
    }
    let bp = p - b;
    let (d3, d4) = (ab.dot(bp), ac.dot(bp));
    if d3 >= 0.0 && d4 <= d3 {
        return (b, Feature::Vertex(1));
    }
    let vc = d1 * d4 - d3 * d2;
    if vc <= 0.0 && d1 >= 0.0 && d3 <= 0.0 {
        return (a + ab * (d1 / (d1 - d3)), Feature::Edge(0));
    }
    let cp = p - c;
    let (d5, d6) = (ab.dot(cp), ac.dot(cp));
    if d6 >= 0.0 && d5 <= d6 {
        return (c, Feature::Vertex(2));
    }
    let vb = d5 * d2 - d1 * d6;
    if vb <= 0.0 && d2 >= 0.0 && d6 <= 0.0 {
        return (a + ac * (d2 / (d2 - d6)), Feature::Edge(2));
    }
    let va = d3 * d6 - d5 * d4;
    let (e4, e5) = (d4 - d3, d5 - d6);
    if va <= 0.0 && e4 >= 0.0 && e5 >= 0.0 {
        return (b + (c - b) * (e4 / (e4 + e5)), Feature::Edge(1));
    }
    let denominator = 1.0 / (va + vb + vc);
    (a + ab * (vb * denominator) + ac * (vc * denominator), Feature::Face)
}

/// A segment prepared for many triangles: watertight, so that it cannot slip through a shared edge (Woop, Benthin
/// and Wald 2013, "Watertight ray/triangle intersection").
#[derive(Clone, Copy, Debug)]
pub(crate) struct SegmentTest {
    from: DVec3,
    axes: [usize; 3],
    shear: DVec3,
}

impl SegmentTest {
    /// `None` for a segment without length.
    pub fn new(from: DVec3, to: DVec3) -> Option<Self> {
        let d = to - from;
        let kz = (0..3).fold(0, |best, k| if d[k].abs() > d[best].abs() { k } else { best });
        let (kx, ky) = ((kz + 1) % 3, (kz + 2) % 3);
        let shear = DVec3::new(d[kx] / d[kz], d[ky] / d[kz], 1.0 / d[kz]);
        (d[kz] != 0.0 && shear.is_finite()).then_some(Self { from, axes: [kx, ky, kz], shear })
    }

    /// Parameter 0..1 at which the segment meets the triangle, edges included.
    pub fn hit(&self, triangle: [DVec3; 3]) -> Option<f64> {
        let [kx, ky, kz] = self.axes;
        let s = self.shear;
        let sheared = triangle.map(|v| {
            let v = v - self.from;
            (v[kx] - s.x * v[kz], v[ky] - s.y * v[kz], s.z * v[kz])
        });
        let [a, b, c] = sheared;
        // Swapping two corners negates the value exactly: neighbours agree on their common edge.
        let u = c.0 * b.1 - c.1 * b.0;
        let v = a.0 * c.1 - a.1 * c.0;
        let w = b.0 * a.1 - b.1 * a.0;
        if (u < 0.0 || v < 0.0 || w < 0.0) && (u > 0.0 || v > 0.0 || w > 0.0) {
            return None;
        }
        let det = u + v + w;
        let t = (u * a.2 + v * b.2 + w * c.2) / det;
        (det != 0.0 && (0.0..=1.0).contains(&t)).then_some(t)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn point() -> impl Strategy<Value = DVec3> {
        [-1.0..1.0, -1.0..1.0, -1.0..1.0].prop_map(DVec3::from)
    }

    proptest! {
        #[test]
        fn no_sampled_point_of_the_triangle_is_nearer(
            p in point(), a in point(), b in point(), c in point(), u in 0.0..1.0, v in 0.0..1.0,
        ) {
            let (u, v) = if u + v > 1.0 { (1.0 - u, 1.0 - v) } else { (u, v) };
            let sample = a + (b - a) * u + (c - a) * v;
            let (nearest, _) = nearest_point(p, [a, b, c]);
            prop_assert!(p.distance(nearest) <= p.distance(sample) + 1e-12);
        }

        #[test]
        fn a_segment_through_a_shared_edge_meets_one_of_both_triangles(
            a in point(), b in point(), c in point(), d in point(), from in point(), s in 0.01..0.99,
        ) {
            // c and d on different sides of the plane through from, a and b: then the segment cannot pass beside.
            let n = (a - from).cross(b - from);
            let d = if n.dot(c - from) * n.dot(d - from) > 0.0 { 2.0 * from - d } else { d };
            prop_assume!(n.dot(c - from) * n.dot(d - from) < -1e-9);
            let on_edge = a + (b - a) * s;
            let to = from + (on_edge - from) * 2.0;
            let test = SegmentTest::new(from, to);
            prop_assume!(test.is_some());
            let test = test.unwrap();
            prop_assert!(test.hit([a, b, c]).is_some() || test.hit([b, a, d]).is_some());
        }
    }
}
