//! The oracle of the tests: the same step in double precision, spring by spring, with no groups, lanes or threads, and solved to the
//! end.

use glam::{DMat3, DVec3};

use super::implicit::rates;
use crate::state::springs::Springs;

/// A spring as the matrix sees it: its nodes, its block, kg, and its impulse on the first of them, N s.
pub(super) struct Spring {
    nodes: [usize; 2],
    block: DMat3,
    impulse: DVec3,
}

fn outer(n: DVec3) -> DMat3 {
    DMat3::from_cols(n * n.x, n * n.y, n * n.z)
}

/// Génevaux 2.2, f = -k(|l|-l0) - z l̇, and its derivatives.
pub(super) fn springs(state: &Springs, dt: f64) -> Vec<Spring> {
    let mut all = Vec::new();
    for body in &state.bodies {
        let rates = rates(body, dt);
        let t = rates.theta * dt;
        for s in body.springs.clone() {
            let [a, b] = state.pair[s].map(|i| i as usize);
            let (l, v) = (state.position[a] - state.position[b], state.velocity[a] - state.velocity[b]);
            let (length, n) = (l.length(), l.normalize_or_zero());
            let (k, z) = (state.stiffness[s].min(rates.most[0]), state.damping[s].min(rates.most[1]));
            let stretch = length - state.rest[s];
            let side = if length > 0.0 { k * (stretch / length).max(0.0) } else { 0.0 };
            let stiff = outer(n) * k + (DMat3::IDENTITY - outer(n)) * side;
            let f = -n * (k * stretch) - n * (z * v.dot(n));
            all.push(Spring {
                nodes: [a, b],
                block: stiff * (t * t) + outer(n) * (dt * z),
                impulse: dt * (f - t * (stiff * v)),
            });
        }
    }
    all
}

/// A p without contacts.
pub(super) fn multiply(state: &Springs, springs: &[Spring], p: &[DVec3]) -> Vec<DVec3> {
    let mut q: Vec<DVec3> = p.iter().zip(&state.mass).map(|(p, m)| *p * *m).collect();
    for Spring { nodes: [a, b], block, .. } in springs {
        let image = *block * (p[*a] - p[*b]);
        q[*a] += image;
        q[*b] -= image;
    }
    q
}

/// The right side without contacts.
pub(super) fn right_side(state: &Springs, springs: &[Spring], gravity: DVec3, dt: f64) -> Vec<DVec3> {
    let mut b: Vec<DVec3> =
        (0..state.len()).map(|i| dt * (state.mass[i] * gravity + state.force[i])).collect();
    for Spring { nodes: [first, second], impulse, .. } in springs {
        b[*first] += *impulse;
        b[*second] -= *impulse;
    }
    b
}

/// Δv of a step that nothing touches, by conjugate gradients without preconditioner down to rounding.
pub(super) fn solve(state: &Springs, gravity: DVec3, dt: f64) -> Vec<DVec3> {
    let springs = springs(state, dt);
    let free = |v: &mut [DVec3]| {
        v.iter_mut().zip(&state.pinned).filter(|(_, pinned)| **pinned).for_each(|(v, _)| *v = DVec3::ZERO);
    };
    let dot = |a: &[DVec3], b: &[DVec3]| a.iter().zip(b).map(|(a, b)| a.dot(*b)).sum::<f64>();
    let mut r = right_side(state, &springs, gravity, dt);
    free(&mut r);
    let (mut x, mut p) = (vec![DVec3::ZERO; state.len()], r.clone());
    let mut square = dot(&r, &r);
    let end = 1e-24 * square;
    for _ in 0..20_000 {
        if square <= end {
            break;
        }
        let mut q = multiply(state, &springs, &p);
        free(&mut q);
        let alpha = square / dot(&p, &q);
        for i in 0..state.len() {
            x[i] += alpha * p[i];
            r[i] -= alpha * q[i];
        }
        let next = dot(&r, &r);
        (0..state.len()).for_each(|i| p[i] = r[i] + next / square * p[i]);
        square = next;
    }
    x
}

mod tests {
    use std::path::Path;

    use super::*;
    use crate::models::springs::build;
    use crate::models::springs::contact::Contacts;
    use crate::models::springs::implicit::Implicit;
    use crate::models::springs::rows::{Others, Rows};
    use crate::models::springs::system::System;
    use crate::scene::{Scene, SolidKind, mesh::TriMesh, shape::Shape};

    const DT: f64 = 2e-3;
    const GRAVITY: DVec3 = DVec3::new(0.0, -9.81, 0.3);

    /// Numbers in (-½, ½) that look random.
    fn wobble(i: usize, k: usize) -> f64 {
        ((i * 7919 + k * 104_729) % 1000) as f64 / 1000.0 - 0.5
    }

    fn vector(i: usize, k: usize) -> DVec3 {
        DVec3::new(wobble(i, k), wobble(i, k + 1), wobble(i, k + 2))
    }

