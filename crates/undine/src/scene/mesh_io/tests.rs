use std::fmt::Write;
use std::path::Path;

use glam::DVec3;
use proptest::prelude::*;

use super::*;

fn cube() -> TriMesh {
    TriMesh::cuboid(DVec3::ZERO, DVec3::new(1.0, 2.0, 4.0))
}

fn soup() -> Soup {
    let cube = cube();
    (cube.vertices.clone(), cube.triangles.clone())
}

fn obj_bytes() -> Vec<u8> {
    let (vertices, triangles) = soup();
    let mut text = String::from("# a box\nmtllib none.mtl\no box\n");
    for v in vertices {
        writeln!(text, "v {} {} {} 1.0", v.x, v.y, v.z).unwrap();
    }
    for (k, [a, b, c]) in triangles.into_iter().enumerate() {
        match k % 4 {
            0 => writeln!(text, "f {} {} {}", a + 1, b + 1, c + 1),
            1 => writeln!(text, "f {}/1 {}/2 {}/3", a + 1, b + 1, c + 1),
            2 => writeln!(text, "f {}//1 \\\n {}//2 {}//3\r", a + 1, b + 1, c + 1),
            _ => writeln!(text, "f {} {} {}/1/1", i64::from(a) - 8, i64::from(b) - 8, i64::from(c) - 8),
        }
        .unwrap();
    }
    text.into_bytes()
}

fn ply_bytes(format: &str) -> Vec<u8> {
    let (vertices, triangles) = soup();
    let mut bytes = format!(
        "ply\nformat {format} 1.0\ncomment a box\nelement extra 1\nproperty list uchar short junk\n\
         element vertex {}\nproperty uchar red\nproperty double z\nproperty float x\nproperty float y\n\
         element face {}\nproperty float quality\nproperty list uchar int vertex_indices\nend_header\n",
        vertices.len(),
        triangles.len()
    )
    .into_bytes();
    if format == "ascii" {
        let mut text = String::from("2 7 8\n");
        for v in vertices {
            writeln!(text, "255 {} {} {}", v.z, v.x, v.y).unwrap();
        }
        for [a, b, c] in triangles {
            writeln!(text, "0.5 3 {a} {b} {c}").unwrap();
        }
        bytes.extend(text.into_bytes());
        return bytes;
    }
    let big = format.contains("big");
    let mut put = |mut field: Vec<u8>| {
        if big {
            field.reverse();
        }
        bytes.extend(field);
    };
    put(vec![2]);
    put(7_i16.to_le_bytes().to_vec());
    put(8_i16.to_le_bytes().to_vec());
    for v in vertices {
        put(vec![255]);
        put(v.z.to_le_bytes().to_vec());
        put((v.x as f32).to_le_bytes().to_vec());
        put((v.y as f32).to_le_bytes().to_vec());
    }
    for t in triangles {
        put(0.5_f32.to_le_bytes().to_vec());
        put(vec![3]);
        t.iter().for_each(|i| put((*i as i32).to_le_bytes().to_vec()));
    }
    bytes
}

fn stl_text() -> Vec<u8> {
    let cube = cube();
    let mut text = String::from("solid a box\n");
    for t in 0..cube.triangles.len() {
        text += "facet normal 0 0 0\n outer loop\n";
        for v in cube.corners(t) {
            writeln!(text, "  vertex {} {:e} {}", v.x, v.y, v.z).unwrap();
        }
        text += " endloop\nendfacet\n";
    }
    (text + "endsolid a box\n").into_bytes()
}

fn stl_binary() -> Vec<u8> {
    let cube = cube();
    let mut bytes = b"solid misleading header".to_vec();
    bytes.resize(80, b' ');
    bytes.extend((cube.triangles.len() as u32).to_le_bytes());
    for t in 0..cube.triangles.len() {
        bytes.extend([0; 12]);
        for v in cube.corners(t) {
            v.to_array().iter().for_each(|x| bytes.extend((*x as f32).to_le_bytes()));
        }
        bytes.extend([0; 2]);
    }
    bytes
}

fn all() -> Vec<(&'static str, Vec<u8>)> {
    vec![
        ("a.obj", obj_bytes()),
        ("ascii.ply", ply_bytes("ascii")),
        ("little.ply", ply_bytes("binary_little_endian")),
        ("big.ply", ply_bytes("binary_big_endian")),
        ("text.stl", stl_text()),
        ("binary.STL", stl_binary()),
    ]
}

#[test]
fn a_box_comes_back_from_every_format() {
    for (name, bytes) in all() {
        let mesh = read(Path::new(name), &bytes).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!((mesh.vertices.len(), mesh.triangles.len()), (8, 12), "{name}");
        assert!(mesh.is_closed(), "{name}");
        assert_eq!(mesh.bounds(), cube().bounds(), "{name}");
        assert!((mesh.volume() - 8.0).abs() < 1e-12, "{name}");
    }
}

