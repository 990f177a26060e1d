//! The data of a lesson's page, read as its script reads them.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

pub(super) struct Page {
    pub footer: String,
    pub preset: String,
    pub steps: Vec<Step>,
    /// The ranges of x and y, and the labels of the colour bar, of each landscape.
    pub grounds: Vec<([[f64; 2]; 2], Vec<String>)>,
    pub runs: Vec<Run>,
}

pub(super) struct Step {
    pub text: String,
    pub play: bool,
    pub run: usize,
    pub from: u64,
    pub to: u64,
    pub show: Vec<usize>,
    pub optimizers: Vec<Optimizer>,
    pub title: Option<String>,
    pub beside: Vec<Pane>,
}

/// A simulation beside that of a step.
pub(super) struct Pane {
    pub title: String,
    pub run: usize,
    pub show: Vec<Option<u64>>,
}

pub(super) struct Optimizer {
    pub settings: Vec<String>,
    pub formulas: Vec<(String, String)>,
}

pub(super) struct Run {
    pub ground: usize,
    pub end: u64,
    pub stride: u64,
    pub frames: usize,
    pub place: [[f64; 2]; 2],
    pub metrics: Vec<Metric>,
    pub ensembles: Vec<Ensemble>,
}

pub(super) struct Metric {
    pub title: String,
    range: [[f64; 2]; 2],
    /// The mean and the deviation of each optimizer at the first step; `None` where it is not finite.
    pub first: Vec<[Option<f64>; 2]>,
}

pub(super) struct Ensemble {
    pub mean: [Series; 2],
    pub particles: Vec<[Series; 2]>,
    pub metrics: Vec<[Series; 2]>,
}

/// The codes of a series and the range that they divide.
pub(super) struct Series {
    codes: Vec<u16>,
    range: [f64; 2],
}

impl Series {
    /// Expects the number of a frame, or a gap where it is not finite or far away.
    #[track_caller]
    pub(super) fn expect(&self, frame: usize, exact: f64) {
        let (code, [low, high]) = (self.codes[frame], self.range);
        if (low..=high).contains(&exact) {
            let step = (high - low) / 65_534.0;
            let stored = low + step * f64::from(code);
            assert!(code < 65_535 && (stored - exact).abs() <= 0.501 * step, "{stored} for {exact} in frame {frame}");
        } else {
            assert_eq!(code, 65_535, "{exact} in frame {frame} is outside of {low}..={high}");
        }
    }
}

impl Step {
    /// Returns the runs that the step shows, its own first.
    pub(super) fn runs(&self) -> impl Iterator<Item = usize> {
        std::iter::once(self.run).chain(self.beside.iter().map(|pane| pane.run))
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}

fn whole(value: &Value) -> u64 {
    value.as_u64().unwrap()
}

fn list<T>(value: &Value, read: impl Fn(&Value) -> T) -> Vec<T> {
    value.as_array().unwrap().iter().map(read).collect()
}

fn ranges(value: &Value) -> [[f64; 2]; 2] {
    [0, 1].map(|part| [0, 1].map(|end| value[part][end].as_f64().unwrap()))
}

impl Page {
    pub(super) fn of(html: &str) -> Page {
        let begin = "<script type=\"application/json\" id=\"data\">";
        let data = html.split_once(begin).unwrap().1.split_once("</script>").unwrap().0;
        let data: Value = serde_json::from_str(data).unwrap();
        let optimizers = data["optimizers"].as_array().unwrap().len();
        Page {
            footer: text(&data["footer"]),
            preset: text(&data["preset"]),
            steps: list(&data["steps"], step),
            grounds: list(&data["grounds"], ground),
            runs: list(&data["runs"], |value| run(value, optimizers)),
        }
    }
}

fn ground(value: &Value) -> ([[f64; 2]; 2], Vec<String>) {
    let range = |side: &str| [0, 1].map(|end| value[side][end].as_f64().unwrap());
    (["x", "y"].map(range), list(&value["bar"]["ticks"], |tick| text(&tick[1])))
}

fn step(value: &Value) -> Step {
    let optimizer = |value: &Value| Optimizer {
        settings: list(&value["settings"], text),
        formulas: list(&value["formulas"], |pair| (text(&pair[0]), text(&pair[1]))),
    };
    Step {
        text: text(&value["text"]),
        play: value["play"].as_bool().unwrap(),
        run: whole(&value["run"]) as usize,
        from: whole(&value["from"]),
        to: whole(&value["to"]),
        show: list(&value["show"], |metric| whole(metric) as usize),
        optimizers: list(&value["optimizers"], optimizer),
        title: value["title"].as_str().map(str::to_owned),
        beside: value["beside"].as_array().into_iter().flatten().map(pane).collect(),
    }
}

fn pane(value: &Value) -> Pane {
    Pane { title: text(&value["title"]), run: whole(&value["run"]) as usize, show: list(&value["show"], Value::as_u64) }
}

fn run(value: &Value, optimizers: usize) -> Run {
    let optimizers = value["optimizers"].as_array().map_or(optimizers, Vec::len);
    let frames = whole(&value["frames"]) as usize;
    let place = ranges(&value["place"]);
    let metrics = list(&value["metrics"], |metric| Metric {
        title: text(&metric["title"]),
        range: ranges(&metric["range"]),
        first: list(&metric["first"], |pair| [0, 1].map(|part| pair[part].as_f64())),
    });
    let bytes = STANDARD.decode(value["data"].as_str().unwrap()).unwrap();
    let mut bytes = bytes.into_iter();
    let mut pair = |ranges: [[f64; 2]; 2]| ranges.map(|range| Series { codes: codes(&mut bytes, frames), range });
    let particles = whole(&value["particles"]);
    let ensembles = (0..optimizers)
        .map(|_| Ensemble {
            mean: pair(place),
            particles: (0..particles).map(|_| pair(place)).collect(),
            metrics: metrics.iter().map(|metric| pair(metric.range)).collect(),
        })
        .collect();
    assert_eq!(bytes.next(), None, "bytes are left over");
    Run {
        ground: whole(&value["ground"]) as usize,
        end: whole(&value["end"]),
        stride: whole(&value["stride"]),
        frames,
        place,
        metrics,
        ensembles,
    }
}

/// Reads a series: differences modulo 2¹⁶, the sign in the lowest bit, seven bits in a byte.
fn codes(bytes: &mut impl Iterator<Item = u8>, count: usize) -> Vec<u16> {
    let mut code = 0_u16;
    let mut next = || {
        let (mut folded, mut shift) = (0_u32, 0);
        loop {
            let byte = bytes.next().unwrap();
            folded |= u32::from(byte & 0x7f) << shift;
            shift += 7;
            if byte & 0x80 == 0 {
                break;
            }
        }
        let size = (folded >> 1) as u16;
        code = code.wrapping_add(if folded & 1 == 0 { size } else { !size });
        code
    };
    (0..count).map(|_| next()).collect()
}
