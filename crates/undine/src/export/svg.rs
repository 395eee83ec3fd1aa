//! Small line and scatter plots as SVG, for validation reports and probes.

use std::fmt::Write;

/// Picture size, px; wider with a legend beside the plot.
const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 450.0;
/// Room for title, axis labels and numbers around the plotting area, px.
const LEFT: f64 = 78.0;
const RIGHT: f64 = 22.0;
const TOP: f64 = 46.0;
const BOTTOM: f64 = 58.0;
/// Height of a legend row, px.
const ROW: f64 = 19.0;
/// Points of one line drawn at most; more cannot be told apart at this width.
const MAX_POINTS: usize = 4000;

/// Okabe and Ito's colours, which people with any colour vision can tell apart; yellow is left out as too faint
/// on white.
const COLOURS: [&str; 7] = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000"];
/// Dashes change when the colours come round again.
const DASHES: [&str; 3] = ["", " stroke-dasharray=\"7 4\"", " stroke-dasharray=\"2 3\""];

#[derive(Clone, Debug)]
struct Series {
    name: String,
    data: Vec<(f64, f64)>,
    joined: bool,
}

/// Place of the legend, px.
struct Legend {
    left: f64,
    top: f64,
    width: f64,
    height: f64,
}

/// A plot. Values that are not finite are left out (a line breaks there).
///
/// ```
/// let svg = undine::export::Plot::new("Dam break", "time / s", "front / m")
///     .line("measured", &[(0.0, 1.0), (0.1, 1.2)])
///     .points("reference", &[(0.1, 1.19)])
///     .to_svg();
/// assert!(svg.starts_with("<svg"));
/// ```
#[derive(Clone, Debug)]
pub struct Plot {
    title: String,
    x_label: String,
    y_label: String,
    series: Vec<Series>,
}

impl Plot {
    /// An empty plot.
    pub fn new(title: impl Into<String>, x_label: impl Into<String>, y_label: impl Into<String>) -> Self {
        Plot { title: title.into(), x_label: x_label.into(), y_label: y_label.into(), series: Vec::new() }
    }

    /// Adds values joined by a line, in the order given.
    pub fn line(self, name: impl Into<String>, data: &[(f64, f64)]) -> Self {
        self.add(name.into(), data, true)
    }

    /// Adds values as single points.
    pub fn points(self, name: impl Into<String>, data: &[(f64, f64)]) -> Self {
        self.add(name.into(), data, false)
    }

    fn add(mut self, name: String, data: &[(f64, f64)], joined: bool) -> Self {
        self.series.push(Series { name, data: data.to_vec(), joined });
        self
    }

    /// Draws it.
    pub fn to_svg(&self) -> String {
        let finite = || {
            self.series.iter().flat_map(|s| &s.data).filter(|(x, y)| x.is_finite() && y.is_finite()).copied()
        };
        let x_axis = Axis::over(finite().map(|p| p.0), LEFT, WIDTH - RIGHT);
        let y_axis = Axis::over(finite().map(|p| p.1), HEIGHT - BOTTOM, TOP);

        let legend = self.place_legend(&x_axis, &y_axis);
        let (width, height) = legend.as_ref().map_or((WIDTH, HEIGHT), |l| {
            (WIDTH.max(l.left + l.width + 14.0).ceil(), HEIGHT.max(l.top + l.height + 14.0).ceil())
        });

        let mut svg = String::new();
        let _ = write!(
            svg,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
             viewBox=\"0 0 {width} {height}\" role=\"img\" \
             font-family=\"Helvetica, Arial, 'DejaVu Sans', sans-serif\" font-size=\"13\" fill=\"#333\">\n\
             <title>{}</title>\n<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n",
            escape(&self.title)
        );
        self.draw_axes(&mut svg, &x_axis, &y_axis);
        let _ = writeln!(
            svg,
            "<clipPath id=\"area\"><rect x=\"{LEFT}\" y=\"{TOP}\" width=\"{}\" height=\"{}\"/></clipPath>",
            WIDTH - LEFT - RIGHT,
            HEIGHT - TOP - BOTTOM
        );
        // Lines first, so that reference points stay visible on them.
        for joined in [true, false] {
            for (number, series) in self.series.iter().enumerate().filter(|(_, s)| s.joined == joined) {
                draw_series(&mut svg, number, series, &x_axis, &y_axis);
            }
        }
        if let Some(legend) = &legend {
            self.draw_legend(&mut svg, legend);
        }
        svg += "</svg>\n";
        svg
    }

