//! What is read, what is refused, and what people are told.

use std::f64::consts::PI;

use super::*;
use crate::scene::shape::Shape;
use crate::scene::*;

#[test]
fn an_unknown_key_is_shown_in_its_line_with_the_nearest_name() {
    let error =
        parse("title = 'x'\n\ngravty = [0, -9.81, 0]\n[model]\nspacing = 0.1\n[[fluid]]\n").unwrap_err();
    assert_eq!(
        error.to_string(),
        "dam.toml:3:1: unknown key `gravty`\n  |\n3 | gravty = [0, -9.81, 0]\n  | ^^^^^^ expected one of: title, \
         gravity, time, domain, model, fluid, boundary, solid, emitter, outflow, force, probe, event, surface, volume, \
         camera, backdrop; did you mean `gravity`?"
    );
    let problem = &error.problems()[0];
    assert_eq!((&problem.file[..], &problem.key[..]), ("dam.toml", "gravty"));
    assert_eq!(problem.suggestion.as_deref(), Some("gravity"));
    let json = serde_json::to_value(&error).unwrap();
    assert_eq!(json["invalid"]["problems"][0]["place"]["line"], 3);
}

#[test]
fn the_smallest_scene_has_the_documented_defaults() {
    let scene = read(SMALL);
    assert_eq!(scene.gravity, DVec3::new(0.0, -9.81, 0.0));
    assert_eq!(scene.time, Time { duration: 4.0, frame_rate: 60.0, max_step: None, step: None });
    assert_eq!((scene.domain, scene.camera), (None, None));
    assert_eq!((scene.model.kind, scene.model.max_particles), (ModelKind::Sph, 20_000_000));
    assert_eq!((scene.model.sph.smoothing, scene.model.sph.artificial_viscosity), (2.0, 0.05));
    assert_eq!((scene.model.sph.compression, scene.model.sph.cfl), (0.01, 1.0));
    assert_eq!(scene.model.sph.tension, TensionKind::Stress);
    let fluid = &scene.fluids[0];
    assert_eq!((&fluid.name[..], fluid.density), ("fluid", 1000.0));
    assert_eq!((fluid.viscosity, fluid.surface_tension, &fluid.shape), (0.001, 0.072, &None));
    assert_eq!(scene.surface, Surface { method: SurfaceMethod::Anisotropic, cell: 0.5 });
}