#[test]
fn the_content_tells_the_format_when_the_ending_does_not() {
    for (name, bytes) in all() {
        let mesh = read(Path::new("mesh"), &bytes).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(mesh.triangles.len(), 12, "{name}");
    }
    let error = read(Path::new("mesh"), b"\x89PNG").unwrap_err().to_string();
    assert_eq!(error, "mesh: expected an OBJ, PLY or STL mesh");
}

#[test]
fn polygons_become_fans() {
    let obj = b"v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nf 1 2 3 4\n";
    assert_eq!(read(Path::new("a.obj"), obj).unwrap().triangles.len(), 2);
    let ply = b"ply\nformat ascii 1.0\nelement vertex 4\nproperty float x\nproperty float y\nproperty float z\n\
        element face 1\nproperty list uchar uint vertex_index\nend_header\n0 0 0 1 0 0 1 1 0 0 1 0\n4 0 1 2 3";
    assert_eq!(read(Path::new("a.ply"), ply).unwrap().triangles.len(), 2);
}

#[test]
fn errors_name_file_line_and_what_was_expected() {
    let message = |name: &str, bytes: &[u8]| read(Path::new(name), bytes).unwrap_err().to_string();
    assert_eq!(
        message("a.obj", b"v 0 0 0\nv 0 x 0\n"),
        "a.obj:2: expected three coordinates after \"v\", found \"x\""
    );
    assert_eq!(
        message("a.obj", b"v 0 0 0\n\nf 1 2 3\n"),
        "a.obj:3: expected a corner number up to 1, found \"3\""
    );
    assert_eq!(message("a.obj", b""), "a.obj: expected at least one triangle with an area, found none");
    assert!(message("a.obj", b"v 0 0 0\nf 1 0 1").starts_with("a.obj:2: expected the number of a corner"));
    assert_eq!(
        message("a.ply", b"ply\nformat ascii 1.0\nelement vertex 3\nproperty flot x\n"),
        "a.ply:4: expected a number type, found \"flot\""
    );
    assert_eq!(
        message("a.stl", b"solid\nfacet normal 0 0 1\n outer lop\n"),
        "a.stl:3: expected \"loop\", found \"lop\""
    );
    assert!(message("none/there.obj", b"").starts_with("none/there.obj"));
    assert!(
        TriMesh::load(Path::new("none/there.obj")).unwrap_err().to_string().starts_with("none/there.obj: ")
    );
    assert!(TriMesh::load(Path::new(".")).is_err());
}

#[test]
fn counts_beyond_the_file_are_refused_before_memory_is_asked_for() {
    let ply = |count: &str, format: &str| {
        format!(
            "ply\nformat {format} 1.0\nelement vertex {count}\nproperty float x\nproperty float y\n\
             property float z\nelement face 1\nproperty list uint int vertex_indices\nend_header\n0 0 0 "
        )
    };
    for format in ["ascii", "binary_little_endian", "binary_big_endian"] {
        let error = read(Path::new("a.ply"), ply("18446744073709551615", format).as_bytes()).unwrap_err();
        assert!(error.to_string().starts_with("a.ply:3: expected a count that the file can hold"), "{error}");
    }
    let mut list = ply("0", "binary_little_endian").into_bytes();
    list.extend([255; 20]);
    assert!(read(Path::new("a.ply"), &list).is_err());
    let mut stl = vec![0; 200];
    stl[80..84].fill(255);
    let error = read(Path::new("a.stl"), &stl).unwrap_err().to_string();
    assert_eq!(error, "a.stl: byte 80: expected at most the 2 triangles that fit the file, found 4294967295");
}

proptest! {
    #[test]
    fn changed_files_give_a_mesh_or_an_error(
        which in 0..6_usize,
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0..4_u8), 1..8),
    ) {
        let (name, mut bytes) = all().swap_remove(which);
        for (index, value, how) in changes {
            if bytes.is_empty() {
                break;
            }
            let at = index.index(bytes.len());
            match how {
                0 => bytes[at] = value,
                1 => bytes.insert(at, value),
                2 => drop(bytes.remove(at)),
                _ => bytes.truncate(at),
            }
        }
        let _ = read(Path::new(name), &bytes);
        let _ = read(Path::new("sniffed"), &bytes);
    }

    #[test]
    fn any_bytes_give_a_mesh_or_an_error(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        for name in ["a.obj", "a.ply", "a.stl", "a"] {
            let _ = read(Path::new(name), &bytes);
        }
    }

    #[test]
    fn any_words_give_a_mesh_or_an_error(
        words in prop::collection::vec(prop::sample::select(vec![
            "ply", "\n", "format", "ascii", "binary_big_endian", "element", "vertex", "face", "property", "list",
            "uchar", "int", "double", "x", "y", "z", "vertex_indices", "end_header", "1", "3", "-1", "99999999999",
            "solid", "facet", "normal", "outer", "loop", "endloop", "endfacet", "v", "f", "1/2/3", "nan", "1e300",
        ]), 0..60),
    ) {
        let text = words.join(" ");
        for name in ["a.obj", "a.ply", "a.stl", "a"] {
            let _ = read(Path::new(name), text.as_bytes());
            let _ = read(Path::new(name), text.replace("\n ", "\n").as_bytes());
        }
    }
}
