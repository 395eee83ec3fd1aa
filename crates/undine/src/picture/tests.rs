use std::path::Path;
use std::sync::Arc;

use glam::{DVec3, Vec3};

use super::color::Scale;
use super::compose::compose;
use super::geometry::{Geometry, Sphere, Triangles};
use super::pose::Pose;
use super::random::Random;
use super::sky::Sky;
use super::stage::{Material, Stage, Tint};
use super::trace::{Inside, Tracer};
use super::*;
use crate::frame::{Body, Field, FieldData, Particles};
use crate::scene::Scene;

/// A ball of some material under an even white sky, and nothing else.
fn furnace(material: Material, tint: Tint) -> Stage {
    let ball = Sphere { center: Vec3::ZERO, radius: 1.0, paint: Vec3::splat(0.25), material: 0 };
    Stage {
        geometry: Geometry::new(Triangles::default(), vec![ball], vec![]),
        materials: vec![material],
        tints: vec![tint],
        glass: Vec3::ZERO,
        ground: None,
        sky: Sky::even(Vec3::ONE),
        volumes: vec![],
        origin: Vec3::ZERO,
        epsilon: 1e-4,
    }
}

fn look_at(stage: &Stage, y: f32, sample: u32) -> Vec3 {
    let ray = Ray::new(Vec3::new(0.0, y, 5.0), Vec3::NEG_Z, 0.0);
    Tracer { stage, pixel: 1e-3, plain: false }.radiance(
        ray,
        Inside::default(),
        &mut Random::of_pixel(7, sample),
    )
}

#[test]
fn a_matte_ball_in_a_white_furnace_shows_its_albedo() {
    let albedo = Vec3::new(0.2, 0.5, 0.8);
    let stage = furnace(Material::Matte { albedo, coat: 0.0 }, Tint::CLEAR);
    for i in 0..64 {
        let seen = look_at(&stage, 0.014 * i as f32, i);
        assert!((seen - albedo).length() < 1e-6, "{seen}");
    }
    let painted = furnace(Material::Painted { coat: 0.0 }, Tint::CLEAR);
    assert!((look_at(&painted, 0.3, 1) - 0.25).length() < 1e-6);
}

#[test]
fn clear_glass_and_water_vanish_in_a_white_furnace() {
    for material in [Material::Glass, Material::Fluid] {
        let stage = furnace(material, Tint::CLEAR);
        for i in 0..64 {
            let seen = look_at(&stage, 0.0155 * i as f32, i);
            assert!((seen - 1.0).length() < 1e-4, "{material:?}: {seen}");
        }
    }
}

#[test]
fn water_seen_through_its_middle_is_dimmed_by_its_depth() {
    let absorption = Vec3::new(1.0, 0.5, 0.1);
    let stage = furnace(Material::Fluid, Tint { absorption, ..Tint::CLEAR });
    // Head on, the light goes straight: two borders, and mirrored light within that goes through three times.
    let r = optics::fresnel(1.0, 1.0 / stage::WATER);
    let once = optics::transmittance(absorption, 2.0);
    let expected = r + (1.0 - r) * once * ((1.0 - r) + r * once);
    let seen = look_at(&stage, 0.0, 0);
    // The light mirrored within is too faint to be followed and is only estimated.
    assert!((seen - expected).length() < 1e-2, "{seen} {expected}");
}

#[test]
fn a_shadow_ray_through_water_is_tinted_but_not_black() {
    let absorption = Vec3::new(1.0, 0.5, 0.1);
    let stage = furnace(Material::Fluid, Tint { absorption, ..Tint::CLEAR });
    let from = |z: f32| stage.visibility(&Ray::new(Vec3::new(0.0, 0.0, z), Vec3::Z, 1e-4));
    let border = 1.0 - optics::fresnel(1.0, 1.0 / stage::WATER);
    assert!((from(-5.0) - border * border * optics::transmittance(absorption, 2.0)).length() < 1e-5);
    // From within: only the way out counts.
    assert!((from(0.0) - border * optics::transmittance(absorption, 1.0)).length() < 1e-5);
    let matte = furnace(Material::Painted { coat: 0.0 }, Tint::CLEAR);
    assert_eq!(matte.visibility(&Ray::new(Vec3::new(0.0, 0.0, -5.0), Vec3::Z, 1e-4)), Vec3::ZERO);
}