    fn draw_axes(&self, svg: &mut String, x_axis: &Axis, y_axis: &Axis) {
        let (right, bottom) = (WIDTH - RIGHT, HEIGHT - BOTTOM);
        for tick in x_axis.ticks() {
            let x = round(x_axis.place(tick));
            let _ = writeln!(
                svg,
                "<path d=\"M{x} {TOP}V{bottom}\" stroke=\"#e4e4e4\"/>\
                 <text x=\"{x}\" y=\"{}\" text-anchor=\"middle\">{}</text>",
                bottom + 19.0,
                x_axis.label(tick)
            );
        }
        for tick in y_axis.ticks() {
            let y = round(y_axis.place(tick));
            let _ = writeln!(
                svg,
                "<path d=\"M{LEFT} {y}H{right}\" stroke=\"#e4e4e4\"/>\
                 <text x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text>",
                LEFT - 8.0,
                round(y + 4.5),
                y_axis.label(tick)
            );
        }
        let _ = writeln!(
            svg,
            "<path d=\"M{LEFT} {TOP}V{bottom}H{right}\" fill=\"none\" stroke=\"#666\" stroke-width=\"1.2\"/>"
        );
        let (middle_x, middle_y) = ((LEFT + right) / 2.0, (TOP + bottom) / 2.0);
        let _ = writeln!(
            svg,
            "<text x=\"{middle_x}\" y=\"28\" text-anchor=\"middle\" font-size=\"17\" font-weight=\"bold\" fill=\"#111\">{}</text>",
            escape(&self.title)
        );
        let _ = writeln!(
            svg,
            "<text x=\"{middle_x}\" y=\"{}\" text-anchor=\"middle\" font-size=\"14\">{}</text>",
            HEIGHT - 14.0,
            escape(&self.x_label)
        );
        let _ = writeln!(
            svg,
            "<text transform=\"translate(20 {middle_y}) rotate(-90)\" text-anchor=\"middle\" font-size=\"14\">{}</text>",
            escape(&self.y_label)
        );
    }

    /// The legend goes to the corner with the fewest values under it, or beside the plot if it would hide some
    /// everywhere.
    fn place_legend(&self, x_axis: &Axis, y_axis: &Axis) -> Option<Legend> {
        let named: Vec<&Series> = self.series.iter().filter(|s| !s.name.is_empty()).collect();
        // No font to measure with: 7.8 px is a little over the mean letter of a wide font at 13 px.
        let longest = named.iter().map(|s| s.name.chars().count()).max()?;
        let width = 46.0 + 7.8 * longest as f64;
        let height = named.len() as f64 * ROW + 10.0;
        let covered = |&(left, top): &(f64, f64)| {
            let inside = |x: f64, y: f64| {
                let (x, y) = (x_axis.place(x), y_axis.place(y));
                x > left - 6.0 && x < left + width + 6.0 && y > top - 6.0 && y < top + height + 6.0
            };
            // Each series counts by its share, or a dense line would outvote the others.
            let share = |s: &Series| {
                s.data.iter().filter(|p| inside(p.0, p.1)).count() as f64 / s.data.len().max(1) as f64
            };
            self.series.iter().map(share).sum::<f64>()
        };
        let lefts = [WIDTH - RIGHT - width - 10.0, LEFT + 10.0];
        let tops = [TOP + 8.0, HEIGHT - BOTTOM - height - 8.0];
        let fits = width < 0.6 * (WIDTH - LEFT - RIGHT) && height < HEIGHT - TOP - BOTTOM - 16.0;
        let corner = tops
            .into_iter()
            .flat_map(|top| lefts.map(|left| (left, top)))
            .min_by(|a, b| covered(a).total_cmp(&covered(b)))
            .filter(|corner| fits && covered(corner) < 0.02);
        let (left, top) = corner.unwrap_or((WIDTH - 6.0, TOP));
        Some(Legend { left, top, width, height })
    }

    fn draw_legend(&self, svg: &mut String, legend: &Legend) {
        let Legend { left, top, width, height } = *legend;
        let _ = writeln!(
            svg,
            "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" rx=\"3\" fill=\"#fff\" fill-opacity=\"0.88\" stroke=\"#ddd\"/>",
            round(left),
            round(top),
            round(width),
            round(height)
        );
        for (row, (number, series)) in
            self.series.iter().enumerate().filter(|(_, s)| !s.name.is_empty()).enumerate()
        {
            let y = top + 5.0 + (row as f64 + 0.5) * ROW;
            let (left, y) = (round(left), round(y));
            if series.joined {
                let _ = write!(
                    svg,
                    "<path d=\"M{} {y}H{}\" stroke=\"{}\" stroke-width=\"2\"{}/>",
                    round(left + 8.0),
                    round(left + 32.0),
                    colour(number),
                    dash(number)
                );
            } else {
                mark(svg, number, left + 20.0, y);
            }
            let _ = writeln!(
                svg,
                "<text x=\"{}\" y=\"{}\">{}</text>",
                round(left + 38.0),
                round(y + 4.5),
                escape(&series.name)
            );
        }
    }
}

