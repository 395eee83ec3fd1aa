//! Bodies against what mechanics says of them.

use std::path::Path;

use super::*;

/// A scene of solids only, in a spacing of 0.1 m.
fn scene(text: &str) -> Scene {
    let text = format!("{text}\n[model]\nspacing = 0.1\n[[fluid]]\nname = 'none'\n");
    Scene::parse(&text, "solids.toml", Path::new("."), &[]).unwrap_or_else(|e| panic!("{e}")).scene
}

/// Solids with what surrounds them.
struct Stand {
    solids: Solids,
    walls: Walls,
    fields: Fields,
    time: f64,
}

impl Stand {
    fn new(text: &str) -> Self {
        let scene = scene(text);
        Stand {
            solids: Solids::new(&scene),
            walls: Walls::new(&scene),
            fields: Fields::new(&scene),
            time: 0.0,
        }
    }

    fn step(&mut self, dt: f64) {
        self.time += dt;
        self.solids.step(dt, self.time, &self.walls, &self.fields, &mut Passes::default()).unwrap();
    }

    fn run(&mut self, duration: f64, dt: f64) {
        (0..(duration / dt).round() as usize).for_each(|_| self.step(dt));
    }

    fn state(&mut self) -> &mut Springs {
        &mut self.solids.state
    }

    fn centre(&self, body: usize) -> DVec3 {
        self.solids.state.centre(self.solids.state.bodies[body].nodes.clone())
    }

    fn lowest(&self, body: usize) -> f64 {
        let nodes = self.solids.state.bodies[body].nodes.clone();
        self.solids.state.position[nodes].iter().map(|p| p.y).fold(f64::INFINITY, f64::min)
    }
}

/// Numbers in (-½, ½) that look random.
fn wobble(i: usize, k: usize) -> f64 {
    ((i * 7919 + k * 104_729) % 1000) as f64 / 1000.0 - 0.5
}

const STILL: &str = "gravity = [0, 0, 0]\n";
const FLOOR: &str = "domain = { min = [-5, 0, -5], max = [5, 5, 5] }\n";

/// Two nodes of mass 1 kg, 0.1 m apart, joined by one spring.
fn pair(k: f64, z: f64) -> Stand {
    Stand::new(&format!(
        "{STILL}solid = [{{ shape = {{ box = {{ min = [0, 0, 0], max = [0.2, 0.1, 0.1] }} }}, \
         density = 1000, stiffness = {k}, damping = {z} }}]"
    ))
}

#[test]
fn a_lattice_joins_each_node_to_its_26_neighbours() {
    let cube = Stand::new("solid = [{ shape = { box = { min = [0, 0, 0], max = [0.3, 0.3, 0.3] } } }]");
    let s = &cube.solids.state;
    assert_eq!((s.len(), s.pair.len()), (27, 3 * 18 + 6 * 12 + 4 * 8));
    assert_eq!(s.links(13).len(), 26);
    assert!((s.bodies[0].mass - 27.0).abs() < 1e-9);
    // The border: 2 × 2 cells, six sides.
    assert_eq!(s.bodies[0].triangles.len(), 48);
}

#[test]
fn the_border_of_a_lattice_is_closed_and_faces_outward_in_any_frame() {
    for shape in [
        "box = { min = [0, 0, 0], max = [0.5, 0.4, 0.3] }",
        "sphere = { center = [0, 0, 0], radius = 0.4 }",
        "cylinder = { base = [0, 0, 0], axis = [1, 2, 0.5], radius = 0.3, height = 0.5 }",
        "cylinder = { base = [0, 0, 0], axis = [0, 0, -1], radius = 0.3, height = 0.5 }",
    ] {
        let body = Stand::new(&format!("solid = [{{ kind = 'lattice', shape = {{ {shape} }} }}]"));
        let frame = body.solids.frame();
        let at = |i: u32| DVec3::from_array(frame[0].nodes[i as usize].map(f64::from));
        let mut directed = std::collections::HashMap::new();
        let mut volume = 0.0;
        for t in &frame[0].triangles {
            let [a, b, c] = t.map(at);
            volume += a.dot(b.cross(c)) / 6.0;
            for k in 0..3 {
                *directed.entry((t[k], t[(k + 1) % 3])).or_insert(0) += 1;
            }
        }
        assert!(directed.iter().all(|((a, b), n)| directed.get(&(*b, *a)) == Some(n)), "{shape}");
        assert!(volume > 0.01, "{shape}: {volume}");
    }
}