#[test]
fn fluid_that_reaches_into_glass_leaves_no_gap() {
    let stage = furnace(Material::Fluid, Tint::CLEAR);
    let air = Inside::default();
    let glass = air.across(Material::Glass, true);
    // Water begins within the glass: nothing changes until the glass ends.
    let both = glass.across(Material::Fluid, true);
    assert_eq!(both.index(&stage), stage::GLASS);
    let water = both.across(Material::Glass, false);
    assert_eq!(water.index(&stage), stage::WATER);
    assert_eq!(water.across(Material::Fluid, false).index(&stage), 1.0);
    assert_eq!(air.across(Material::Fluid, false).index(&stage), 1.0);
}

#[test]
fn a_fluid_within_another_is_there_only_inside_the_surface_of_both() {
    let mut stage = furnace(Material::Fluid, Tint::CLEAR);
    stage.tints.push(Tint { index: stage::OIL, ..Tint::CLEAR });
    // The interface reaches beyond the surface and is entered first.
    let outside = Inside::default().across(Material::Interface(1), true);
    assert_eq!(outside.index(&stage), 1.0);
    let oil = outside.across(Material::Fluid, true);
    assert_eq!(oil.index(&stage), stage::OIL);
    assert_eq!(oil.across(Material::Interface(1), false).index(&stage), stage::WATER);
}

#[test]
fn a_shadow_ray_through_two_fluids_is_dimmed_by_each_as_far_as_it_goes() {
    let (first, second) = (Vec3::new(1.0, 0.5, 0.1), Vec3::new(0.1, 0.2, 0.9));
    let mut stage = furnace(Material::Fluid, Tint { absorption: first, ..Tint::CLEAR });
    // A ball of radius 1, of which the other fluid has what lies in a ball around its far end.
    let ball = |z: f32, radius: f32, material| Sphere {
        center: Vec3::new(0.0, 0.0, z),
        radius,
        paint: Vec3::ZERO,
        material,
    };
    stage.geometry = Geometry::new(Triangles::default(), vec![ball(0.0, 1.0, 0), ball(1.0, 0.5, 1)], vec![]);
    stage.materials.push(Material::Interface(1));
    stage.tints.push(Tint { absorption: second, ..Tint::CLEAR });
    let from = |z: f32| stage.visibility(&Ray::new(Vec3::new(0.0, 0.0, z), Vec3::Z, 1e-4));
    let border = 1.0 - optics::fresnel(1.0, 1.0 / stage::WATER);
    let both = optics::transmittance(first, 1.5) * optics::transmittance(second, 0.5);
    assert!((from(-5.0) - border * border * both).length() < 1e-5);
    let rest = optics::transmittance(second, 0.25);
    assert!((from(0.75) - border * rest).length() < 1e-5, "from within");
}

fn scene(text: &str) -> Scene {
    Scene::parse(text, "test.toml", Path::new("."), &[]).unwrap().scene
}

