//! GLB: binary glTF 2.0 of one frame: surface, solids, walls, camera and sun.
//!
//! ```text
//! "glTF" 2 length | length "JSON" json padded with spaces | length "BIN\0" arrays       (little-endian u32)
//! ```
//!
//! Every array is of 4-byte numbers, so every accessor is aligned. Water refracts through the extensions
//! KHR_materials_transmission, _ior and _volume; a program that knows none of them shows clear plastic.

use std::borrow::Cow;
use std::io::{self, Write};

use glam::{DAffine3, DMat4, DVec3};
use serde_json::{Value, json};

use super::mesh::{Shot, extent, parts};
use super::stage::{GLASS_IOR, Stage, WATER_IOR};
use super::{tessellate, unfit};
use crate::plain::{Records, write_slice};
use crate::surface::Surface;

const FLOAT: u32 = 5126;
const UNSIGNED_INT: u32 = 5125;
const ARRAY_BUFFER: u32 = 34962;
const ELEMENT_ARRAY_BUFFER: u32 = 34963;

/// A mesh with its place and material.
struct Item<'a> {
    name: String,
    mesh: Cow<'a, Surface>,
    material: usize,
    pose: DAffine3,
}

/// Writes a frame.
pub(super) fn write(shot: &Shot<'_>, out: &mut dyn Write) -> io::Result<()> {
    let mut materials = Vec::new();
    let items = items(shot, &mut materials);
    let (json, size) = describe(shot, &items, materials);
    let mut json = serde_json::to_vec(&json)?;
    json.resize(json.len().next_multiple_of(4), b' ');
    let total = 12 + 8 + json.len() as u64 + 8 + size;
    let (Ok(total), Ok(size)) = (u32::try_from(total), u32::try_from(size)) else {
        return Err(unfit(format!("a GLB file holds 4 GiB at most, this frame needs {total} bytes")));
    };
    out.write_all(b"glTF")?;
    for number in [2, total, json.len() as u32] {
        out.write_all(&number.to_le_bytes())?;
    }
    out.write_all(b"JSON")?;
    out.write_all(&json)?;
    out.write_all(&size.to_le_bytes())?;
    out.write_all(b"BIN\0")?;
    for item in &items {
        write_slice(out, &item.mesh.position)?;
        put_normals(out, &item.mesh.normal)?;
        write_slice(out, &item.mesh.velocity)?;
        write_slice(out, &item.mesh.triangles)?;
    }
    Ok(())
}

/// The format asks for unit length, which rounding and flat places may have cost.
fn put_normals(out: &mut dyn Write, normals: &[[f32; 3]]) -> io::Result<()> {
    let mut records = Records::new(out);
    for n in normals {
        let unit = DVec3::from(n.map(f64::from)).normalize_or(DVec3::Y).as_vec3();
        let record = records.next()?;
        unit.to_array().iter().for_each(|x| record.extend_from_slice(&x.to_le_bytes()));
    }
    records.finish()
}

fn items<'a>(shot: &Shot<'a>, materials: &mut Vec<Value>) -> Vec<Item<'a>> {
    let mut items = Vec::new();
    for (fluid, mesh) in parts(shot.surface) {
        let look = shot.stage.look(fluid);
        items.push(Item {
            name: look.name.clone(),
            mesh,
            material: materials.len(),
            pose: DAffine3::IDENTITY,
        });
        materials.push(json!({
            "name": look.name,
            "pbrMetallicRoughness": { "baseColorFactor": [1, 1, 1, 1], "metallicFactor": 0, "roughnessFactor": 0 },
            "extensions": {
                "KHR_materials_transmission": { "transmissionFactor": 1 },
                "KHR_materials_ior": { "ior": WATER_IOR },
                "KHR_materials_volume": {
                    "thicknessFactor": shot.stage.depth(),
                    "attenuationDistance": shot.stage.depth(),
                    "attenuationColor": look.color,
                },
            },
        }));
    }
    let first = materials.len();
    materials.push(json!({
        "name": "wall",
        "doubleSided": true,
        "pbrMetallicRoughness": { "baseColorFactor": [0.6, 0.6, 0.6, 1], "metallicFactor": 0, "roughnessFactor": 0.8 },
    }));
    materials.push(json!({
        "name": "glass",
        "pbrMetallicRoughness": { "baseColorFactor": [1, 1, 1, 1], "metallicFactor": 0, "roughnessFactor": 0 },
        "extensions": {
            "KHR_materials_transmission": { "transmissionFactor": 1 },
            "KHR_materials_ior": { "ior": GLASS_IOR },
        },
    }));
    materials.push(json!({
        "name": "solid",
        "doubleSided": true,
        "pbrMetallicRoughness": { "baseColorFactor": [0.8, 0.3, 0.1, 1], "metallicFactor": 0, "roughnessFactor": 0.5 },
    }));
    for body in &shot.frame.solids {
        items.push(Item {
            name: body.name.clone(),
            mesh: Cow::Owned(tessellate::body(body)),
            material: first + 2,
            pose: DAffine3::IDENTITY,
        });
    }
    for wall in &shot.stage.walls {
        items.push(Item {
            name: wall.name.clone(),
            mesh: Cow::Borrowed(&wall.mesh),
            material: first + usize::from(wall.glass),
            pose: wall.pose(shot.frame.time),
        });
    }
    // An accessor of nothing is not allowed.
    items.retain(|item| !item.mesh.triangles.is_empty());
    items
}