#[test]
fn every_key_reaches_the_scene() {
    let scene = read(FULL);
    assert_eq!((scene.time.max_step, scene.time.step, scene.time.frames()), (Some(0.002), Some(1e-4), 75));
    let domain = scene.domain.unwrap();
    assert_eq!(domain.periodic, [false, false, true]);
    assert_eq!((domain.open, domain.slip), (vec![(1, true), (0, false)], Slip::NoSlip));
    assert_eq!((scene.model.max_particles, scene.model.seed, scene.model.jitter), (1_000_000, 7, 0.1));
    let sph = &scene.model.sph;
    assert_eq!((sph.smoothing, sph.compression, sph.cfl, sph.restitution), (2.0, 0.01, 0.5, 0.3));
    assert_eq!((sph.stiffness, sph.mass, sph.max_speed), (Some(400.0), Some(0.125), Some(3.0)));
    assert_eq!((sph.negative_pressure, sph.artificial_viscosity), (0.5, 0.1));
    assert_eq!(sph.tension, TensionKind::ColorField);

    let names: Vec<_> = scene.fluids.iter().map(|fluid| &fluid.name[..]).collect();
    assert_eq!(names, ["water", "oil", "fluid-3"]);
    assert_eq!(scene.fluids[0].color, Some([0.1, 0.2, 0.9]));
    let Some(Shape::Mesh(mesh)) = &scene.fluids[1].shape else { panic!() };
    assert!(mesh.vertices.iter().any(|v| v.distance(DVec3::new(0.0, 0.0, -1.0)) < 1e-12), "x goes to -z");
    let Some(Shape::Cylinder { base, axis, .. }) = scene.fluids[2].shape else { panic!() };
    assert_eq!((base, axis), (DVec3::new(0.0, 0.75, 0.0), DVec3::Y));

    let glass = &scene.boundaries[0];
    assert_eq!((glass.inside, glass.open_top, glass.slip), (Inside::Hollow, true, Slip::NoSlip));
    assert_eq!((glass.thickness, glass.adhesion), (Some(0.05), 0.25));
    let rotate = glass.motion.rotate.as_ref().unwrap();
    assert_eq!((rotate.axis, rotate.speed, rotate.angle, rotate.start), (DVec3::Z, -6.5, Some(1.5), 0.5));
    let translate = glass.motion.translate.as_ref().unwrap();
    assert_eq!((translate.frequency, translate.start, translate.stop), (2.0, 1.0, 3.0));
    let Shape::Heightfield(field) = &scene.boundaries[1].shape else { panic!() };
    assert_eq!((field.samples, &field.heights[..3]), ([3, 2], &[0.0, 0.1, 0.0][..]));

    assert_eq!((scene.solids[0].kind, scene.solids[1].kind), (SolidKind::Ball, SolidKind::Lattice));
    let cloth = &scene.solids[2];
    assert_eq!((cloth.kind, cloth.spacing, cloth.thickness), (SolidKind::Cloth, 0.05, 0.002));
    assert_eq!((cloth.bend, cloth.friction), (0.1, 0.5));
    assert_eq!(cloth.pinned[..2], [Pin::Corners, Pin::Side(0, false)]);
    assert!(matches!(cloth.pinned[2], Pin::Within(Shape::Sphere { .. })));
    assert_eq!(scene.solids[1].spacing, scene.model.spacing);
    let tap = &scene.emitters[0];
    assert_eq!((tap.fluid, tap.direction, tap.stop), (1, DVec3::NEG_Y, 2.0));
    assert!((tap.speed * PI * 0.05 * 0.05 - 0.001).abs() < 1e-15);
    assert_eq!((scene.emitters[1].stop, scene.emitters[1].fluid), (f64::INFINITY, 0));
    assert_eq!(scene.outflows[0].switch.as_deref(), Some("drain"));
    assert!(matches!(scene.forces[2], Force::Brush(ref track) if track.points.len() == 2));
    assert_eq!((scene.probes[0].axis, scene.probes[1].fluid, scene.probes[2].body), (2, Some(1), Some(0)));
    assert_eq!(scene.probes[1].name, "flow");
    let times: Vec<_> = scene.events.iter().map(|event| event.time).collect();
    assert_eq!(times, [0.25, 0.5, 0.75, 0.8, 0.9, 1.0, 1.5, 1.75]);
    assert!(matches!(scene.events[6].action, Action::Touch { id: 2, strength: -4.0, .. }));
    assert_eq!(scene.events[7].action, Action::TouchUp { id: 2 });
    let molecules = &scene.model.lennard_jones;
    assert_eq!((molecules.epsilon, molecules.sigma, molecules.friction), (Some(1e-6), 0.04, Some(0.01)));
    assert_eq!((molecules.shifted, molecules.dynamics), (Shifted::Potential, Dynamics::Overdamped));
    assert!(scene.backdrop.is_some());
    assert_eq!(scene.surface.method, SurfaceMethod::MarkerCount);
    assert_eq!(scene.camera.unwrap().fov, 35.0);
    let volume = scene.volume.unwrap();
    assert_eq!(
        (volume.preset, volume.shading, volume.sampling),
        (Preset::Fire, VolumeShading::Matte, Sampling::Plain)
    );
    assert_eq!((volume.cell, volume.radius, volume.spread), (0.75, 0.6, 1.0));
    assert_eq!((volume.slices, volume.depth, volume.night), (Some(200), Some(0.1), false));
    assert_eq!(volume.points[1], ControlPoint { value: 0.2, color: [1.0, 0.5, 0.25], opacity: 0.5 });
}