#[test]
fn a_cloth_spans_its_box_and_weighs_what_it_should() {
    let cloth = Stand::new(
        "solid = [{ kind = 'cloth', density = 500, pinned = ['corners'], \
         shape = { box = { min = [0, 1, 0], max = [1, 1.01, 0.5] } } }]",
    );
    let s = &cloth.solids.state;
    assert_eq!(s.len(), 11 * 6);
    assert!((s.bodies[0].mass - 500.0 * 0.005).abs() < 1e-12);
    let ends = s.position.iter().fold((f64::MAX, f64::MIN), |e, p| (e.0.min(p.x), e.1.max(p.x)));
    assert_eq!(ends, (0.0, 1.0));
    assert_eq!(s.pinned.iter().filter(|p| **p).count(), 4);
    assert_eq!(s.bodies[0].triangles.len(), 100);
    let edges = Stand::new(
        "solid = [{ kind = 'cloth', pinned = ['edges'], shape = { box = { min = [0, 1, 0], max = [1, 1.01, 0.5] } } }]",
    );
    assert_eq!(edges.solids.state.pinned.iter().filter(|p| **p).count(), 2 * (11 + 6) - 4);
}

#[test]
fn a_round_cloth_and_one_of_a_mesh_have_springs_between_all_nodes() {
    let disc = Stand::new(
        "solid = [{ kind = 'cloth', density = 100, thickness = 0.01, \
         shape = { disc = { center = [0, 1, 0], normal = [0.3, 1, 0.2], radius = 0.5 } } }]",
    );
    let s = &disc.solids.state;
    assert!((s.bodies[0].mass - std::f64::consts::PI * 0.25).abs() < 1e-9);
    assert!((0..s.len()).all(|i| s.links(i).len() >= 3));
    assert!(s.rest.iter().all(|l| *l < 0.21));

    let mut scene = scene("solid = [{ shape = { sphere = { center = [0, 0, 0], radius = 0.5 } } }]");
    let mesh = crate::scene::mesh::TriMesh::icosphere(DVec3::ZERO, 0.5, 2);
    scene.solids[0] = crate::scene::Solid {
        kind: SolidKind::Cloth,
        shape: crate::scene::shape::Shape::Mesh(mesh.clone().into()),
        ..scene.solids[0].clone()
    };
    let s = Solids::new(&scene).state;
    assert_eq!(s.len(), mesh.vertices.len());
    // Edges and, across each edge, a bend spring.
    assert_eq!(s.pair.len(), 2 * (mesh.triangles.len() * 3 / 2));
    let mass = 1000.0 * 1e-3 * mesh.area();
    assert!((s.bodies[0].mass / mass - 1.0).abs() < 1e-9);
}

#[test]
fn a_free_lattice_keeps_its_momentum_to_rounding() {
    let mut cube = Stand::new(&format!(
        "{STILL}solid = [{{ shape = {{ box = {{ min = [0, 0, 0], max = [0.5, 0.5, 0.5] }} }}, stiffness = 1e5 }}]"
    ));
    for i in 0..cube.solids.len() {
        cube.state().velocity[i] = DVec3::new(1.0 + wobble(i, 1), wobble(i, 2), wobble(i, 3));
    }
    let before = cube.solids.state.momentum(0..125);
    cube.run(0.2, 1e-3);
    let drift = cube.solids.state.momentum(0..125) - before;
    assert!(drift.length() < 1e-11 * before.length(), "{drift}");
}

