//! Every format back and forth, and every format broken.

use std::io::Write as _;
use std::path::Path;

use proptest::prelude::*;

use super::*;
use crate::export::{Format, tests::sample, write_particles};
use crate::frame::Particles;

fn read(name: &str, bytes: &[u8]) -> Result<Particles, ImportError> {
    read_particle_bytes(Path::new(name), bytes)
}

fn ours(format: Format, n: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    write_particles(format, &sample(n, true), &mut bytes).unwrap();
    bytes
}

fn gzipped(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn zlib(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let group = chunk.iter().fold(0u32, |g, &b| g << 8 | u32::from(b)) << (8 * (3 - chunk.len()));
        for k in 0..4 {
            let digit = DIGITS[(group >> (18 - 6 * k) & 63) as usize];
            text.push(if k <= chunk.len() { char::from(digit) } else { '=' });
        }
    }
    text
}

/// An array packed with zlib in blocks, its head apart.
fn packed(bytes: &[u8], block: usize) -> (Vec<u8>, Vec<u8>) {
    let blocks: Vec<Vec<u8>> = bytes.chunks(block).map(zlib).collect();
    let mut head: Vec<u8> = Vec::new();
    for number in [blocks.len(), block, bytes.len() % block].into_iter().chain(blocks.iter().map(Vec::len)) {
        head.extend((number as u32).to_le_bytes());
    }
    (head, blocks.concat())
}

const POINTS: [[f32; 3]; 3] = [[0.5, -1.0, 2.25], [3.0, 4.5, -5.0], [1e-20, 7.0, 1e9]];

/// The points and a density in a VTU of any flavour.
fn vtu(flavour: &str) -> Vec<u8> {
    let points: Vec<u8> = POINTS.as_flattened().iter().flat_map(|x| f64::from(*x).to_le_bytes()).collect();
    let rho: Vec<u8> = [998.0f32, 999.0, 1000.0].iter().flat_map(|x| x.to_le_bytes()).collect();
    let whole = |bytes: &[u8]| [&(bytes.len() as u32).to_le_bytes()[..], bytes].concat();
    let text = |values: &[f64]| values.iter().map(|x| x.to_string()).collect::<Vec<_>>().join("\n ");
    let mut appended: Vec<u8> = Vec::new();
    let mut array = |kind: &str, name: &str, components: usize, bytes: &[u8], ascii: String| {
        let attributes =
            format!("<DataArray type='{kind}' Name=\"{name}\" NumberOfComponents=\"{components}\"");
        let offset = appended.len();
        let (head, blocks) = packed(bytes, 16);
        match flavour {
            "ascii" => return format!("{attributes} format=\"ascii\">\n{ascii}\n</DataArray>"),
            "base64" => {
                return format!("{attributes} format=\"binary\">\n{}\n</DataArray>", base64(&whole(bytes)));
            }
            "zlib" => {
                let data = base64(&head) + &base64(&blocks);
                return format!("{attributes} format=\"binary\">{data}</DataArray>");
            }
            "raw" => appended.extend(whole(bytes)),
            "appended" => appended.extend(base64(&whole(bytes)).bytes()),
            "raw zlib" => appended.extend([head, blocks].concat()),
            "appended zlib" => appended.extend((base64(&head) + &base64(&blocks)).bytes()),
            other => panic!("{other}"),
        }
        format!("{attributes} format=\"appended\" offset=\"{offset}\"/>")
    };
    let ascii = text(&POINTS.as_flattened().iter().map(|x| f64::from(*x)).collect::<Vec<_>>());
    let points = array("Float64", "Points", 3, &points, ascii);
    let rho = array("Float32", "rho", 1, &rho, text(&[998.0, 999.0, 1000.0]));
    let packed = if flavour.ends_with("zlib") { " compressor=\"vtkZLibDataCompressor\"" } else { "" };
    let mut file = format!(
        "<?xml version=\"1.0\"?>\n<!-- <a> -->\n<VTKFile type=\"UnstructuredGrid\" byte_order=\"LittleEndian\"{packed}>\n\
         <UnstructuredGrid><Piece NumberOfPoints=\"3\" NumberOfCells=\"0\">\n<PointData Scalars=\"rho\">{rho}</PointData>\n\
         <CellData></CellData><Points>{points}</Points></Piece></UnstructuredGrid>"
    )
    .into_bytes();
    if !appended.is_empty() {
        let encoding = if flavour.starts_with("raw") { "raw" } else { "base64" };
        file.extend(format!("<AppendedData encoding=\"{encoding}\">\n _").bytes());
        file.extend(appended);
        file.extend(b"\n</AppendedData>");
    }
    file.extend(b"</VTKFile>");
    file
}

const FLAVOURS: [&str; 7] = ["ascii", "base64", "zlib", "raw", "appended", "raw zlib", "appended zlib"];