/// A tank with a ball, a turning glass and a block of water.
fn tank() -> (Scene, Frame, Surface) {
    let scene = scene(
        "[time]\nduration=1\n[domain]\nmin=[0,0,0]\nmax=[2,1,1]\n[model]\nspacing=0.1\n\
         [[fluid]]\nshape={box={min=[0,0,0],max=[1,0.5,1]}}\n\
         [[boundary]]\nshape={sphere={center=[1.5,0.2,0.5],radius=0.2}}\n\
         [[boundary]]\nshape={cylinder={base=[1.5,0.5,0.5],radius=0.1,height=0.2}}\ninside=\"hollow\"\n\
         thickness=0.05\nopen_top=true\nmotion={rotate={center=[1.5,0.5,0.5],axis=[0,0,1],speed=1}}\n",
    );
    let position: Vec<[f32; 3]> =
        (0..200).map(|i| [0.1 * (i % 10) as f32, 0.1 * (i / 50) as f32, 0.2 * (i / 10 % 5) as f32]).collect();
    let velocity = position.iter().map(|p| [p[0], 0.0, 0.0]).collect();
    let particles =
        Particles { position, fields: vec![Field { name: "velocity", data: FieldData::Vector(velocity) }] };
    let frame = Frame { time: 0.3, spacing: 0.1, particles, ..Frame::default() };
    let mut mesher = mesher::Mesher::default();
    mesher.cuboid(&Pose::REST, DVec3::splat(0.04), DVec3::new(1.0, 0.5, 0.96), false, true, 0);
    let t = mesher.triangles;
    let position = t.position.iter().map(|p| p.to_array()).collect();
    (scene, frame, Surface { position, triangles: t.corners, ..Surface::default() })
}

fn small(look: Look) -> Options {
    Options { width: 96, height: 54, samples: 4, look, ..Options::default() }
}

const LOOKS: [Look; 6] = [
    Look::Volume,
    Look::Water,
    Look::Surface(ColorBy::Speed),
    Look::Particles { mark: Mark::Balls, by: ColorBy::Speed },
    Look::Particles { mark: Mark::Splats, by: ColorBy::Fluid },
    Look::Particles { mark: Mark::Balls, by: ColorBy::Density },
];

#[test]
fn a_picture_is_the_same_for_any_number_of_threads() {
    let (scene, frame, surface) = tank();
    let view = View { scene: Some(&scene), surface: Some(&surface), ..View::new(&frame) };
    for look in LOOKS {
        let picture = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| render(&view, &small(look)))
        };
        let one = picture(1);
        assert_eq!(one, picture(2), "{look:?}");
        assert_eq!(one, picture(3), "{look:?}");
    }
}

#[test]
fn water_makes_a_difference_to_the_picture() {
    let (scene, frame, surface) = tank();
    let view = View { scene: Some(&scene), ..View::new(&frame) };
    let without = render(&view, &small(Look::Water));
    let with = render(&View { surface: Some(&surface), ..view }, &small(Look::Water));
    let changed = without.pixels().iter().zip(with.pixels()).filter(|(a, b)| a != b).count();
    assert!(changed > 500, "{changed}");
}

#[test]
fn an_empty_frame_without_a_scene_is_a_picture_of_ground_and_sky() {
    let frame = Frame::default();
    for look in LOOKS {
        let image = render(&View::new(&frame), &small(look));
        let (top, bottom) = (image.get(48, 0).unwrap(), image.get(48, 53).unwrap());
        assert_ne!(top, bottom);
        assert!(bottom.iter().all(|c| *c > 20), "the ground is lit: {bottom:?}");
    }
}

#[test]
fn numbers_that_are_not_finite_neither_panic_nor_hang() {
    for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, 1e38, -1e30] {
        let (scene, mut frame, mut surface) = tank();
        frame.particles.position[3] = [bad, 0.2, bad];
        frame.particles.fields[0].data = FieldData::Vector(vec![[bad; 3]; 200]);
        frame.spacing = f64::from(bad);
        frame.time = f64::from(bad);
        surface.position[1] = [bad; 3];
        surface.normal = vec![[bad; 3]; surface.position.len()];
        surface.triangles.push([0, 1, 4_000_000_000]);
        frame.solids = vec![
            Body { nodes: vec![[bad; 3]], radius: bad, ..Body::default() },
            Body { nodes: vec![[bad; 3]; 3], triangles: vec![[0, 1, 2], [0, 1, 9]], ..Body::default() },
        ];
        let camera = crate::scene::Camera {
            position: DVec3::splat(f64::from(bad)),
            target: DVec3::ZERO,
            fov: f64::from(bad),
        };
        for (scene, camera) in [(Some(&scene), None), (None, None), (None, Some(camera))] {
            let view = View { scene, surface: Some(&surface), ..View::new(&frame) };
            for look in LOOKS {
                let options = Options {
                    width: 24,
                    height: 14,
                    samples: 1,
                    exposure: bad,
                    camera: camera.clone(),
                    ..small(look)
                };
                assert_eq!(render(&view, &options).width(), 24);
            }
        }
    }
}