#[test]
fn a_spinning_lattice_keeps_most_of_its_angular_momentum_and_its_shape() {
    let mut cube = Stand::new(&format!(
        "{STILL}solid = [{{ shape = {{ box = {{ min = [-0.25, -0.25, -0.25], max = [0.25, 0.25, 0.25] }} }}, \
         stiffness = 1e5, damping = 1 }}]"
    ));
    for i in 0..cube.solids.len() {
        let p = cube.solids.state.position[i];
        cube.state().velocity[i] = DVec3::Y.cross(p) * 10.0;
    }
    let spin =
        |s: &Springs| (0..s.len()).map(|i| s.mass[i] * s.position[i].cross(s.velocity[i])).sum::<DVec3>();
    let before = spin(&cube.solids.state);
    cube.run(std::f64::consts::TAU / 10.0, 1e-3);
    let after = spin(&cube.solids.state);
    assert!((after - before).length() < 0.02 * before.length(), "{before} {after}");
}

#[test]
fn two_nodes_swing_with_the_analytic_period() {
    let k = 100.0;
    let mut pair = pair(k, 0.02);
    pair.state().position[1].x += 0.02;
    let rest = pair.solids.state.rest[0];
    let stretch = |p: &Stand| p.solids.state.position[1].x - p.solids.state.position[0].x - rest;
    // Times at which the stretch turns negative.
    let (mut crossings, mut last) = (Vec::new(), stretch(&pair));
    while crossings.len() < 6 {
        pair.step(0.01);
        let now = stretch(&pair);
        if last > 0.0 && now <= 0.0 {
            crossings.push(pair.time - 0.01 * now / (now - last));
        }
        last = now;
    }
    let period = (crossings[5] - crossings[0]) / 5.0;
    let exact = std::f64::consts::TAU / (2.0 * k / 1.0f64).sqrt();
    assert!((period / exact - 1.0).abs() < 0.01, "{period} {exact}");
}

#[test]
fn waves_that_the_step_resolves_lose_little_energy() {
    let mut pair = pair(100.0, 0.0);
    pair.state().position[1].x += 0.02;
    let before = pair.solids.state.elastic_energy();
    // Ten periods.
    pair.run(10.0 * std::f64::consts::TAU / 200f64.sqrt(), 1e-3);
    let after = pair.solids.state.elastic_energy() + pair.solids.state.kinetic_energy();
    assert!((0.85..1.0).contains(&(after / before)), "{}", after / before);
}

#[test]
fn critical_damping_comes_to_rest_without_overshoot() {
    // Reduced mass ½ kg: z = 2 √(k m/2).
    let k = 100.0;
    let mut pair = pair(k, 2.0 * (k * 0.5f64).sqrt());
    pair.state().position[1].x += 0.02;
    let rest = pair.solids.state.rest[0];
    let mut last = 0.02;
    for _ in 0..1000 {
        pair.step(1e-3);
        let now = pair.solids.state.position[1].x - pair.solids.state.position[0].x - rest;
        assert!(now > -1e-6 && now <= last, "{now} after {last}");
        last = now;
    }
    // (1 + ωt) e^(-ωt) at ωt = 14.1.
    assert!(last < 1e-6, "{last}");
}

#[test]
fn a_hanging_chain_stretches_as_statics_says_and_its_pin_stays() {
    // Ten nodes of 1 kg in a row.
    let mut chain = Stand::new(
        "solid = [{ shape = { box = { min = [0, 0, 0], max = [0.1, 1, 0.1] } }, stiffness = 1e4, damping = 200, \
         pinned = ['+y'] }]",
    );
    let held = chain.solids.state.position[9];
    chain.run(4.0, 2e-3);
    let s = &chain.solids.state;
    assert_eq!(s.position[9], held);
    for i in 0..9 {
        let stretch = s.position[i + 1].y - s.position[i].y - 0.1;
        let exact = (i + 1) as f64 * 9.81 / 1e4;
        assert!((stretch / exact - 1.0).abs() < 1e-3, "{i}: {stretch} {exact}");
    }
}

