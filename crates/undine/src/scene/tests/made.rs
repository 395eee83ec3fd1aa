//! Shapes made by code, as a scene file asks for them.

use super::*;
use crate::scene::shape::Shape;

#[test]
fn shapes_are_made_as_the_file_says() {
    let scene = read(MADE);
    let names: Vec<_> = scene.boundaries.iter().map(|b| &b.name[..]).collect();
    assert_eq!(names, ["valley", "heap", "boundary-3", "boundary-4", "boundary-4-2"]);
    let Shape::Heightfield(valley) = &scene.boundaries[0].shape else { panic!() };
    assert_eq!(valley.samples, [9, 5]);
    assert_eq!(scene.boundaries[0].color, Some([0.2, 0.3, 0.1]));
    for wall in &scene.boundaries[1..] {
        assert!(wall.shape.is_closed(), "{}", wall.name);
    }
    let [ring, copy] = [3, 4].map(|i| scene.boundaries[i].shape.bounds());
    assert!((copy.min - ring.min - DVec3::X).length() < 1e-12 && scene.boundaries[4].clear);
    assert_eq!(read(MADE), scene, "the same each time");
    assert_ne!(read(&MADE.replace("seed = 2", "seed = 3")).boundaries[1], scene.boundaries[1]);
}

#[test]
fn wrong_wishes_get_a_reason() {
    let wrong = |from: &str, to: &str, expected: &str| {
        let text = MADE.replace(from, to);
        assert_ne!(text, MADE);
        let found = message(&text);
        assert!(found.contains(expected), "{found}");
    };
    wrong("ground = \"valley\"", "ground = \"boundary-3\"", "there is no boundary `boundary-3` above");
    wrong("ground = \"valley\"", "ground = \"moon\"", "there is no boundary `moon`");
    wrong("smallest = 0.15", "smallest = 0.3", "larger than the largest");
    wrong("max = [1.5, 1, 1]", "max = [0.6, 1, 1]", "no rock finds room");
    wrong("outline = [[0.5, 0]", "outline = [[-0.5, 0]", "cannot be turned");
    wrong("cell = 0.25", "cell = 1e-4", "4000000");
    wrong("rows = [[2, 1", "rows = [[2.5, 1", "cannot be repeated");
    wrong("rows = [[2, 1", "rows = [[2000, 1", "cannot be repeated");
}