/// The JSON part, and the size of the arrays in bytes.
fn describe(shot: &Shot<'_>, items: &[Item<'_>], materials: Vec<Value>) -> (Value, u64) {
    let (mut views, mut accessors) = (Vec::new(), Vec::new());
    let (mut meshes, mut nodes) = (Vec::new(), Vec::new());
    let mut offset = 0u64;
    for item in items {
        let mesh = &item.mesh;
        let vertices = mesh.position.len() as u64;
        let mut array = |count: u64, bytes: u64, target: u32, mut accessor: Value| {
            views.push(json!({ "buffer": 0, "byteOffset": offset, "byteLength": bytes, "target": target }));
            offset += bytes;
            accessor["bufferView"] = json!(views.len() - 1);
            accessor["count"] = json!(count);
            accessors.push(accessor);
            accessors.len() - 1
        };
        let vector = || json!({ "componentType": FLOAT, "type": "VEC3" });
        let (low, high) = extent(&mesh.position);
        let mut position = vector();
        (position["min"], position["max"]) = (json!(low), json!(high));
        let mut attributes = json!({ "POSITION": array(vertices, 12 * vertices, ARRAY_BUFFER, position) });
        if !mesh.normal.is_empty() {
            attributes["NORMAL"] = json!(array(vertices, 12 * vertices, ARRAY_BUFFER, vector()));
        }
        if !mesh.velocity.is_empty() {
            // The underscore marks what the standard has no name for.
            attributes["_VELOCITY"] = json!(array(vertices, 12 * vertices, ARRAY_BUFFER, vector()));
        }
        let corners = 3 * mesh.triangles.len() as u64;
        let scalar = json!({ "componentType": UNSIGNED_INT, "type": "SCALAR" });
        let indices = array(corners, 4 * corners, ELEMENT_ARRAY_BUFFER, scalar);
        let primitive = json!({ "attributes": attributes, "indices": indices, "material": item.material });
        let mut node = json!({ "name": item.name, "mesh": meshes.len() });
        if item.pose != DAffine3::IDENTITY {
            node["matrix"] = json!(DMat4::from(item.pose).to_cols_array());
        }
        meshes.push(json!({ "name": item.name, "primitives": [primitive] }));
        nodes.push(node);
    }
    let stage = shot.stage;
    let camera = &stage.camera;
    nodes.push(json!({ "name": "camera", "camera": 0, "matrix": looking(camera.position, camera.target).to_cols_array() }));
    nodes.push(json!({
        "name": "sun",
        "matrix": looking(stage.bounds.center() + stage.sun(), stage.bounds.center()).to_cols_array(),
        "extensions": { "KHR_lights_punctual": { "light": 0 } },
    }));
    let mut gltf = json!({
        "asset": { "version": "2.0", "generator": concat!("undine ", env!("CARGO_PKG_VERSION")) },
        "extensionsUsed": [
            "KHR_lights_punctual", "KHR_materials_ior", "KHR_materials_transmission", "KHR_materials_volume",
        ],
        "extensions": {
            "KHR_lights_punctual": { "lights": [{ "type": "directional", "intensity": 3.0, "name": "sun" }] },
        },
        "scene": 0,
        "scenes": [{
            "name": stage.title,
            "nodes": (0..nodes.len()).collect::<Vec<_>>(),
            "extras": { "time": shot.frame.time, "frame": shot.frame.index },
        }],
        "nodes": nodes,
        "cameras": [lens(stage)],
        "materials": materials,
    });
    if !items.is_empty() {
        gltf["meshes"] = json!(meshes);
        gltf["bufferViews"] = json!(views);
        gltf["accessors"] = json!(accessors);
        gltf["buffers"] = json!([{ "byteLength": offset }]);
    }
    (gltf, offset)
}

