use super::*;
use crate::surface::gather::COLUMNS;

/// Particles around a block with a bit of everything.
fn near(columns: usize, column: impl Fn(usize, f32) -> f32) -> Near {
    let mut near = Near::default();
    let mut seed = 1u32;
    let mut random = || {
        seed = seed.wrapping_mul(1664525).wrapping_add(1013904223);
        (seed >> 8) as f32 / 16777216.0
    };
    for j in 0..50 {
        near.index.push(j);
        for a in 0..3 {
            near.x[a].push(random() * 14.0 - 3.5);
        }
        for c in 0..columns {
            near.column[c].push(column(c, random()));
        }
    }
    near.x.iter_mut().for_each(|x| x.resize(64, 65536.0));
    near.column.iter_mut().take(columns).for_each(|x| x.resize(64, 0.0));
    near
}

fn fields() -> Vec<(Field, Near)> {
    let field = |shape| Field {
        local: Default::default(),
        columns: Vec::new(),
        shape,
        iso: 0.5,
        reach: 4.0,
        stray: 0.0,
        signed: false,
    };
    let ball = near(2, |c, r| if c == 0 { 0.5 + r } else { 0.04 + 0.1 * r });
    let ellipsoid = near(COLUMNS, |c, r| match c {
        0 => 0.5 + r,
        1..4 => 0.06 + 0.1 * r,
        _ => 0.04 * (r - 0.5),
    });
    let small = near(COLUMNS, |c, r| match c {
        0 => 0.5 + r,
        1..4 => 0.23 + 0.2 * r,
        _ => 0.02 * (r - 0.5),
    });
    let product = near(1, |_, r| 0.5 + r);
    let profile = Profile::of_knots(&[0.5, 0.3, 0.2, 0.05]);
    let mut fields = vec![
        (field(Shape::Ball), ball),
        (field(Shape::Ellipsoid), ellipsoid),
        // Of so little reach that they meet few layers of points.
        (Field { reach: 2.2, ..field(Shape::Ellipsoid) }, small),
        (field(Shape::Product(profile)), product),
    ];
    fields.iter_mut().for_each(|(field, near)| field.measure(near));
    fields
}

/// All that a field gives at a point.
fn sample(field: &Field, near: &Near, velocity: &[Vec<f32>; 3], p: [f32; 3]) -> (f32, [f32; 3], [f32; 3]) {
    // Others of the eight points lie elsewhere.
    let points = p.map(|x| std::array::from_fn(|n| if n == 2 { x } else { 0.7 * n as f32 }));
    let s = field.at(near, velocity, &points, AT_ONCE, &mut Vec::new());
    (s.value[2], s.gradient.map(|g| g[2]), s.velocity.map(|v| v[2]))
}

#[test]
fn points_of_a_block_have_the_sum_of_all_shares() {
    for (field, near) in fields() {
        let (mut values, mut capped) = ([0.0; VALUES], [0.0; VALUES]);
        field.fill(&near, f32::INFINITY, &mut values, &mut Vec::new());
        field.fill(&near, 0.4, &mut capped, &mut Vec::new());
        for (i, v) in values.iter().enumerate() {
            let p = [(i % 8) as f32, (i / 8 % 8) as f32, (i / 64) as f32];
            let want: f32 = (0..near.len()).map(|k| field.share(&near, k, p)).sum();
            assert!((v - want).abs() < 1e-5, "{:?} {p:?}: {v} {want}", field.shape);
            // What is enough may lack something; what is not is the same to the bit.
            assert!(capped[i] == *v || (capped[i] >= 0.4 && capped[i] <= *v), "{p:?}: {v} {}", capped[i]);
            let got = sample(&field, &near, &Default::default(), p).0;
            assert!((got - want).abs() < 1e-5, "{:?} {p:?}: {got} {want}", field.shape);
        }
    }
}

#[test]
fn the_shares_of_a_profile_are_those_of_its_knots() {
    let profile = Profile::of_knots(&[0.5, 0.3, 0.2, 0.05]);
    for (u, want) in
        [(0.0, 0.5), (0.5, 0.4), (-1.0, 0.3), (2.5, 0.125), (-3.5, 0.025), (4.0, 0.0), (9.0, 0.0)]
    {
        assert!((profile.value(u) - want).abs() < 1e-6, "{u}: {}", profile.value(u));
    }
}

#[test]
fn gradients_agree_with_differences() {
    for (field, near) in fields() {
        // The slope of a product is meant over one cell to either side.
        let step = if matches!(field.shape, Shape::Product(_)) { 1.0 } else { 0.01 };
        for p in [[1.3, 2.0, 4.0], [3.0, 3.7, 5.0], [6.0, 5.0, 2.2]] {
            let gradient = sample(&field, &near, &Default::default(), p).1;
            for a in 0..3 {
                let value = |s: f32| {
                    let mut q = p;
                    q[a] += s;
                    (0..near.len()).map(|k| f64::from(field.share(&near, k, q))).sum::<f64>()
                };
                let want = ((value(step) - value(-step)) / (2.0 * f64::from(step))) as f32;
                assert!((gradient[a] - want).abs() < 2e-3, "{:?} {p:?}: {gradient:?} {want}", field.shape);
            }
        }
    }
}

#[test]
fn velocities_are_weighted_by_shares() {
    for (field, near) in fields() {
        let velocity: [Vec<f32>; 3] = std::array::from_fn(|a| vec![a as f32 + 1.0; 64]);
        let (value, _, v) = sample(&field, &near, &velocity, [3.0, 3.5, 4.0]);
        assert!(value > 0.0);
        for (a, v) in v.into_iter().enumerate() {
            assert!((v - (a as f32 + 1.0) * value).abs() < 1e-5);
        }
    }
}