fn draw_series(svg: &mut String, number: usize, series: &Series, x_axis: &Axis, y_axis: &Axis) {
    if series.joined {
        let _ = write!(
            svg,
            "<path fill=\"none\" stroke=\"{}\" stroke-width=\"2\" stroke-linejoin=\"round\" stroke-linecap=\"round\" clip-path=\"url(#area)\"{} d=\"",
            colour(number),
            dash(number)
        );
        let step = series.data.len().div_ceil(MAX_POINTS).max(1);
        let last = series.data.len().saturating_sub(1);
        let mut command = 'M';
        for (i, &(x, y)) in series.data.iter().enumerate() {
            if !x.is_finite() || !y.is_finite() {
                command = 'M';
            } else if i % step == 0 || i == last || command == 'M' {
                let _ = write!(svg, "{command}{} {}", round(x_axis.place(x)), round(y_axis.place(y)));
                command = 'L';
            }
        }
        svg.push_str("\"/>");
    } else {
        for &(x, y) in series.data.iter().filter(|(x, y)| x.is_finite() && y.is_finite()) {
            mark(svg, number, x_axis.place(x), y_axis.place(y));
        }
    }
    svg.push('\n');
}

/// A mark; shapes differ as well as colours.
fn mark(svg: &mut String, number: usize, x: f64, y: f64) {
    let (x, y, colour) = (round(x), round(y), colour(number));
    let style = format!("fill=\"#fff\" fill-opacity=\"0.6\" stroke=\"{colour}\" stroke-width=\"1.8\"");
    let _ = match number % 4 {
        0 => write!(svg, "<circle cx=\"{x}\" cy=\"{y}\" r=\"3.8\" {style}/>"),
        1 => write!(
            svg,
            "<rect x=\"{}\" y=\"{}\" width=\"7\" height=\"7\" {style}/>",
            round(x - 3.5),
            round(y - 3.5)
        ),
        2 => write!(svg, "<path d=\"M{x} {}l4.5 8h-9z\" {style}/>", round(y - 5.0)),
        _ => write!(svg, "<path d=\"M{x} {}l5 5l-5 5l-5 -5z\" {style}/>", round(y - 5.0)),
    };
}

fn colour(number: usize) -> &'static str {
    COLOURS[number % COLOURS.len()]
}

fn dash(number: usize) -> &'static str {
    DASHES[number / COLOURS.len() % DASHES.len()]
}

/// To a hundredth of a pixel: finer cannot be seen and makes large files.
fn round(x: f64) -> f64 {
    (x * 100.0).round() / 100.0
}

/// A linear axis from `low` to `high` with a tick every `step`, drawn from pixel `from` to pixel `to`.
struct Axis {
    low: f64,
    high: f64,
    step: f64,
    from: f64,
    to: f64,
}

impl Axis {
    fn over(values: impl Iterator<Item = f64>, from: f64, to: f64) -> Axis {
        let (mut low, mut high) =
            values.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| (l.min(v), h.max(v)));
        if low > high {
            (low, high) = (0.0, 1.0);
        }
        // Beyond this the differences below overflow; such values only come from a run gone wrong.
        (low, high) = (low.clamp(-1e300, 1e300), high.clamp(-1e300, 1e300));
        // A constant, or what is one but for rounding, gets room around it.
        let size = low.abs().max(high.abs());
        if high - low <= size * 1e-12 {
            let room = if size < 1e-300 { 1.0 } else { size * 0.1 };
            (low, high) = (low - room, high + room);
        } else if low > 0.0 && low < 0.25 * high {
            // Zero is worth seeing when it is near.
            low = 0.0;
        } else if high < 0.0 && high > 0.25 * low {
            high = 0.0;
        }
        let wanted = if (to - from).abs() > 500.0 { 8.0 } else { 6.0 };
        let step = nice_step((high - low) / wanted);
        // Whole steps at both ends keep the values off the frame.
        Axis { low: (low / step).floor() * step, high: (high / step).ceil() * step, step, from, to }
    }

    fn place(&self, value: f64) -> f64 {
        self.from + (value - self.low) / (self.high - self.low) * (self.to - self.from)
    }

    fn ticks(&self) -> impl Iterator<Item = f64> {
        let first = (self.low / self.step).round();
        let count = ((self.high - self.low) / self.step).round().clamp(0.0, 50.0) as u32;
        let step = self.step;
        (0..=count).map(move |i| (first + f64::from(i)) * step)
    }

    fn label(&self, tick: f64) -> String {
        let size = self.low.abs().max(self.high.abs());
        let text = if (1e-4..1e6).contains(&size) {
            // As many digits as the step itself has: 0.25 needs two, 0.2 one.
            let whole = |d: &usize| {
                let scaled = self.step * 10f64.powi(*d as i32);
                (scaled - scaled.round()).abs() < 1e-6 * scaled
            };
            let decimals = (0..=15).find(whole).unwrap_or(15);
            format!("{tick:.decimals$}")
        } else {
            // As many digits as neighbouring ticks need to differ, and one more for steps of 2.5.
            let decimals = ((size / self.step).log10().ceil() + 1.0).clamp(0.0, 15.0) as usize;
            let text = format!("{tick:.decimals$e}");
            match text.split_once('e') {
                Some((number, exponent)) if number.contains('.') => {
                    format!("{}e{exponent}", number.trim_end_matches('0').trim_end_matches('.'))
                }
                _ => text,
            }
        };
        match text.strip_prefix('-') {
            Some(rest) if rest.bytes().all(|b| matches!(b, b'0' | b'.' | b'e')) => "0".to_owned(),
            None if text == "0e0" => "0".to_owned(),
            // The true minus sign; a hyphen is hard to see.
            _ => text.replace('-', "\u{2212}"),
        }
    }
}