#[test]
fn a_hanging_cloth_settles_and_its_pins_stay() {
    let mut cloth = Stand::new(
        "solid = [{ kind = 'cloth', density = 1000, spacing = 0.05, stiffness = 500, damping = 5, \
         shape = { box = { min = [0, 1, 0], max = [1, 1.001, 1] } }, pinned = ['corners'] }]",
    );
    let before = cloth.solids.state.position.clone();
    cloth.run(16.0, 5e-3);
    let s = &cloth.solids.state;
    for i in (0..s.len()).filter(|i| s.pinned[*i]) {
        assert_eq!((s.position[i], s.velocity[i]), (before[i], DVec3::ZERO));
    }
    let fastest = s.velocity.iter().map(|v| v.length()).fold(0.0, f64::max);
    assert!(fastest < 0.02, "{fastest}");
    let depth = 1.0 - cloth.lowest(0);
    assert!((0.1..0.8).contains(&depth), "{depth}");
    // It hangs like a bowl: deepest in the middle, symmetric.
    let middle = s.position[s.len() / 2];
    assert!((middle.x - 0.5).abs() < 0.01 && (middle.z - 0.5).abs() < 0.01, "{middle}");
}

#[test]
fn any_stiffness_and_damping_is_stable() {
    for (k, z) in [(1e9, 0.0), (1e9, 1e4), (1e12, 5.0), (0.0, 1e9), (1e15, 1e15)] {
        let mut cube = Stand::new(&format!(
            "{FLOOR}solid = [{{ shape = {{ box = {{ min = [0, 0.2, 0], max = [0.4, 0.6, 0.4] }} }}, \
             stiffness = {k}, damping = {z}, velocity = [1, -2, 0.5] }}]"
        ));
        cube.run(0.5, 1e-3);
        let s = &cube.solids.state;
        let fastest = s.velocity.iter().map(|v| v.length()).fold(0.0, f64::max);
        assert!(fastest < 10.0, "k = {k}, z = {z}: {fastest} m/s");
        assert!(cube.lowest(0) > 0.03, "k = {k}, z = {z}: {}", cube.lowest(0));
        assert!(k == 0.0 || (cube.centre(0).y - 0.2).abs() < 0.1, "k = {k}, z = {z}: {}", cube.centre(0));
    }
}

#[test]
fn a_ball_falls_freely_then_rests_on_the_floor() {
    let mut ball = Stand::new(&format!(
        "{FLOOR}solid = [{{ shape = {{ sphere = {{ center = [0, 1, 0], radius = 0.2 }} }} }}]"
    ));
    ball.run(0.3, 1e-3);
    let fallen = 0.5 * 9.81 * 0.09;
    assert!((ball.centre(0).y - (1.0 - fallen)).abs() < 2e-3, "{}", ball.centre(0));
    ball.run(1.0, 1e-3);
    assert!((ball.centre(0).y - 0.2).abs() < 1e-4, "{}", ball.centre(0));
    assert!(ball.solids.state.velocity[0].length() < 1e-3);
}

#[test]
fn a_sliding_ball_is_slowed_by_friction_as_coulomb_says() {
    let mut ball = Stand::new(&format!(
        "{FLOOR}solid = [{{ shape = {{ sphere = {{ center = [0, 0.2, 0], radius = 0.2 }} }}, \
         velocity = [2, 0, 0], friction = 0.25 }}]"
    ));
    ball.run(0.4, 1e-3);
    let expected = 2.0 - 0.25 * 9.81 * 0.4;
    assert!(
        (ball.solids.state.velocity[0].x / expected - 1.0).abs() < 0.02,
        "{}",
        ball.solids.state.velocity[0]
    );
    ball.run(1.0, 1e-3);
    assert!(ball.solids.state.velocity[0].length() < 1e-3);
}