#[test]
fn each_choice_gives_its_own_value() {
    for (word, kind) in
        [("sph", ModelKind::Sph), ("mac", ModelKind::Mac), ("lennard-jones", ModelKind::LennardJones)]
    {
        let domain = "domain = { min = [0, 0, 0], max = [1, 1, 1] }\n[model]";
        let text = SMALL.replace("[model]", &format!("{domain}\nkind = '{word}'"));
        assert_eq!(read(&text).model.kind, kind);
    }
    let kinds: Vec<_> =
        ["front", "height", "pressure", "velocity", "flow", "energy", "momentum", "density-error", "leaks"]
            .map(|word| {
                read(&format!("{SMALL}[[probe]]\nkind = '{word}'\nposition = [0, 0, 0]")).probes[0].kind
            })
            .into();
    assert!((1..kinds.len()).all(|i| !kinds[..i].contains(&kinds[i])));
    let methods: Vec<_> = SurfaceMethod::NAMES
        .map(|word| read(&format!("{SMALL}[surface]\nmethod = '{word}'")).surface.method)
        .into();
    assert!((1..methods.len()).all(|i| !methods[..i].contains(&methods[i])));
}

/// A line added to a small scene, and words its error must contain.
const WRONG: &[(&str, &[&str])] = &[
    ("[volume]\npreset = 'milc'", &["did you mean `milk`?"]),
    ("[volume]\npoints = [[0.2, 0, 0, 1, 1]]", &["one point is no function", "at least two"]),
    ("[volume]\npoints = [[0.2, 0, 0, 1], [0.3, 0, 0, 1]]", &["`volume.points[0]`"]),
    (
        "[volume]\npoints = [[0.3, 0, 0, 1, 0], [0.2, 0, 0, 1, 1]]",
        &["point 2 has the value 0.2, point 1 before it 0.3", "rising"],
    ),
    ("[volume]\npoints = [[0.1, 0, 0, 1, 0], [0.2, 0, 0, 1, 2]]", &["the opacity of point 2 is 2"]),
    ("[volume]\npoints = [[0.1, 0, 0, 255, 0], [0.2, 0, 0, 1, 1]]", &["the colour of point 1", "linear"]),
    ("[volume]\npoints = [[0, 0, 0, 1, 0.5], [0.2, 0, 0, 1, 1]]", &["empty space is not clear"]),
    ("density = -5", &["`fluid[0].density` cannot be -5", "above 0", "kg/m³"]),
    ("density = 'heavy'", &["cannot be the text \"heavy\"", "a number"]),
    ("density = nan", &["cannot be NaN"]),
    ("density = inf", &["cannot be inf"]),
    ("density = 1979-05-27", &["cannot be a date"]),
    ("velocity = [0, 1]", &["`fluid[0].velocity` cannot be a list of 2", "[x, y, z]"]),
    ("velocity = [0, 1, 'a']", &["`fluid[0].velocity[2]` cannot be the text"]),
    ("shape = {}", &["`fluid[0].shape` is incomplete", "exactly one of: box, sphere"]),
    (
        "shape = { box = { min = [0,0,0], max = [1,1,1] }, sphere = { center = [0,0,0], radius = 1 } }",
        &["`box` and `sphere` exclude each other"],
    ),
    ("shape = { box = { min = [0,0,0], max = [1,0,1] } }", &["is not above `min`"]),
    ("shape = { box = { min = [0,0,0] } }", &["missing key `max` in `fluid[0].shape.box`"]),
    ("shape = { boks = { min = [0,0,0] } }", &["unknown key `boks`", "did you mean `box`?"]),
    (
        "shape = { disc = { center = [0,0,0], normal = [0,1,0], radius = 1 } }",
        &["`[[fluid]]` cannot have the shape `disc`"],
    ),
    ("shape = { cylinder = { base = [0,0,0], axis = [0,0,0], radius = 1, height = 1 } }", &["not all zero"]),
    ("shape = { cylinder = { radius = 1, height = 1 } }", &["exactly one of: base, center"]),
    (
        "shape = { sphere = { center = [0,0,0], radius = 0.1, inside = 'hollow' } }",
        &["`[[fluid]]` has no `inside`"],
    ),
    ("shape = { sphere = { center = [0,0,0], radius = 1e6 } }", &["particles are too many", "max_particles"]),
    ("shape = { box = { min = [-1e7,-1e7,-1e7], max = [1e7,1e7,1e7] } }", &["too many"]),
    ("shape = { mesh = { file = 'nothing.obj' } }", &["was not found", "/scenes/nothing.obj"]),
    ("[[fluid]]\nname = 'fluid'", &["the name `fluid` is taken"]),
    (
        "[[emitter]]\nspeed = 1\nfluid = 'fluit'\nshape = { sphere = { center = [0,0,0], radius = 1 } }",
        &["there is no fluid `fluit`", "did you mean `fluid`?"],
    ),
    ("[[emitter]]\nspeed = 1\nrate = 1\nshape = { sphere = { center = [0,0,0], radius = 1 } }", &["exclude"]),
    ("[[emitter]]\nshape = { sphere = { center = [0,0,0], radius = 1 } }", &["exactly one of: speed, rate"]),
    (
        "[[emitter]]\nrate = 1\nshape = { sphere = { center = [0,0,0], radius = 1 } }",
        &["only a disc has a rate"],
    ),
    (
        "[[emitter]]\nspeed = 1\nstart = 2\nstop = 1\nshape = { sphere = { center = [0,0,0], radius = 1 } }",
        &["`stop` = 1 is before `start` = 2"],
    ),
    (
        "[[outflow]]\nshape = { heightfield = { size = [1, 1], heights = [[0, 0], [0, 0]] } }",
        &["`[[outflow]]` cannot have the shape `heightfield`"],
    ),
    (
        "[[boundary]]\nshape = { heightfield = { size = [1, 1], heights = [[0, 0], [0]] } }",
        &["unequal length"],
    ),
    ("[[boundary]]\nopen_top = true\nshape = { sphere = { center = [0,0,0], radius = 1 } }", &["no top"]),
    (
        "[[boundary]]\ninside = 'solid'\nshape = { sphere = { center = [0,0,0], radius = 1, inside = 'hollow' } }",
        &["`inside` is both"],
    ),
    ("[boundary]\nshape = {}", &["single table", "write `[[boundary]]`"]),
    ("[[force]]\nbrush = { radius = 1, track = [[1, 0, 0, 0], [1, 1, 0, 0]] }", &["times rising"]),
    ("[[probe]]\nkind = 'height'", &["missing key `position` for the kind `height`"]),
    (
        "[[solid]]\npinned = ['corners']\nshape = { box = { min = [0,0,0], max = [1,1,1] } }",
        &["only a cloth has corners to pin", "pinned_in"],
    ),
    (
        "[[solid]]\nkind = 'cloth'\npinned = ['corners']\nshape = { disc = { center = [0,0,0], normal = [0,1,0], radius = 1 } }",
        &["only a cloth made of a box has corners"],
    ),
    (
        "[[solid]]\nkind = 'cloth'\nspacing = 2\nshape = { box = { min = [0,0,0], max = [1,0.1,1] } }",
        &["narrower than its weave of 2 m"],
    ),
    (
        "[[solid]]\nkind = 'cloth'\nshape = { sphere = { center = [0,0,0], radius = 1 } }",
        &["cannot have the shape `sphere`", "one of: box, disc, mesh"],
    ),
    ("[[probe]]\nkind = 'body'\nbody = 'ball'", &["there is no solid `ball`", "the scene has none"]),
    ("[[event]]\ntime = 1", &["exactly one of: brush, brush_up, touch, touch_up, switch, set"]),
    (
        "[[event]]\ntime = 1\nset = { key = 'fluid.fluid.viscositi', value = 1 }",
        &["settable key", "did you mean `fluid.fluid.viscosity`?"],
    ),
    (
        "[[event]]\ntime = 1\nset = { key = 'gravity', value = 1 }",
        &["`gravity` cannot be [1.0]", "[x, y, z], each from -1e5 to 1e5 (m/s²)"],
    ),
    (
        "[[event]]\ntime = 1\nset = { key = 'fluid.fluid.viscosity', value = -1 }",
        &["a number from 0 to 1e6 (Pa s)"],
    ),
    ("[time]\nduration = 1e6\nframe_rate = 1e6", &["too many frames"]),
    (
        "[domain]\nmin = [0,0,0]\nmax = [1,1,0.3]\nperiodic = [false,false,true]",
        &["two to 10000 kernel supports: 4.000e-1 to 2.000e3 m"],
    ),
    (
        "[domain]\nmin = [0,0,-1e7]\nmax = [1,1,1]\nperiodic = [false,false,true]",
        &["the periodic axis z is 1.0000001e7 m long"],
    ),
    (
        "[[emitter]]\nspeed = 1\nshape = { sphere = { center = [0,0,0], radius = 1e4 } }",
        &["particles are too many", "model.max_particles"],
    ),
    (
        "[domain]\nmin = [0,0,0]\nmax = [1,1,1]\nopen = ['up']",
        &["`domain.open[0]` cannot be the text \"up\"", "\"+y\""],
    ),
    ("[camera]\nposition = [0,0,0]\ntarget = [0,0,0]", &["looks at itself"]),
    ("surface = 3", &["unknown key `surface` in `fluid[0]`"]),
    ("density = ", &["dam.toml:4:"]),
];