#[test]
fn fog_in_a_box_dims_what_is_behind_it() {
    let (_, frame, _) = tank();
    let fog = DensityGrid {
        origin: Vec3::ZERO,
        cell: 0.5,
        samples: [3, 3, 3],
        values: vec![1.0; 27],
        transfer: Transfer { range: [0.0, 1.0], table: vec![[0.9, 0.1, 0.1, 50.0]] },
    };
    let volumes: Vec<Arc<dyn Medium>> = vec![Arc::new(fog)];
    let image = render(&View { volumes: &volumes, ..View::new(&frame) }, &small(Look::Water));
    let red = image.pixels().iter().filter(|p| p[0] > 150 && p[1] < 120).count();
    assert!(red > 200, "{red}");
}

#[test]
fn a_volume_is_seen_and_is_the_same_for_any_number_of_threads() {
    let (scene, frame, _) = tank();
    let empty = render(&View { scene: Some(&scene), ..View::new(&frame) }, &small(Look::Volume));
    for preset in crate::scene::Preset::ALL {
        let picture = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| {
                let look = crate::scene::Volume::of_preset(preset);
                let volumes = [fluid_volume(Some(&scene), &frame, &look).unwrap()];
                let view = View { scene: Some(&scene), volumes: &volumes, ..View::new(&frame) };
                render(&view, &small(Look::Volume))
            })
        };
        let one = picture(1);
        assert!(one == picture(2) && one == picture(3), "{preset:?}");
        let changed = one.pixels().iter().zip(empty.pixels()).filter(|(a, b)| a != b).count();
        assert!(changed > 300, "{preset:?}: {changed}");
    }
}

#[test]
fn a_wall_is_drawn_where_the_model_has_it_at_that_time() {
    let (scene, frame, _) = tank();
    let stage =
        compose(&View { scene: Some(&scene), ..View::new(&frame) }, &Look::Water, None, Sky::day(Vec3::Y));
    let mut walls = crate::walls::Walls::new(&scene);
    walls.pose(frame.time);
    let t = &stage.geometry.triangles;
    let mut inner = 0;
    for (corner, material) in t.corners.iter().zip(&t.material) {
        if stage.material(*material) != Material::Glass {
            continue;
        }
        for &i in corner {
            let p = t.position[i as usize].as_dvec3() + stage.origin.as_dvec3();
            let mut least = f64::INFINITY;
            walls.contacts(p, 1.0, |c| least = least.min(c.distance));
            // Within the model's wall (drawn thinner), or on its face.
            assert!(least < 1e-4, "{p} is {least} m off the wall");
            inner += usize::from(least > -1e-4);
        }
    }
    assert!(inner > 100, "the inner face is on the model's wall");
}

#[test]
fn scales_span_the_values_and_colour_them_in_order() {
    let scale = Scale::new(ColorBy::Speed, None, (0..1000).map(|i| i as f32 * 0.01).collect());
    assert!(scale.range[0] == 0.0 && (scale.range[1] - 9.9).abs() < 0.05);
    let bright = |v: f32| scale.color(v).dot(Vec3::new(0.2126, 0.7152, 0.0722));
    assert!((0..50).all(|i| bright(0.2 * i as f32) <= bright(0.2 * (i + 1) as f32) + 1e-6));
    for values in [vec![], vec![f32::NAN; 3], vec![5.0; 3], vec![f32::INFINITY, 1.0]] {
        let scale = Scale::new(ColorBy::Density, None, values);
        assert!(scale.range[0] < scale.range[1] && scale.color(f32::NAN).is_finite());
    }
    assert_eq!(Scale::new(ColorBy::Speed, Some([1.0, 2.0]), vec![]).range, [1.0, 2.0]);
}