#[test]
fn colliding_balls_keep_their_momentum() {
    let mut balls = Stand::new(&format!(
        "{STILL}solid = [\
         {{ shape = {{ sphere = {{ center = [0, 0, 0], radius = 0.2 }} }}, velocity = [3, 0, 0] }},\
         {{ shape = {{ sphere = {{ center = [1, 0.1, 0], radius = 0.1 }} }}, density = 7000 }}]"
    ));
    let before = balls.solids.state.momentum(0..2);
    balls.run(1.0, 1e-3);
    let after = balls.solids.state.momentum(0..2);
    assert!((after - before).length() < 1e-12 * before.length(), "{before} {after}");
    assert!(balls.solids.state.velocity[1].x > 0.5);
    let apart = balls.centre(1).distance(balls.centre(0));
    assert!(apart > 0.3 - 1e-3, "{apart}");
}

#[test]
fn a_cube_rests_on_a_cube_on_the_floor() {
    let mut cubes = Stand::new(&format!(
        "{FLOOR}solid = [\
         {{ shape = {{ box = {{ min = [0, 0, 0], max = [0.5, 0.5, 0.5] }} }}, stiffness = 2e5, damping = 300 }},\
         {{ shape = {{ box = {{ min = [0.03, 0.55, 0.02], max = [0.43, 0.95, 0.42] }} }}, stiffness = 2e5, damping = 300 }}]"
    ));
    cubes.run(3.0, 1e-3);
    let (lower, upper) = (cubes.centre(0), cubes.centre(1));
    assert!((lower.y - 0.25).abs() < 0.02, "{lower}");
    // Nodes of the upper one may rest between those of the lower.
    assert!((0.63..0.71).contains(&upper.y), "{upper}");
    let s = &cubes.solids.state;
    let fastest = s.velocity.iter().map(|v| v.length()).fold(0.0, f64::max);
    assert!(fastest < 0.02, "{fastest}");
    assert!((upper.x - 0.23).abs() < 0.1 && (upper.z - 0.22).abs() < 0.1, "{upper}");
}

#[test]
fn a_heavy_ball_rests_on_a_lattice() {
    let mut both = Stand::new(&format!(
        "{FLOOR}solid = [\
         {{ shape = {{ box = {{ min = [0, 0, 0], max = [1, 0.4, 1] }} }}, stiffness = 1e5, damping = 300 }},\
         {{ shape = {{ sphere = {{ center = [0.5, 0.8, 0.5], radius = 0.2 }} }}, density = 3000 }}]"
    ));
    both.run(3.0, 1e-3);
    let ball = both.centre(1);
    // On top of nodes at 0.35 m, each 0.05 m in radius.
    assert!((0.5..0.61).contains(&ball.y), "{ball}");
    assert!(both.solids.state.velocity.iter().all(|v| v.length() < 0.02));
}

/// A cloth that falls on a ball that rests on the floor.
const DRAPE: &str = "domain = { min = [-5, 0, -5], max = [5, 5, 5] }\nsolid = [\
     { shape = { sphere = { center = [0, 0.3, 0], radius = 0.3 } }, density = 3000 },\
     { kind = 'cloth', spacing = 0.05, density = 1000, stiffness = 100, damping = 0.5, bend = 0.02, friction = 0.5,\
       shape = { box = { min = [-0.6, 0.7, -0.6], max = [0.6, 0.701, 0.6] } } }]";