fn legacy(binary: bool) -> Vec<u8> {
    let mut file = b"# vtk DataFile Version 5.1\nby hand\n".to_vec();
    file.extend(if binary { b"BINARY\n".as_slice() } else { b"ASCII\n" });
    file.extend(b"DATASET POLYDATA\nPOINTS 3 float\n");
    let floats = |values: &[f32]| -> Vec<u8> {
        if binary {
            values.iter().flat_map(|x| x.to_be_bytes()).collect()
        } else {
            values.iter().flat_map(|x| format!("{x} ").into_bytes()).collect()
        }
    };
    let longs = |values: &[i64]| -> Vec<u8> {
        if binary {
            values.iter().flat_map(|x| x.to_be_bytes()).collect()
        } else {
            values.iter().flat_map(|x| format!("{x} ").into_bytes()).collect()
        }
    };
    file.extend(floats(POINTS.as_flattened()));
    file.extend(b"\nMETADATA\nINFORMATION 0\n\nVERTICES 2 3\nOFFSETS vtktypeint64\n");
    file.extend(longs(&[0, 3]));
    file.extend(b"\nCONNECTIVITY vtktypeint64\n");
    file.extend(longs(&[0, 1, 2]));
    file.extend(b"\nPOINT_DATA 3\nSCALARS density float\nLOOKUP_TABLE default\n");
    file.extend(floats(&[998.0, 999.0, 1000.0]));
    file.extend(b"\nVECTORS velocity float\n");
    file.extend(floats(&[1.0; 9]));
    file.extend(b"\nFIELD FieldData 2\nid 1 3 vtktypeint64\n");
    file.extend(longs(&[7, 8, 9]));
    file.extend(b"\nother 2 3 float\n");
    file.extend(floats(&[0.0; 6]));
    file.push(b'\n');
    file
}

fn npy(number: &str, fortran: bool) -> Vec<u8> {
    let order = if fortran { "True" } else { "False" };
    let header = format!("{{'descr': '{number}', 'fortran_order': {order}, 'shape': (3, 3), }}\n");
    let mut file = b"\x93NUMPY\x01\x00".to_vec();
    file.extend((header.len() as u16).to_le_bytes());
    file.extend(header.bytes());
    for k in 0..9 {
        let x = if fortran { POINTS[k % 3][k / 3] } else { POINTS[k / 3][k % 3] };
        match number {
            "<f4" => file.extend(x.to_le_bytes()),
            ">f8" => file.extend(f64::from(x).to_be_bytes()),
            other => panic!("{other}"),
        }
    }
    file
}

/// A whole file of every kind.
fn all() -> Vec<(&'static str, Vec<u8>)> {
    let mut files: Vec<(&str, Vec<u8>)> = FLAVOURS.iter().map(|flavour| ("a.vtu", vtu(flavour))).collect();
    files.extend([
        ("a.ply", ours(Format::Ply, 3)),
        ("a.vtp", ours(Format::Vtp, 3)),
        ("a.bgeo", ours(Format::Bgeo, 3)),
        ("b.bgeo", gzipped(&ours(Format::Bgeo, 3))),
        ("a.vtk", legacy(false)),
        ("b.vtk", legacy(true)),
        ("a.npy", npy("<f4", false)),
        ("b.npy", npy(">f8", true)),
        ("a.xyz", POINTS.as_flattened().iter().flat_map(|x| x.to_le_bytes()).collect()),
        ("b.xyz", b"x y z w\n# three\n0.5 -1 2.25 9\n3, 4.5, -5\n\n1e-20 7 1e9".to_vec()),
    ]);
    files
}

#[test]
fn our_own_files_read_back_as_they_were() {
    for n in [0, 1, 3000] {
        let particles = sample(n, true).particles;
        for format in [Format::Ply, Format::Vtp, Format::Bgeo] {
            let name = format!("a.{format}");
            assert_eq!(read(&name, &ours(format, n)).unwrap(), particles, "{format}");
        }
        assert_eq!(read("a.bgeo.gz", &gzipped(&ours(Format::Bgeo, n))).unwrap(), particles);
    }
}

#[test]
fn every_flavour_of_every_format_gives_the_same_points() {
    for (i, (name, bytes)) in all().into_iter().enumerate() {
        let particles = read(name, &bytes).unwrap_or_else(|error| panic!("{i} {error}"));
        assert_eq!(particles.len(), 3);
        if !name.ends_with("ply") && !name.ends_with("vtp") && !name.ends_with("bgeo") {
            assert_eq!(particles.position, POINTS, "{name} {i}");
        }
        if name.ends_with("vtu") || name.ends_with("vtk") {
            assert_eq!(particles.scalar("density").unwrap(), [998.0, 999.0, 1000.0], "{name}");
        }
        if name.ends_with("vtk") {
            assert_eq!(particles.vector("velocity").unwrap(), [[1.0; 3]; 3]);
            assert_eq!(particles.field("id"), Some(&crate::frame::FieldData::Int(vec![7, 8, 9])));
        }
    }
}