#[test]
fn water_is_laid_flat_against_the_walls_it_touches() {
    let (scene, frame, surface) = tank();
    let (position, normal) = cling::cling(&surface, &View { scene: Some(&scene), ..View::new(&frame) });
    let low = position.iter().fold(DVec3::INFINITY, |a, b| a.min(*b));
    let high = position.iter().fold(DVec3::NEG_INFINITY, |a, b| a.max(*b));
    // Into the floor, just short of the panes, and untouched where it is free.
    assert!((low.y + 0.025).abs() < 1e-6 && (low.x - 0.002).abs() < 1e-6 && (high.z - 0.998).abs() < 1e-6);
    assert!((high.x - 1.0).abs() < 1e-6 && (high.y - 0.5).abs() < 1e-6);
    assert!(normal.iter().all(|n| n.is_normalized()));
}

#[test]
fn a_skin_gives_off_light_and_hides_what_is_behind_it() {
    let albedo = Vec3::new(0.1, 0.2, 0.3);
    let stage = furnace(Material::Skin { albedo, coat: 0.0 }, Tint::CLEAR);
    let seen = look_at(&stage, 0.3, 1);
    assert!((seen - (albedo + 0.25)).length() < 1e-6, "{seen}");
    let towards = Ray::new(Vec3::new(0.0, 0.0, -5.0), Vec3::Z, 1e-4);
    assert_eq!(stage.visibility(&towards), Vec3::ZERO);
    assert_eq!(stage.given_off(&towards), Vec3::splat(0.25));
    assert_eq!(stage.given_off(&Ray { direction: Vec3::NEG_Z, ..towards }), Vec3::ZERO);
    let painted = furnace(Material::Painted { coat: 0.0 }, Tint::CLEAR);
    assert_eq!(painted.given_off(&towards), Vec3::ZERO);
}

#[test]
fn lava_glows_where_it_flows_and_mud_does_not_glow() {
    let (_, frame, mut surface) = tank();
    surface.velocity = vec![[0.0; 3]; surface.position.len()];
    surface.velocity[0] = [0.0, -4.0, 0.0];
    let stage = |look: &str| {
        let text = format!(
            "[model]\nspacing = 0.1\n[[fluid]]\nname = \"melt\"\n{look}\n[[emitter]]\nfluid = \"melt\"\nspeed = 1\n\
             shape = {{ disc = {{ center = [0, 1, 0], normal = [0, -1, 0], radius = 0.3 }} }}"
        );
        let scene = Scene::parse(&text, "test", std::path::Path::new("."), &[]).unwrap().scene;
        let view = View { scene: Some(&scene), surface: Some(&surface), ..View::new(&frame) };
        compose(&view, &Look::Water, None, Sky::day(Vec3::Y))
    };
    let material = |stage: &Stage| stage.material(stage.geometry.triangles.material[0]);
    let lava = stage("color = [0.1, 0.05, 0.02]\nglow = [2, 1, 0.5]");
    assert_eq!(material(&lava), Material::Skin { albedo: Vec3::new(0.1, 0.05, 0.02), coat: 0.4 });
    let paint = &lava.geometry.triangles.paint;
    assert!(paint[0].x > 1.5 && paint[0].x < 2.0 && paint[0].z > 0.2, "{}", paint[0]);
    assert!(paint[1].x > 0.0 && paint[1].x < 0.2 && paint[1].z < 0.01 * paint[1].x, "{}", paint[1]);
    let mud = stage("color = [0.1, 0.05, 0.02]\nopaque = true");
    assert_eq!(material(&mud), material(&lava));
    assert!(mud.geometry.triangles.paint.iter().all(|p| *p == Vec3::ZERO));
    assert_eq!(material(&stage("")), Material::Fluid);
}