#[test]
fn a_cloth_over_a_ball_neither_falls_through_nor_through_itself() {
    let mut drape = Stand::new(DRAPE);
    let s = &drape.solids.state;
    let (ball, cloth) = (0, s.bodies[1].nodes.clone());
    for _ in 0..1000 {
        drape.step(2e-3);
        let s = &drape.solids.state;
        let nearest =
            cloth.clone().map(|i| s.position[i].distance(s.position[ball])).fold(f64::MAX, f64::min);
        assert!(nearest > 0.3, "{nearest} m at {} s", drape.time);
    }
    let s = &drape.solids.state;
    assert!(cloth.clone().all(|i| s.position[i].y > 0.0));
    let mut closest = f64::MAX;
    for i in cloth.clone() {
        for j in (i + 1..cloth.end).filter(|j| !s.are_joined(i, *j)) {
            closest = closest.min(s.position[i].distance(s.position[j]));
        }
    }
    assert!(closest > 0.6 * MESH * 0.05, "{closest}");
    // It still lies on top.
    let top = cloth.map(|i| s.position[i].y).fold(0.0, f64::max);
    assert!(top > 0.6, "{top}");
}

/// Distance that a cloth's nodes keep, × spacing.
const MESH: f64 = 0.75;

#[test]
fn a_folded_cloth_does_not_pass_through_itself() {
    // Held at one side high over the floor, it falls into a heap.
    let mut heap = Stand::new(&format!(
        "{FLOOR}solid = [{{ kind = 'cloth', spacing = 0.05, density = 1000, stiffness = 100, damping = 1, \
         shape = {{ box = {{ min = [0, 0.1, 0], max = [0.3, 1.3, 0.001] }} }} }}]"
    ));
    for i in 0..heap.solids.len() {
        heap.state().position[i].z += 0.01 * wobble(i, 1);
    }
    heap.run(2.0, 1e-3);
    let s = &heap.solids.state;
    let mut closest = f64::MAX;
    for i in 0..s.len() {
        for j in (i + 1..s.len()).filter(|j| !s.are_joined(i, *j)) {
            closest = closest.min(s.position[i].distance(s.position[j]));
        }
    }
    assert!(closest > 0.6 * MESH * 0.05, "{closest}");
    assert!(s.position.iter().all(|p| p.y > 0.0 && p.y < 1.0));
}

#[test]
fn threads_do_not_change_a_bit() {
    let run = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let mut drape = Stand::new(DRAPE);
            drape.run(0.6, 2e-3);
            drape.solids.state.position.clone()
        })
    };
    let one = run(1);
    assert_eq!(one, run(2));
    assert_eq!(one, run(3));
}

#[test]
fn threads_do_not_change_a_bit_of_bodies_that_share_them() {
    // A large one, whose equations are shared out, on a smaller one.
    let text = format!(
        "{FLOOR}solid = [\
         {{ shape = {{ box = {{ min = [0, 0, 0], max = [0.8, 0.4, 0.8] }} }}, stiffness = 1e5, damping = 30 }},\
         {{ shape = {{ box = {{ min = [-0.3, 0.41, -0.3], max = [1.1, 1.81, 1.1] }} }}, stiffness = 1e5 }},\
         {{ shape = {{ box = {{ min = [3, 0, 3], max = [3.5, 0.5, 3.5] }} }}, stiffness = 1e4, velocity = [0, 1, 0] }}]"
    );
    let run = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let mut heap = Stand::new(&text);
            heap.run(0.03, 2e-3);
            (heap.solids.state.position.clone(), heap.solids.state.velocity.clone())
        })
    };
    let one = run(1);
    assert_eq!(one, run(2));
    assert_eq!(one, run(3));
}