#[test]
fn wrong_scenes_are_refused_with_the_reason() {
    for (line, words) in WRONG {
        let text = message(&format!("{SMALL}{line}\n"));
        for word in *words {
            assert!(text.contains(word), "{line}\nlacks {word:?}:\n{text}");
        }
    }
}

#[test]
fn several_mistakes_are_reported_at_once_in_file_order_but_not_thousands() {
    let text = message("titel = 'x'\n[model]\nspacing = -1\n[[fluid]]\ndensity = 'a'\nviscos = 1\n");
    let places: Vec<_> = ["dam.toml:1:1", "dam.toml:3:11", "dam.toml:5:11", "dam.toml:6:1"]
        .map(|place| text.find(place).unwrap_or_else(|| panic!("no {place}:\n{text}")))
        .into();
    assert!(places.is_sorted());
    let many = format!("{SMALL}{}", "[[outflow]]\n".repeat(5000));
    assert!(message(&many).ends_with("… and 4990 more"));
}

#[test]
fn missing_tables_are_named() {
    let text = message("title = 'x'");
    assert!(text.contains("missing key `model`") && text.contains("missing key `fluid`"), "{text}");
    assert!(message("fluid = []\nmodel = { spacing = 0.1 }").contains("`fluid` cannot be an empty list"));
}

