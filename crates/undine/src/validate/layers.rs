//! Two fluids, the heavy one above, turn over and settle into layers.

use super::{CaseError, Lab};
use crate::export::Plot;
use crate::frame::{FieldData, Frame};

const G: f64 = 9.81;
/// Length and height of the fluids together, m; each is half as high.
const SIZE: f64 = 0.2;
/// Densities of the heavy and the light fluid, kg/m³.
const DENSITY: [f64; 2] = [1000.0, 800.0];
/// Of both, Pa s: thick enough to come to rest in a few seconds.
const VISCOSITY: f64 = 0.05;
/// N/m.
const TENSION: f64 = 0.03;
/// Gravity leans by this share of g for as long, s, so that they turn over as a whole at once.
const LEAN: (f64, f64) = (0.5, 0.4);
/// The interface is looked at in this many columns.
const COLUMNS: usize = 4;

pub(super) fn run(lab: &mut Lab) -> Result<(), CaseError> {
    let across = lab.either(20.0, 10.0);
    let duration = 8.0;
    let d = SIZE / across;
    let (deep, half, top) = (6.0 * d, 0.5 * SIZE, 1.6 * SIZE);
    let fluid = |name: &str, density: f64, low: f64, high: f64| {
        format!(
            "[[fluid]]\nname = \"{name}\"\ndensity = {density}\nviscosity = {VISCOSITY}\nsurface_tension = {TENSION}\nshape = {{ box = {{ min = [0, {low}, 0], max = [{SIZE}, {high}, {deep}] }} }}\n"
        )
    };
    let fluids = fluid("heavy", DENSITY[0], half, SIZE) + &fluid("light", DENSITY[1], 0.0, half);
    let (lean, until) = LEAN;
    let scene = format!(
        r#"
        gravity = [{}, -{G}, 0]
        time = {{ duration = {duration}, frame_rate = 20 }}
        domain = {{ min = [0, 0, 0], max = [{SIZE}, {top}, {deep}], periodic = [false, false, true], open = ["+y"] }}
        model = {{ spacing = {d} }}
        {fluids}
        [[event]]
        time = {until}
        set = {{ key = "gravity", value = [0, -{G}, 0] }}
        "#,
        lean * G
    );
    let (mut mixing, mut last) = (Vec::new(), Vec::new());
    let mut interfaces = Vec::new();
    lab.run(&scene, 1.0, |m| {
        last = places(m.frame);
        mixing.push((m.frame.time, 100.0 * misplaced(&last, half, d)));
        if m.frame.time > 0.9 * duration {
            interfaces.push([0.0, 1.0, 2.0, 3.0].map(|c| {
                let column = SIZE / COLUMNS as f64;
                interface(&last, [c * column, (c + 1.0) * column], d)
            }));
        }
    })?;
    let n = interfaces.len() as f64;
    let columns: Vec<f64> = (0..COLUMNS).map(|c| interfaces.iter().map(|i| i[c]).sum::<f64>() / n).collect();
    // The worst column; a column without an interface is not a number and must not get lost.
    let worst = columns.iter().fold(half, |worst, y| {
        if y.is_nan() || (y - half).abs() > (worst - half).abs() { *y } else { worst }
    });
    let worst = if columns.iter().any(|y| y.is_nan()) { f64::NAN } else { worst };
    let off = (worst - half).abs() / d;
    lab.check("height of the interface, m, worst of four columns; error in spacings", worst, half, off, 1.0);
    let mixed = misplaced(&last, half, d);
    lab.check(
        "share of particles over a spacing inside the other fluid",
        mixed,
        0.0,
        mixed,
        lab.either(0.05, 0.15),
    );

    let of = |heavy: bool| -> Vec<_> { last.iter().filter(|p| p.2 == heavy).map(|p| (p.0, p.1)).collect() };
    lab.plot(
        "layers",
        Plot::new("Two fluids settled", "x / m", "y / m")
            .points("heavy", &of(true))
            .points("light", &of(false))
            .line("interface", &[(0.0, half), (SIZE, half)]),
    );
    lab.plot(
        "layers-mixing",
        Plot::new("Two fluids turn over", "t / s", "on the wrong side, %").line("measured", &mixing),
    );
    Ok(())
}

/// x, y, and whether it is of the heavy fluid.
type Place = (f64, f64, bool);

fn places(frame: &Frame) -> Vec<Place> {
    let Some(FieldData::Byte(fluid)) = frame.particles.field("fluid") else { return Vec::new() };
    let rows = frame.particles.position.iter().zip(fluid);
    rows.map(|(x, f)| (f64::from(x[0]), f64::from(x[1]), *f == 0)).collect()
}

/// Share of the particles that are on the wrong side of `height` by more than a spacing.
fn misplaced(places: &[Place], height: f64, d: f64) -> f64 {
    let wrong = places.iter().filter(|p| if p.2 { p.1 > height + d } else { p.1 < height - d }).count();
    wrong as f64 / places.len() as f64
}

/// Height at which the share of the heavy fluid falls through one half in a column of this extent in x, from bins of a
/// spacing; not a number when the heavy fluid is not below.
fn interface(places: &[Place], [from, to]: [f64; 2], d: f64) -> f64 {
    let mut bins: Vec<(f64, f64)> = Vec::new();
    for (_, y, heavy) in places.iter().filter(|p| p.0 >= from && p.0 < to) {
        let bin = (y / d).max(0.0) as usize;
        if bin >= bins.len() {
            bins.resize(bin + 1, (0.0, 0.0));
        }
        bins[bin].0 += f64::from(u8::from(*heavy));
        bins[bin].1 += 1.0;
    }
    let shares: Vec<(f64, f64)> = (0..bins.len())
        .filter(|k| bins[*k].1 > 0.0)
        .map(|k| ((k as f64 + 0.5) * d, bins[k].0 / bins[k].1))
        .collect();
    let cross = shares.windows(2).find(|w| w[0].1 >= 0.5 && w[1].1 < 0.5);
    cross.map_or(f64::NAN, |w| w[0].0 + (w[0].1 - 0.5) / (w[0].1 - w[1].1) * (w[1].0 - w[0].0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stack(heavy: impl Fn(f64) -> bool) -> Vec<Place> {
        (0..400)
            .map(|k| (0.5 + f64::from(k % 20), 0.5 + f64::from(k / 20)))
            .map(|(x, y)| (x, y, heavy(y)))
            .collect()
    }

    #[test]
    fn the_interface_of_settled_layers_is_found() {
        let settled = stack(|y| y < 10.0);
        assert!((interface(&settled, [0.0, 5.0], 1.0) - 10.0).abs() < 1e-12);
        assert_eq!(misplaced(&settled, 10.0, 1.0), 0.0);
    }

    #[test]
    fn overturned_layers_have_none_and_are_all_misplaced() {
        let over = stack(|y| y > 10.0);
        assert!(interface(&over, [0.0, 5.0], 1.0).is_nan());
        // All but one spacing on either side.
        assert!((misplaced(&over, 10.0, 1.0) - 0.9).abs() < 1e-12);
    }
}