/// The smallest of 1, 2, 2.5, 5 × 10ⁿ that is not below `rough`.
fn nice_step(rough: f64) -> f64 {
    let power = 10f64.powf(rough.log10().floor());
    [1.0, 2.0, 2.5, 5.0]
        .into_iter()
        .map(|m| m * power)
        .find(|&s| s >= rough * 0.999_999)
        .unwrap_or(10.0 * power)
}

/// Makes text safe within XML: markup is escaped, characters XML does not allow are replaced.
pub(super) fn escape(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => safe += "&amp;",
            '<' => safe += "&lt;",
            '>' => safe += "&gt;",
            '"' => safe += "&quot;",
            '\'' => safe += "&#39;",
            c if c < ' ' || c == '\u{fffe}' || c == '\u{ffff}' => safe.push(' '),
            c => safe.push(c),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn steps_are_nice_and_labels_have_the_digits_they_need() {
        assert_eq!(nice_step(0.13), 0.2);
        assert_eq!(nice_step(23.0), 25.0);
        assert_eq!(nice_step(7.0), 10.0);
        let labels = |low: f64, high: f64| -> Vec<String> {
            let axis = Axis::over([low, high].into_iter(), 0.0, 300.0);
            axis.ticks().map(|t| axis.label(t)).collect()
        };
        assert_eq!(labels(0.0, 1.0), ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]);
        assert_eq!(labels(0.0, 1.25), ["0.00", "0.25", "0.50", "0.75", "1.00", "1.25"]);
        assert_eq!(labels(1.0, 1.4e6)[4..], ["1e6", "1.25e6", "1.5e6"].map(String::from)[..]);
        assert_eq!(labels(-2.0, 3.0), ["−2", "−1", "0", "1", "2", "3"]);
        assert_eq!(labels(0.0, 4e-7), ["0", "1e−7", "2e−7", "3e−7", "4e−7"]);
        assert_eq!(labels(0.0, 3e9), ["0", "5e8", "1e9", "1.5e9", "2e9", "2.5e9", "3e9"]);
    }

    #[test]
    fn text_is_escaped() {
        let svg = Plot::new("a<b & \"c\"\u{0}", "x", "y").line("</svg>", &[(0.0, 0.0)]).to_svg();
        assert!(svg.contains("a&lt;b &amp; &quot;c&quot; "));
        assert_eq!(svg.matches("</svg>").count(), 1);
    }

    #[test]
    fn a_line_breaks_where_a_value_is_missing() {
        let svg = Plot::new("t", "x", "y")
            .line("", &[(0.0, 0.0), (1.0, 1.0), (2.0, f64::NAN), (3.0, 1.0), (4.0, 0.0)])
            .to_svg();
        let path = svg.split_once(" d=\"M").unwrap().1;
        assert!(path.contains('M'));
        assert!(!svg.contains("NaN"));
    }

    #[test]
    fn an_empty_plot_still_has_axes() {
        let svg = Plot::new("t", "x", "y").line("none", &[]).to_svg();
        assert!(svg.contains(">1.0</text>"));
    }

    proptest! {
        #[test]
        fn any_values_give_finite_coordinates(
            data in proptest::collection::vec((any::<f64>(), any::<f64>()), 0..20),
        ) {
            let svg = Plot::new("t", "x", "y").line("a", &data).points("b", &data).to_svg();
            prop_assert!(!svg.contains("NaN") && !svg.contains("inf"), "{}", svg);
            prop_assert!(svg.len() < 100_000);
        }
    }
}