    fn scene(text: &str) -> Scene {
        let text = format!("{text}\n[model]\nspacing = 0.1\n[[fluid]]\nname = 'none'\n");
        Scene::parse(&text, "solids.toml", Path::new("."), &[]).unwrap_or_else(|e| panic!("{e}")).scene
    }

    /// Bodies of all kinds, out of shape, in motion and pushed.
    fn bodies() -> Vec<(&'static str, Springs)> {
        let far = "center = [1e3, 2e3, -1e3], radius = 0.5";
        let texts = [
            ("box", "shape = { box = { min = [0, 0, 0], max = [1, 0.7, 0.9] } }, stiffness = 2e4, damping = 5".into()),
            ("large", "shape = { box = { min = [0, 0, 0], max = [1.4, 1.5, 1.3] } }, stiffness = 5e4, damping = 20".into()),
            ("round", format!("kind = 'lattice', shape = {{ sphere = {{ {far} }} }}, stiffness = 1e5, damping = 30")),
            ("ball", "shape = { sphere = { center = [0, 0, 0], radius = 0.1 } }".into()),
            (
                "cloth",
                "kind = 'cloth', shape = { box = { min = [0, 1, 0], max = [3, 1.01, 2] } }, stiffness = 800, \
                 damping = 1, bend = 0.1, pinned = ['corners']"
                    .into(),
            ),
            ("mesh", "shape = { sphere = { center = [0, 0, 0], radius = 0.5 } }, stiffness = 300".into()),
        ];
        let body = |(name, text): (&'static str, String)| {
            let mut scene = scene(&format!("solid = [{{ {text} }}]"));
            if name == "mesh" {
                scene.solids[0].kind = SolidKind::Cloth;
                scene.solids[0].shape = Shape::Mesh(TriMesh::icosphere(DVec3::ZERO, 0.5, 3).into());
            }
            let mut state = build::build(&scene);
            for i in 0..state.len() {
                state.position[i] += 0.02 * vector(i, 1);
            }
            for i in 0..state.len() {
                if state.pinned[i] {
                    continue;
                }
                state.velocity[i] = DVec3::new(3.0, -1.0, 2.0) + vector(i, 4);
                state.force[i] = 20.0 * state.mass[i] * vector(i, 7);
            }
            (name, state)
        };
        texts.into_iter().map(body).collect()
    }

    fn size(of: &[DVec3]) -> f64 {
        of.iter().map(|v| v.length_squared()).sum::<f64>().sqrt()
    }

    fn apart(one: &[DVec3], two: &[DVec3]) -> f64 {
        one.iter().zip(two).map(|(a, b)| a.distance_squared(*b)).sum::<f64>().sqrt()
    }

    #[test]
    fn equations_in_lanes_are_those_of_the_oracle_spring_by_spring() {
        for (name, state) in bodies() {
            let body = &state.bodies[0];
            let springs = springs(&state, DT);
            let exact = right_side(&state, &springs, GRAVITY, DT);
            for rows in [Rows::along(&state, body), Rows::among(&state, body)] {
                let mut system = System::of_rows(rows, &state, body);
                system.assemble(&state, body, GRAVITY, rates(body, DT), DT);
                let b: Vec<DVec3> = (0..state.len()).map(|i| system.right_side(i)).collect();
                assert!(
                    apart(&b, &exact) < 1e-5 * size(&exact),
                    "{name}: {}",
                    apart(&b, &exact) / size(&exact)
                );
                let p: Vec<DVec3> = (0..state.len()).map(|i| vector(i, 11)).collect();
                p.iter().enumerate().for_each(|(i, p)| system.set_direction(i, *p));
                let (product, exact) = (system.multiply(), multiply(&state, &springs, &p));
                let q: Vec<DVec3> = (0..state.len()).map(|i| system.image(i)).collect();
                assert!(
                    apart(&q, &exact) < 2e-6 * size(&exact),
                    "{name}: {}",
                    apart(&q, &exact) / size(&exact)
                );
                let dot: f64 = p.iter().zip(&exact).map(|(p, q)| p.dot(*q)).sum();
                assert!((product / dot - 1.0).abs() < 2e-6, "{name}: {product} {dot}");
            }
        }
    }

    #[test]
    fn a_step_changes_velocities_as_the_oracle_does() {
        for (name, mut state) in bodies() {
            let (before, exact) = (state.velocity.clone(), solve(&state, GRAVITY, DT));
            let contacts = Contacts::new(&state);
            Implicit::new(&state).step(&mut state, &contacts, GRAVITY, DT);
            let change: Vec<DVec3> = state.velocity.iter().zip(&before).map(|(a, b)| *a - *b).collect();
            let error = apart(&change, &exact) / size(&exact);
            assert!(error < 1e-3, "{name}: {error}");
        }
    }

    #[test]
    fn lattices_and_weaves_are_read_along_and_meshes_of_triangles_among() {
        for (name, state) in bodies() {
            let rows = Rows::new(&state, &state.bodies[0]);
            assert_eq!(matches!(rows.others, Others::Along(_)), name != "mesh", "{name}");
        }
    }
}