#[test]
fn inside_may_stand_with_the_shape() {
    let scene = read(&format!(
        "{SMALL}[[boundary]]\nshape = {{ box = {{ min = [0,0,0], max = [1,1,1], inside = 'hollow' }} }}"
    ));
    assert_eq!(scene.boundaries[0].inside, Inside::Hollow);
}

#[test]
fn an_unknown_scene_names_the_nearest_built_in_one() {
    let error = Scene::load("dam-brake", &[]).unwrap_err().to_string();
    assert!(error.contains("did you mean `dam-break`?") && error.contains("undine scenes"), "{error}");
    assert!(Scene::load(".", &[]).unwrap_err().to_string().contains("folder"));
}

#[test]
fn a_scene_file_is_loaded_from_disk_and_binary_files_are_refused() {
    let folder = std::env::temp_dir().join(format!("undine-scene-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("mine.toml");
    std::fs::write(&file, SMALL).unwrap();
    let loaded = Scene::load(file.to_str().unwrap(), &[]).unwrap();
    assert_eq!((&loaded.name[..], &loaded.text[..], &loaded.base_dir), ("mine", SMALL, &folder));
    let corners = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\n";
    std::fs::write(folder.join("stone.obj"), format!("{corners}f 1 3 2\nf 1 4 3\nf 1 2 4\nf 2 3 4\n"))
        .unwrap();
    std::fs::write(folder.join("sheet.obj"), format!("{corners}f 1 3 2\n")).unwrap();
    let with_mesh = |name: &str| {
        std::fs::write(&file, format!("{SMALL}shape = {{ mesh = {{ file = '{name}' }} }}\n")).unwrap();
        Scene::load(file.to_str().unwrap(), &[])
    };
    let stone = with_mesh("stone.obj").unwrap();
    assert!(matches!(stone.scene.fluids[0].shape, Some(Shape::Mesh(_))));
    assert_eq!(Scene::parse(&stone.text, "x", Path::new("/"), &[]).unwrap().scene, stone.scene);
    assert!(with_mesh("sheet.obj").unwrap_err().to_string().contains("not closed"));
    assert!(with_mesh("lost.obj").unwrap_err().to_string().contains("lost.obj"));
    std::fs::write(&file, [0xff, 0xfe, 0x00]).unwrap();
    assert!(Scene::load(file.to_str().unwrap(), &[]).unwrap_err().to_string().contains("UTF-8"));
    std::fs::remove_dir_all(&folder).unwrap();
}