fn lens(stage: &Stage) -> Value {
    let near = 1e-3 * stage.camera.position.distance(stage.camera.target).max(1e-6);
    let yfov = stage.camera.fov.to_radians();
    json!({ "type": "perspective", "name": "camera", "perspective": { "yfov": yfov, "znear": near } })
}

/// The pose of a thing at `from` that looks along its -z to `to`.
pub(super) fn looking(from: DVec3, to: DVec3) -> DMat4 {
    let back = (from - to).normalize_or(DVec3::Z);
    let right = DVec3::Y.cross(back).normalize_or(DVec3::X);
    let up = back.cross(right);
    DMat4::from_cols(right.extend(0.0), up.extend(0.0), back.extend(0.0), from.extend(1.0))
}

#[cfg(test)]
mod tests {
    use super::super::mesh::tests::balls;
    use super::super::tests::sample;
    use super::*;
    use crate::frame::Frame;

    /// The JSON part and the arrays.
    fn chunks(file: &[u8]) -> (Value, &[u8]) {
        let number = |at: usize| u32::from_le_bytes(file[at..at + 4].try_into().unwrap()) as usize;
        assert_eq!(&file[..4], b"glTF");
        assert_eq!((number(4), number(8)), (2, file.len()));
        let json = number(12);
        assert_eq!(json % 4, 0);
        assert_eq!(&file[16..20], b"JSON");
        assert_eq!(number(20 + json), file.len() - 28 - json);
        assert_eq!(&file[24 + json..28 + json], b"BIN\0");
        (serde_json::from_slice(&file[20..20 + json]).unwrap(), &file[28 + json..])
    }

    #[test]
    fn every_accessor_lies_in_the_buffer_and_tells_its_extent() {
        let (frame, surface, stage) = (sample(0, false), balls(), Stage::default());
        let mut file = Vec::new();
        write(&Shot { frame: &frame, surface: &surface, stage: &stage }, &mut file).unwrap();
        let (gltf, bin) = chunks(&file);
        assert_eq!(gltf["buffers"][0]["byteLength"], bin.len());
        // Two fluids, a cloth and a ball.
        assert_eq!(gltf["meshes"].as_array().unwrap().len(), 4);
        let mut end = 0;
        for accessor in gltf["accessors"].as_array().unwrap() {
            let view = &gltf["bufferViews"][accessor["bufferView"].as_u64().unwrap() as usize];
            let (at, length) = (view["byteOffset"].as_u64().unwrap(), view["byteLength"].as_u64().unwrap());
            assert_eq!(at, end);
            end = at + length;
            let per_item = if accessor["type"] == "VEC3" { 12 } else { 4 };
            assert_eq!(length, accessor["count"].as_u64().unwrap() * per_item);
            if let Some(low) = accessor.get("min") {
                let data = &bin[at as usize..end as usize];
                let x = data.chunks_exact(12).map(|b| f32::from_le_bytes(b[..4].try_into().unwrap()));
                assert_eq!(low[0].as_f64().unwrap() as f32, x.fold(f32::INFINITY, f32::min));
            }
        }
        assert_eq!(end, bin.len() as u64);
    }

    #[test]
    fn an_empty_frame_is_a_whole_file() {
        let (frame, surface, stage) = (Frame::default(), Surface::default(), Stage::default());
        let mut file = Vec::new();
        write(&Shot { frame: &frame, surface: &surface, stage: &stage }, &mut file).unwrap();
        let (gltf, bin) = chunks(&file);
        assert!(bin.is_empty() && gltf.get("accessors").is_none());
    }
}