#[test]
fn a_lattice_goes_on_from_a_checkpoint_to_the_same_bits() {
    let mut whole = Stand::new(DRAPE);
    whole.run(0.4, 2e-3);
    whole.solids.add_force(3, DVec3::new(1.0, 2.0, 3.0));
    let mut out = CheckpointWriter::in_memory();
    whole.solids.save(&mut out).unwrap();
    let mut from = CheckpointReader::from_bytes(out.finish_bytes().unwrap()).unwrap();
    let mut resumed = Stand::new(DRAPE);
    resumed.solids.load(&mut from).unwrap();
    whole.run(0.4, 2e-3);
    resumed.run(0.4, 2e-3);
    assert_eq!(whole.solids.state.position, resumed.solids.state.position);
    assert_eq!(whole.solids.state.velocity, resumed.solids.state.velocity);
}

#[test]
fn forces_on_nodes_act_for_one_step() {
    let mut ball = Stand::new(&format!(
        "{STILL}solid = [{{ shape = {{ sphere = {{ center = [0, 0, 0], radius = 0.1 }} }} }}]"
    ));
    let mass = ball.solids.state.mass[0];
    ball.solids.add_force(0, DVec3::X * mass);
    ball.step(0.01);
    ball.step(0.01);
    assert!((ball.solids.state.velocity[0] - DVec3::X * 0.01).length() < 1e-15);
}

#[test]
fn the_skin_of_a_ball_is_even_and_moves_with_it() {
    let ball = Stand::new(
        "solid = [{ shape = { sphere = { center = [1, 2, 3], radius = 0.5 } }, velocity = [1, 0, 0] }]",
    );
    let skin = ball.solids.skin(0, 0.05);
    let s = &ball.solids.state;
    let places: Vec<DVec3> = skin.iter().map(|p| p.position(s)).collect();
    let r = 0.475;
    let wanted = 4.0 * std::f64::consts::PI * (r / 0.05f64).powi(2);
    assert!((skin.len() as f64 / wanted - 1.0).abs() < 0.01);
    for (i, p) in places.iter().enumerate() {
        assert!((p.distance(s.position[0]) - r).abs() < 1e-12);
        let nearest = places
            .iter()
            .enumerate()
            .filter(|(j, _)| *j != i)
            .map(|q| q.1.distance(*p))
            .fold(f64::MAX, f64::min);
        assert!((0.03..0.06).contains(&nearest), "{nearest}");
    }
    assert_eq!(skin[7].velocity(s), DVec3::X);
    assert!(
        places.iter().sum::<DVec3>().distance(s.position[0] * skin.len() as f64) < 0.01 * skin.len() as f64
    );
}

#[test]
fn the_skin_of_a_coarse_lattice_covers_its_border() {
    let cube = Stand::new("solid = [{ shape = { box = { min = [0, 0, 0], max = [0.4, 0.4, 0.4] } } }]");
    assert_eq!(cube.solids.skin(0, 0.1).len(), 64);
    let skin = cube.solids.skin(0, 0.02);
    let s = &cube.solids.state;
    // The border runs through the outer nodes.
    let area = 6.0 * 0.3f64.powi(2);
    let per_point = area / skin.len() as f64;
    assert!((0.6..1.6).contains(&(per_point / 0.02f64.powi(2))), "{per_point}");
    for point in &skin {
        let p = point.position(s);
        assert!((point.weights.iter().sum::<f32>() - 1.0).abs() < 1e-6);
        let off = (p - 0.2).abs().max_element();
        assert!((off - 0.15).abs() < 1e-6, "{p}");
    }
    // Forces by the weights keep their sum.
    let shares: f64 = skin[5].shares().map(|(_, w)| w).sum();
    assert!((shares - 1.0).abs() < 1e-6);
}

#[test]
fn a_runaway_node_is_named() {
    let mut ball = Stand::new("solid = [{ shape = { sphere = { center = [0, 0, 0], radius = 0.1 } } }]");
    ball.solids.add_force(0, DVec3::X * 1e30);
    let trouble = ball
        .solids
        .step(0.01, 0.01, &ball.walls, &ball.fields, &mut Passes::default())
        .expect_err("too fast to go on");
    assert_eq!((trouble.term, trouble.particle), ("springs", 0));
}