#[test]
fn errors_name_the_file_the_place_and_what_was_expected() {
    let message = |name: &str, bytes: &[u8]| read(name, bytes).unwrap_err().to_string();
    let xyz = "a.xyz:2: expected three numbers, found \"4 x 6\"";
    assert_eq!(message("a.xyz", b"1 2 3\n4 x 6\n"), xyz);
    let raw = "a.xyz: byte 12: expected x, y and z as 12 bytes, found 1 bytes";
    assert_eq!(message("a.xyz", &[0; 13]), raw);
    assert_eq!(message("a.abc", b"?"), "a.abc: expected PLY, VTP, VTU, VTK, BGEO, XYZ or NPY particles");
    let json = "a.bgeo: byte 0: expected \"BgeoV\", classic geometry, found Houdini's newer JSON geometry";
    assert_eq!(message("a.bgeo", b"\x7fNSJb1234"), json);
    let shape = String::from_utf8_lossy(&npy("<f4", false)).contains("(3, 3)");
    assert!(shape);
    let nan = [f32::NAN, 0.0, 0.0].iter().flat_map(|x| x.to_le_bytes()).collect::<Vec<_>>();
    assert_eq!(message("a.xyz", &nan), "a.xyz: the position of particle 0 is not finite");
    let vtk = "a.vtk:4: expected \"POLYDATA\" or \"UNSTRUCTURED_GRID\", found \"RECTILINEAR_GRID\"";
    assert_eq!(message("a.vtk", b"# vtk DataFile Version 3.0\n\nASCII\nDATASET RECTILINEAR_GRID\n"), vtk);
    let ply = "a.ply: not a PLY file";
    assert_eq!(message("a.ply", b"no"), ply);
    assert!(matches!(read_particles(Path::new("/nowhere/a.ply")), Err(ImportError::Io { .. })));
}

#[test]
fn huge_counts_cost_nothing() {
    let cases: [(&str, &[u8]); 5] = [
        ("a.vtk", b"# vtk DataFile Version 3.0\n\nASCII\nDATASET POLYDATA\nPOINTS 6148914691236517205 float\n1 2 3"),
        ("a.vtk", b"# vtk DataFile Version 3.0\n\nBINARY\nDATASET POLYDATA\nPOINTS 1000000000000 float\n1 2 3"),
        ("a.npy", b"\x93NUMPY\x01\x00\x44\x00{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999, 3)}  "),
        ("a.vtp", b"<VTKFile type=\"PolyData\"><PolyData><Piece NumberOfPoints=\"1000000000000\"><Points>\
            <DataArray type=\"Float32\" NumberOfComponents=\"3\" format=\"binary\">AAAA</DataArray></Points></Piece>"),
        ("a.vtp", b"<VTKFile type=\"PolyData\"><PolyData><Piece NumberOfPoints=\"9999999999999999999999\">"),
    ];
    for (name, bytes) in cases {
        assert!(read(name, bytes).is_err(), "{name}");
    }
    let mut bgeo = ours(Format::Bgeo, 1);
    bgeo[9..13].copy_from_slice(&i32::MAX.to_be_bytes());
    assert!(read("a.bgeo", &bgeo).is_err());
}

#[test]
fn every_truncation_is_an_error_or_fewer_points_and_never_a_panic() {
    for (name, bytes) in all() {
        for length in 0..bytes.len() {
            if let Ok(particles) = read(name, &bytes[..length]) {
                assert!(particles.len() <= 3);
            }
        }
    }
}

fn holds_together(particles: &Particles) {
    assert!(particles.position.as_flattened().iter().all(|x| x.is_finite()));
    assert!(particles.fields.iter().all(|field| field.data.len() == particles.len()));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn any_mutation_is_an_error_or_a_valid_set(
        file in 0usize..17,
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        cut in any::<prop::sample::Index>(),
        shorten: bool,
    ) {
        let (name, mut bytes) = all().swap_remove(file);
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        if shorten {
            bytes.truncate(cut.index(bytes.len()));
        }
        if let Ok(particles) = read(name, &bytes) {
            holds_together(&particles);
        }
    }

    #[test]
    fn any_bytes_are_an_error_or_a_valid_set(
        bytes in proptest::collection::vec(any::<u8>(), 0..200),
        name in prop_oneof![Just("a.vtp"), Just("a.vtk"), Just("a.bgeo"), Just("a.npy"), Just("a.xyz"), Just("a")],
        magic in prop_oneof![Just(""), Just("BgeoV"), Just("# vtk DataFile Version 3.0\n\nBINARY\n"), Just("<VTKFile ")],
    ) {
        let mut file = magic.as_bytes().to_vec();
        file.extend(bytes);
        if let Ok(particles) = read(name, &file) {
            holds_together(&particles);
        }
    }
}
