//! The figure of a grid: of given results, and of the runs of a preset, drawn by the real program.

use std::fs;
use std::path::Path;
use std::process::Output;

use resvg::usvg::roxmltree::{Document, Node};
use skrifa::{FontRef, MetadataProvider};
use valleyscope::draw::{Figure, FigureError, Options};
use valleyscope::runs::{GridAxes, GridResult, MetricAliases, RunFacts};
use valleyscope_experiments::preset::{Preset, built_ins};
use valleyscope_experiments::run::RunConfig;
use valleyscope_experiments::workload::RunSpec;
use valleyscope_runs::{Event, MetricId, MetricValues, Notes, RunFolder, RunSession, Started};

use crate::doctor::{Sandbox, expect, expect_error, stderr};

const ADAM: &str = "#f46f43";

/// The optimizers, batch sizes and number of seeds of a grid with three learning rates.
struct Axes {
    optimizers: [&'static str; 3],
    batch_sizes: Vec<u64>,
    seeds: usize,
}

const RATES: [f64; 3] = [0.001, 0.01, 0.1];

fn axes() -> Axes {
    Axes { optimizers: ["Adam", "Signum", "FOCUS, γ = 0.2"], batch_sizes: vec![2, 8, 32, 128], seeds: 2 }
}

/// Returns all pairs of an optimizer and a batch size.
fn places(axes: &Axes) -> Vec<[usize; 2]> {
    (0..axes.batch_sizes.len()).flat_map(|size| (0..3).map(move |optimizer| [optimizer, size])).collect()
}

/// Returns the test loss of a training, different for each: the learning rate in the middle is best, and the largest
/// diverges with batches of 2.
fn test_loss([optimizer, size]: [usize; 2], rate: usize, seed: usize) -> f64 {
    if rate == 2 && size == 0 {
        return if seed == 0 { f64::NAN } else { f64::INFINITY };
    }
    let best = [0.8, 0.6, 0.5][optimizer] - 0.1 * size as f64 + 0.05 * (optimizer * size) as f64;
    best + 0.2 * (rate as f64 - 1.0).abs() + 0.04 * (seed + 1) as f64
}

fn config() -> String {
    built_ins().iter().find(|built_in| built_in.name == "fig2cd").expect("it is built in").preset.to_ron()
}

/// Returns the facts of finished trainings, with these last test losses.
fn facts(axes: &Axes, places: &[[usize; 2]], loss: impl Fn([usize; 2], usize, usize) -> f64) -> Vec<RunFacts> {
    let folder = tempfile::tempdir().expect("a folder");
    let mut facts = Vec::new();
    for place in places {
        for (rate, seed) in (0..RATES.len()).flat_map(|rate| (0..axes.seeds).map(move |seed| (rate, seed))) {
            let run = RunFolder::create(folder.path(), "run", "of another program").expect("a run can be made");
            let mut session = RunSession::begin(&run).expect("a session can begin");
            let started = Started {
                optimizer: axes.optimizers[place[0]].to_owned(),
                batch_size: Some(axes.batch_sizes[place[1]]),
                learning_rate: Some(RATES[rate]),
                seed: Some(seed as u64),
                data: "MNIST, in /some/cache".to_owned(),
                ..Started::default()
            };
            let evaluated = MetricValues::from([(MetricId::TEST_LOSS, loss(*place, rate, seed))]);
            for event in [Event::Started(started), Event::Eval(evaluated), Event::Finished] {
                session.record(400, event).expect("it can be written");
            }
            drop(session);
            facts.push(RunFacts::read(&run, &Notes::default(), &MetricAliases::default()).expect("it can be read"));
        }
    }
    facts
}

fn read(facts: &[RunFacts], axes: &GridAxes) -> Result<GridResult, String> {
    GridResult::of("Batches & <optimizers>", &facts.iter().collect::<Vec<_>>(), axes)
}

fn of(axes: &Axes, places: &[[usize; 2]]) -> GridResult {
    read(&facts(axes, places, test_loss), &GridAxes::default()).expect("the results of a grid")
}

fn whole() -> GridResult {
    of(&axes(), &places(&axes()))
}

fn rendered(figure: &Figure, width_mm: f64) -> String {
    figure.render(&Options { width_mm, ..Options::default() }).expect("rendered").to_string()
}

fn drawn(result: &GridResult, width_mm: f64) -> String {
    rendered(&Figure::grid(result, vec![config()]), width_mm)
}

fn number(node: Node<'_, '_>, name: &str) -> f64 {
    node.attribute(name).expect("it is there").parse().expect("a number")
}

/// Returns the frames of the plots: left, top, right and bottom.
pub fn frames(document: &Document<'_>) -> Vec<[f64; 4]> {
    let rects =
        document.descendants().filter(|node| node.has_tag_name("rect") && node.attribute("fill") == Some("none"));
    let frame = |node: Node<'_, '_>| {
        let [x, y, width, height] = ["x", "y", "width", "height"].map(|name| number(node, name));
        [x, y, x + width, y + height]
    };
    rects.map(frame).collect()
}

/// Returns the texts with the middle of their line: anchor, x, y.
pub fn texts<'d>(document: &'d Document<'_>) -> Vec<(&'d str, f64, f64)> {
    let texts = document.descendants().filter(|node| node.has_tag_name("text"));
    let placed = texts.map(|node| {
        let middle = number(node, "y") - 0.36 * number(node, "font-size");
        (node.text().unwrap_or_default(), number(node, "x"), middle)
    });
    placed.collect()
}

/// Returns a conversion of values to heights, by the labels at the left of a frame.
pub fn height_of(document: &Document<'_>, [left, top, _, bottom]: [f64; 4], log: bool) -> impl Fn(f64) -> f64 {
    let form = move |value: f64| if log { value.ln() } else { value };
    let beside = texts(document).into_iter().filter(|(_, x, y)| *x < left && (top..bottom).contains(y));
    let labels = beside.filter_map(|(text, _, y)| Some((form(text.replace('−', "-").parse().ok()?), y)));
    let labels: Vec<(f64, f64)> = labels.collect();
    let (first, last) = (labels[0], labels[labels.len() - 1]);
    assert!(labels.len() >= 3 && first.0 != last.0, "labels at the axis: {labels:?}");
    move |value| first.1 + (form(value) - first.0) / (last.0 - first.0) * (last.1 - first.1)
}

/// Returns a conversion of positive values to horizontal places on a logarithmic axis, by the labels below.
fn across(document: &Document<'_>, bottom: f64) -> impl Fn(f64) -> f64 {
    let below = texts(document).into_iter().filter(|(_, _, y)| *y > bottom);
    let labels: Vec<(f64, f64)> =
        below.filter_map(|(text, x, _)| Some((text.parse::<f64>().ok()?.log2(), x))).collect();
    let (first, last) = (labels[0], labels[labels.len() - 1]);
    move |size| first.1 + (size.log2() - first.0) / (last.0 - first.0) * (last.1 - first.1)
}

/// Returns the paths of a colour and width as lists of points.
pub fn paths(document: &Document<'_>, color: &str, width: &str) -> Vec<Vec<[f64; 2]>> {
    let paths = document.descendants().filter(|node| {
        node.has_tag_name("path") && is_colored(node, "stroke", color) && node.attribute("stroke-width") == Some(width)
    });
    let points = paths.map(|node| {
        let data = node.attribute("d").expect("a path");
        let points = data.split(['M', 'L']).filter(|point| !point.is_empty()).map(|point| {
            let (x, y) = point.split_once(' ').expect("two numbers");
            [x, y].map(|number| number.parse::<f64>().expect("a number"))
        });
        points.collect()
    });
    points.collect()
}

/// Returns whether an attribute is about this colour: that of a faint element is rounded.
pub fn is_colored(node: &Node<'_, '_>, attribute: &str, color: &str) -> bool {
    let rgb = |text: &str| -> Option<[i32; 3]> {
        let channel = |at: usize| i32::from_str_radix(text.get(at..at + 2)?, 16).ok();
        Some([channel(1)?, channel(3)?, channel(5)?])
    };
    let [found, expected] = [node.attribute(attribute).and_then(rgb), rgb(color)];
    found.zip(expected).is_some_and(|(found, expected)| (0..3).all(|at| (found[at] - expected[at]).abs() <= 4))
}

/// Returns the lengths of the first dashes and gaps of a path; none of a whole line.
pub fn dashes(node: &Node<'_, '_>) -> Vec<i64> {
    let data = node.attribute("d").expect("a path");
    let point = |text: &str| -> [f64; 2] {
        let (x, y) = text.split_once(' ').expect("two numbers");
        [x, y].map(|number| number.parse().expect("a number"))
    };
    let pieces: Vec<Vec<[f64; 2]>> =
        data.split('M').skip(1).map(|piece| piece.split('L').map(point).collect()).collect();
    let between = |one: [f64; 2], other: [f64; 2]| (one[0] - other[0]).hypot(one[1] - other[1]);
    let whole = |length: f64| (10.0 * length).round() as i64;
    let dash = |piece: &Vec<[f64; 2]>| piece.windows(2).map(|ends| between(ends[0], ends[1])).sum::<f64>();
    let first = pieces
        .windows(2)
        .take(3)
        .flat_map(|pair| [whole(dash(&pair[0])), whole(between(pair[0][pair[0].len() - 1], pair[1][0]))]);
    first.collect()
}

#[track_caller]
pub fn near(found: f64, expected: f64) {
    assert!((found - expected).abs() < 0.01, "expected {expected}, found {found}");
}

/// Returns mean, sample deviation and learning rate of the best, by the definition.
fn score(place: [usize; 2]) -> (f64, f64, usize) {
    let means = (0..3).map(|rate| {
        let [one, other] = [0, 1].map(|replicate| test_loss(place, rate, replicate));
        let mean = (one + other) / 2.0;
        (mean, ((one - mean).powi(2) + (other - mean).powi(2)).sqrt(), rate)
    });
    means.filter(|(mean, ..)| mean.is_finite()).min_by(|a, b| a.0.total_cmp(&b.0)).expect("there are some")
}

/// Returns Signum's improvement on Adam with a batch size, and its error, by the paper's formula.
fn improvement(size: usize) -> (f64, f64) {
    let ((a, of_a, _), (s, of_s, _)) = (score([0, size]), score([1, size]));
    ((a - s) / a, (s.powi(2) / a.powi(4) * of_a.powi(2) + of_s.powi(2) / a.powi(2)).sqrt())
}

#[track_caller]
fn close(found: f64, expected: f64) {
    assert!((found - expected).abs() <= 1e-12, "expected {expected}, found {found}");
}

/// Returns the bands of errors in a frame: the upper ends of each, from left to right, and the lower ends.
fn bands(document: &Document<'_>, [_, top, _, bottom]: [f64; 4]) -> Vec<[Vec<[f64; 2]>; 2]> {
    let bands =
        document.descendants().filter(|node| node.has_tag_name("polygon") && node.attribute("fill-opacity").is_some());
    let points = bands.map(|node| {
        let numbers = node.attribute("points").expect("points").split([' ', ',']);
        let numbers: Vec<f64> = numbers.map(|number| number.parse().expect("a number")).collect();
        numbers.chunks_exact(2).map(|point| [point[0], point[1]]).collect::<Vec<_>>()
    });
    let within = points.filter(|points| points.iter().all(|[_, y]| (top - 0.01..bottom + 0.01).contains(y)));
    let split = within.map(|points| {
        let (above, below) = points.split_at(points.len() / 2);
        [above.to_vec(), below.iter().rev().copied().collect()]
    });
    split.collect()
}

/// Checks that a band has these values and errors, one for each batch size.
#[track_caller]
fn check_band(svg: &str, plot: usize, index: usize, expected: impl Fn(usize) -> (f64, f64)) {
    let document = Document::parse(svg).expect("well-formed XML");
    let frames = frames(&document);
    let height = height_of(&document, frames[plot], plot == 0);
    let across = across(&document, frames[frames.len() - 1][3]);
    let [above, below] = &bands(&document, frames[plot])[index];
    assert_eq!((above.len(), below.len()), (4, 4), "a point for each batch size");
    for size in 0..4 {
        let (value, error) = expected(size);
        near(above[size][0], across([2.0, 8.0, 32.0, 128.0][size]));
        near(above[size][1], height(value + error));
        near(below[size][1], height(value - error));
    }
}

#[test]
fn losses_and_improvements_are_drawn_at_their_values_with_bands_of_errors() {
    let svg = drawn(&whole(), 85.0);
    let document = Document::parse(&svg).expect("well-formed XML");
    let frames = frames(&document);
    assert_eq!(frames.len(), 2);
    assert_eq!([0, 1].map(|plot| bands(&document, frames[plot]).len()), [3, 1]);
    for optimizer in 0..3 {
        // The standard error of the mean of two seeds.
        check_band(&svg, 0, optimizer, |size| {
            let (mean, deviation, _) = score([optimizer, size]);
            (mean, deviation / 2.0_f64.sqrt())
        });
    }
    check_band(&svg, 1, 0, |size| {
        let (value, error) = improvement(size);
        (100.0 * value, 100.0 * error)
    });
    let curve = paths(&document, ADAM, "1.1");
    let [height, across] =
        [&height_of(&document, frames[0], true) as &dyn Fn(f64) -> f64, &across(&document, frames[1][3])];
    // The second is the key of the legend.
    assert_eq!((curve[0].len(), paths(&document, ADAM, "0.7").len()), (4, 0), "no bars of errors");
    for (size, point) in curve[0].iter().enumerate() {
        near(point[0], across([2.0, 8.0, 32.0, 128.0][size]));
        near(point[1], height(score([0, size]).0));
    }
}

#[test]
fn results_are_means_of_the_best_learning_rate_with_deviations_over_seeds() {
    let result = whole();
    assert_eq!(result.counts, [72, 72]);
    assert_eq!(result.ticks.iter().map(|(_, text)| text.as_str()).collect::<Vec<_>>(), ["2", "8", "32", "128"]);
    for (optimizer, curve) in result.curves.iter().enumerate() {
        assert_eq!(curve.name, axes().optimizers[optimizer]);
        for (size, point) in curve.points.iter().enumerate() {
            let (point, (mean, deviation, rate)) = (point.as_ref().expect("it is known"), score([optimizer, size]));
            close(point.mean, mean);
            close(point.deviation, deviation);
            close(point.error(), deviation / 2.0_f64.sqrt());
            assert_eq!((point.seeds, point.best.as_str(), point.edge), (2, ["0.001", "0.01", "0.1"][rate], None));
        }
    }
    assert_eq!(result.curves[0].best, Some(3), "Adam's is that of the largest batches");
    let [adam, signum] = result.adam_and_signum().expect("both are there");
    assert_eq!((adam.name.as_str(), signum.name.as_str()), ("Adam", "Signum"));
    assert_eq!(result.remarks, Vec::<String>::new());
}

#[test]
fn a_table_of_a_grid_has_a_row_for_each_combination() {
    let table = String::from_utf8(whole().csv().expect("memory takes all that is written")).expect("text");
    let rows: Vec<String> = table.lines().map(|row| row.replace("\"FOCUS, γ = 0.2\"", "FOCUS")).collect();
    assert_eq!(rows[0], "optimizer,learning_rate,batch_size,test_loss,test_loss_std,seeds");
    assert_eq!(rows.len(), 1 + 3 * 4 * 3);
    let mut seen = std::collections::BTreeSet::new();
    for row in &rows[1..] {
        let [optimizer, rate, size, mean, std, seeds] = &row.split(',').collect::<Vec<_>>()[..] else {
            panic!("{row}")
        };
        let at = |all: &[&str], text: &str| all.iter().position(|it| *it == text).expect("it is tried");
        let place = [at(&["Adam", "Signum", "FOCUS"], optimizer), at(&["2", "8", "32", "128"], size)];
        let rate = at(&["0.001", "0.01", "0.1"], rate);
        assert!(seen.insert((place, rate)), "{row}");
        let [one, other] = [0, 1].map(|replicate| test_loss(place, rate, replicate));
        assert_eq!(*seeds, "2");
        let [mean, std] = [mean, std].map(|text| text.parse::<f64>().expect("a number"));
        if rate == 2 && place[1] == 0 {
            assert!(!mean.is_finite(), "{row}");
        } else {
            close(mean, (one + other) / 2.0);
            close(std, (one - other).abs() / 2.0_f64.sqrt());
        }
    }
}

#[test]
fn the_guides_are_at_0_and_at_plus_and_minus_5_percent() {
    let svg = drawn(&whole(), 85.0);
    let document = Document::parse(&svg).expect("well-formed XML");
    let frame = frames(&document)[1];
    let height = height_of(&document, frame, false);
    let guides = paths(&document, "#787878", "0.6");
    let expected = [(0.0, false), (5.0, true), (-5.0, true)];
    assert_eq!(guides.len(), 3);
    for (guide, (value, is_dashed)) in guides.iter().zip(expected) {
        guide.iter().for_each(|point| near(point[1], height(value)));
        near(guide[0][0], frame[0]);
        // A dashed line may end in a gap.
        let reach = frame[2] - guide[guide.len() - 1][0];
        assert!((-0.01..3.0).contains(&reach), "{reach} from the end");
        assert_eq!(guide.len() > 2, is_dashed, "{value}: {guide:?}");
    }
}

#[test]
fn svg_has_labels_and_metadata() {
    let options = Options { title: true, ..Options::default() };
    let svg = Figure::grid(&whole(), vec![config()]).render(&options).expect("rendered").to_string();
    let document = Document::parse(&svg).expect("well-formed XML");
    let texts: Vec<&str> = texts(&document).into_iter().map(|(text, ..)| text).collect();
    for label in [
        "Adam",
        "Signum",
        "FOCUS, γ = 0.2",
        "test loss",
        "batch size",
        "improvement (%)",
        "Signum over Adam (dashed: ±5 %)",
        "with the best learning rate",
        "2",
        "128",
        "Batches & <optimizers>",
    ] {
        assert!(texts.contains(&label), "{label} is not among {texts:?}");
    }
    assert!(!texts.iter().any(|text| text.contains("so far") || text.contains('≤')), "{texts:?}");
    let of = |name: &str| {
        let found = document.descendants().find(|node| node.tag_name().name() == name);
        found.and_then(|node| node.text()).unwrap_or_default().to_owned()
    };
    assert_eq!(of("description"), config());
    assert!(of("source").starts_with("Valleyscope"), "{}", of("source"));
    assert!(!svg.contains("/some/cache"), "no paths of the machine that trained it");
}

fn is_ring(node: &Node<'_, '_>) -> bool {
    node.has_tag_name("circle") && node.attribute("fill") == Some("none")
}

#[test]
fn the_best_point_of_each_curve_is_ringed() {
    let svg = drawn(&whole(), 85.0);
    let document = Document::parse(&svg).expect("well-formed XML");
    let frames = frames(&document);
    let (height, across) = (height_of(&document, frames[0], true), across(&document, frames[1][3]));
    let rings: Vec<[f64; 2]> =
        document.descendants().filter(is_ring).map(|ring| ["cx", "cy"].map(|name| number(ring, name))).collect();
    assert_eq!(rings.len(), 3);
    for (optimizer, [x, y]) in rings.into_iter().enumerate().take(2) {
        near(x, across(128.0));
        near(y, height(score([optimizer, 3]).0));
    }
}

/// Returns the grid with Signum's best learning rate at the upper end with batches of 2 and 32, and at the lower with
/// 8; with 128 all of its trainings diverge.
fn at_edges() -> GridResult {
    let loss = |place: [usize; 2], rate: usize, seed: usize| match (place, rate) {
        ([1, 0 | 2], 2) | ([1, 1], 0) => [0.01, 0.02][seed],
        ([1, 3], _) => [f64::NAN, f64::INFINITY][seed],
        _ => test_loss(place, rate, seed),
    };
    read(&facts(&axes(), &places(&axes()), loss), &GridAxes::default()).expect("the results of a grid")
}

#[test]
fn a_best_learning_rate_at_the_edge_of_those_tried_is_marked_with_what_to_try() {
    let result = at_edges();
    let sentence = "the best learning rate is at the edge of the learning rates tried, 0.001 to 0.1: widen them";
    let remarks = [
        format!("Signum, batch size 2, 32: {sentence} above 0.1 (`--vary learning_rate=0.001,0.01,0.1,1`)"),
        format!("Signum, batch size 8: {sentence} below 0.001 (`--vary learning_rate=0.0001,0.001,0.01,0.1`)"),
    ];
    assert_eq!(result.remarks, remarks);
    let svg = drawn(&result, 85.0);
    let document = Document::parse(&svg).expect("well-formed XML");
    let frames = frames(&document);
    let across = across(&document, frames[1][3]);
    let all = texts(&document);
    let marks: Vec<&(&str, f64, f64)> = all.iter().filter(|(text, ..)| ["≤", "≥"].contains(text)).collect();
    assert_eq!(marks.iter().map(|(text, ..)| *text).collect::<Vec<_>>(), ["≥", "≤", "≥"]);
    for ((_, x, y), size) in marks.into_iter().zip([2.0, 8.0, 32.0]) {
        near(*x, across(size));
        assert!((frames[0][1]..frames[0][3]).contains(y), "inside of the frame");
    }
    assert!(all.iter().any(|(text, ..)| *text == "≤ ≥: the best is at the edge of those tried"));
}

#[test]
fn what_diverged_with_all_learning_rates_is_at_the_upper_edge_and_improves_nothing() {
    let result = at_edges();
    let signum = result.curves.iter().find(|curve| curve.name == "Signum").expect("it is there");
    assert!(!signum.points[3].as_ref().expect("it has finished").mean.is_finite());
    assert_ne!(signum.best, Some(3));
    let svg = drawn(&result, 85.0);
    let document = Document::parse(&svg).expect("well-formed XML");
    let frames = frames(&document);
    let across = across(&document, frames[1][3]);
    let all = document.descendants().filter(|node| node.has_tag_name("path"));
    let lines: Vec<&str> =
        all.filter(|node| node.attribute("stroke-width") == Some("1.1")).filter_map(|it| it.attribute("d")).collect();
    let ends = lines.iter().filter_map(|line| {
        let (x, y) = line.rsplit(['M', 'L']).next()?.split_once(' ')?;
        Some([x.parse::<f64>().ok()?, y.parse::<f64>().ok()?])
    });
    let ends: Vec<[f64; 2]> = ends.collect();
    let at_128 = |[x, y]: &&[f64; 2]| (x - across(128.0)).abs() < 0.01 && (y - frames[0][1]).abs() < 0.01;
    assert_eq!(ends.iter().filter(at_128).count(), 1, "one curve ends at the upper edge: {ends:?}");
    let improves = ends.iter().filter(|[_, y]| (frames[1][1]..frames[1][3]).contains(y));
    improves.for_each(|[x, _]| near(*x, across(32.0)));
}

#[test]
fn a_partial_grid_is_labelled_and_its_lines_have_gaps() {
    // Adam's results are known except for batches of 32.
    let mut result = of(&axes(), &[[0, 0], [0, 1], [0, 3], [1, 0], [1, 2]]);
    assert_eq!(result.counts, [30, 30]);
    result.counts[1] = 72;
    let svg = drawn(&result, 85.0);
    let document = Document::parse(&svg).expect("well-formed XML");
    assert!(texts(&document).iter().any(|(text, ..)| *text == "so far 30 of 72 trainings"));
    let curves = paths(&document, ADAM, "1.1");
    let frame = frames(&document)[0];
    let drawn: Vec<_> = curves.iter().filter(|curve| curve[0][1] < frame[3] && curve[0][1] > frame[1]).collect();
    assert_eq!(drawn.len(), 1);
    assert_eq!(drawn[0].len(), 2, "from 2 to 8, and none from 8 to 128");
    let across = across(&document, frames(&document)[1][3]);
    near(drawn[0][1][0], across(8.0));
    // Signum's points are no neighbours.
    let bands = bands(&document, frame);
    assert_eq!(bands.iter().map(|[above, _]| above.len()).collect::<Vec<_>>(), [2]);
}

#[test]
fn without_adam_and_signum_there_is_no_improvement() {
    for names in [["Adam", "FOCUS", "SGD"], ["Signum", "FOCUS", "SGD"]] {
        let axes = Axes { optimizers: names, ..axes() };
        let svg = drawn(&of(&axes, &places(&axes)), 85.0);
        let document = Document::parse(&svg).expect("well-formed XML");
        assert_eq!(frames(&document).len(), 1);
        assert!(texts(&document).iter().any(|(text, ..)| *text == "128"), "the batch sizes are below");
        assert!(!svg.contains("improvement"));
    }
}

#[test]
fn one_seed_has_no_bands() {
    let axes = Axes { seeds: 1, ..axes() };
    let result = of(&axes, &places(&axes));
    assert!(result.rows.iter().all(|(_, mean)| mean.seeds == 1 && mean.error().is_nan()));
    let svg = drawn(&result, 85.0);
    assert!(!svg.contains("fill-opacity"));
    let document = Document::parse(&svg).expect("well-formed XML");
    assert_eq!(frames(&document).len(), 2, "the improvement needs no error");
}

#[test]
fn batch_sizes_are_drawn_in_ascending_order() {
    let mixed = Axes { batch_sizes: vec![128, 2, 32, 8], ..axes() };
    let svg = drawn(&of(&mixed, &places(&mixed)), 85.0);
    let document = Document::parse(&svg).expect("well-formed XML");
    let height = height_of(&document, frames(&document)[0], true);
    let curve = &paths(&document, ADAM, "1.1")[0];
    assert!(curve.windows(2).all(|pair| pair[0][0] < pair[1][0]));
    // Batches of 2 are the second in the axes.
    near(curve[0][1], height(score([0, 1]).0));
    near(curve[3][1], height(score([0, 0]).0));
}

#[test]
fn other_axes_are_chosen_and_unknown_ones_refused() {
    let runs = facts(&axes(), &places(&axes()), test_loss);
    let axes = |x: Option<&str>, best_over: Option<&str>| GridAxes {
        x: x.map(str::to_owned),
        best_over: best_over.map(str::to_owned),
    };
    let over_rates = read(&runs, &axes(Some("lr"), None)).expect("results");
    assert_eq!((over_rates.x.field.as_str(), over_rates.best_over.as_ref()), ("learning_rate", None));
    assert_eq!(over_rates.ticks.iter().map(|(_, text)| text.as_str()).collect::<Vec<_>>(), ["0.001", "0.01", "0.1"]);
    assert_eq!(over_rates.curves.len(), 12, "one for each optimizer and batch size");
    let adam = over_rates.curves.iter().find(|curve| curve.name == "Adam, batch size 8").expect("it is there");
    assert_eq!(adam.best, Some(1));
    for (rate, point) in adam.points.iter().enumerate() {
        close(
            point.as_ref().expect("it is known").mean,
            (test_loss([0, 1], rate, 0) + test_loss([0, 1], rate, 1)) / 2.0,
        );
    }
    let best_sizes = read(&runs, &axes(Some("learning_rate"), Some("batch_size"))).expect("results");
    let names: Vec<&str> = best_sizes.curves.iter().map(|curve| curve.name.as_str()).collect();
    assert_eq!(names, ["Adam", "Signum", "FOCUS, γ = 0.2"]);
    let point = best_sizes.curves[0].points[1].as_ref().expect("it is known");
    assert_eq!(point.best, "128");
    close(point.mean, score([0, 3]).0);
    assert!(best_sizes.remarks[0].starts_with("Adam, "), "{:?}", best_sizes.remarks);
    let unknown = read(&runs, &axes(Some("loss"), None)).expect_err("it is no field");
    assert!(unknown.starts_with("there is no field `loss`"), "{unknown}");
    let refused = read(&runs, &axes(None, Some("test_loss"))).expect_err("it is no setting");
    let expected =
        "expected a setting that varies in the grid, one of optimizer, learning_rate, batch_size, found test_loss";
    assert_eq!(refused, expected);
    let twice = read(&runs, &axes(Some("batch_size"), Some("batch_size"))).expect_err("two settings are needed");
    assert_eq!(twice, "expected two settings, found batch_size for both axes");
}

#[test]
fn nothing_extends_beyond_the_page_and_labels_do_not_touch() {
    let many = Axes { batch_sizes: (1..=12).map(|power| 1 << power).collect(), ..axes() };
    let result = of(&many, &places(&many));
    let figures =
        [("plots", Figure::grid(&result, vec![config()])), ("axes", Figure::parallel(&whole(), vec![config()]))];
    let sizes = [(50.0, 8.0), (85.0, 8.0), (85.0, 14.0), (180.0, 8.0), (300.0, 10.0)];
    for ((kind, figure), (width_mm, font_size)) in figures.iter().flat_map(|it| sizes.map(|size| (it, size))) {
        // Axes side by side need more room.
        if *kind == "axes" && width_mm < 10.0 * font_size {
            continue;
        }
        let options = Options { width_mm, font_size, title: true, ..Options::default() };
        let svg = figure.render(&options).expect("rendered").to_string();
        let tree = resvg::usvg::Tree::from_str(&svg, &text_options()).expect("a drawing");
        let page = tree.size();
        let mut boxes = Vec::new();
        collect(tree.root(), &mut boxes);
        assert!(boxes.len() > 12);
        for (index, (text, one)) in boxes.iter().enumerate() {
            let inside =
                one.left() >= 0.0 && one.top() >= 0.0 && one.right() <= page.width() && one.bottom() <= page.height();
            assert!(inside, "{text:?} at {one:?} of {kind} in {width_mm} mm with {font_size} pt");
            for (other_text, other) in &boxes[index + 1..] {
                assert!(
                    one.intersect(other).is_none(),
                    "{text:?} and {other_text:?} of {kind} in {width_mm} mm with {font_size} pt"
                );
            }
        }
    }
}

fn text_options() -> resvg::usvg::Options<'static> {
    let mut options = resvg::usvg::Options::default();
    options.fontdb_mut().load_font_data(include_bytes!("../../../assets/fonts/ValleyscopeSans.otf").to_vec());
    options
}

/// Collects all texts with the boxes around their ink.
fn collect(group: &resvg::usvg::Group, boxes: &mut Vec<(String, resvg::tiny_skia::Rect)>) {
    for node in group.children() {
        match node {
            resvg::usvg::Node::Group(group) => collect(group, boxes),
            resvg::usvg::Node::Text(text) => {
                let words = text.chunks().iter().map(|chunk| chunk.text()).collect();
                boxes.push((words, text.abs_stroke_bounding_box()));
            }
            _ => {}
        }
    }
}

#[test]
fn every_character_has_a_glyph() {
    let font = FontRef::new(include_bytes!("../../../assets/fonts/ValleyscopeSans.otf")).expect("a font");
    let svgs = [drawn(&at_edges(), 85.0), rendered(&Figure::parallel(&whole(), Vec::new()), 180.0)];
    for svg in svgs {
        let document = Document::parse(&svg).expect("well-formed XML");
        for character in texts(&document).into_iter().flat_map(|(text, ..)| text.chars()) {
            assert!(font.charmap().map(character).is_some(), "no glyph for {character:?}");
        }
    }
}

#[test]
fn every_format_is_written_and_equal_figures_are_equal_bytes() {
    let result = whole();
    for make in [Figure::grid, Figure::parallel] {
        let render = || make(&result, vec![config()]).render(&Options::default()).expect("rendered");
        let (one, other) = (render(), render());
        assert_eq!(one.to_string(), other.to_string());
        let png = one.to_png(100.0).expect("drawn");
        assert!(png == other.to_png(100.0).expect("drawn"));
        let picture = image::load_from_memory(&png).expect("a picture");
        assert_eq!(picture.width(), (85.0_f64 * 100.0 / 25.4).round() as u32);
        let pdf = one.to_pdf().expect("drawn");
        assert!(pdf == other.to_pdf().expect("drawn"));
        let holds = |text: &str| pdf.windows(text.len()).any(|window| window == text.as_bytes());
        assert!(holds("ValleyscopeSans") && holds("seeds: 3") && holds("Valleyscope"));
        assert!(!holds("/Subtype /Image"), "axes, curves and texts are vectors");
    }
}

#[test]
fn too_narrow_pages_are_refused() {
    let options = Options { width_mm: 25.0, font_size: 14.0, title: false, ..Options::default() };
    let refused = Figure::grid(&whole(), Vec::new()).render(&options);
    assert!(matches!(refused.map(|_| ()), Err(FigureError::TooNarrow { .. })));
}

#[test]
fn parallel_axes_have_a_line_for_each_combination_that_did_not_diverge() {
    let result = whole();
    let svg = rendered(&Figure::parallel(&result, vec![config()]), 180.0);
    let document = Document::parse(&svg).expect("well-formed XML");
    let texts: Vec<(&str, f64, f64)> = texts(&document);
    let place = |label: &str| {
        *texts.iter().find(|(text, ..)| *text == label).unwrap_or_else(|| panic!("no {label} among {texts:?}"))
    };
    // The names of the axes are side by side.
    let names = ["optimizer", "learning rate", "batch size", "test loss"].map(place);
    assert!(names.windows(2).all(|pair| pair[0].1 < pair[1].1 && (pair[0].2 - pair[1].2).abs() < 0.01), "{names:?}");
    for value in ["Adam", "Signum", "FOCUS, γ = 0.2", "2", "8", "32", "128", "0.001", "0.01", "0.1"] {
        place(value);
    }
    // With batches of 2 the largest learning rate diverged.
    place("without 3 combinations that diverged");
    let lines = |width: &str| {
        let all = document.descendants().filter(|node| node.has_tag_name("path"));
        let data = all.filter(|node| node.attribute("stroke-width") == Some(width)).filter_map(|it| it.attribute("d"));
        let point = |text: &str| {
            let (x, y) = text.split_once(' ').expect("two numbers");
            [x, y].map(|number| number.parse::<f64>().expect("a number"))
        };
        let lines = data.map(|data| data.split(['M', 'L']).filter(|text| !text.is_empty()).map(point).collect());
        lines.collect::<Vec<Vec<[f64; 2]>>>()
    };
    let (others, best) = (lines("1.1"), lines("2.75"));
    assert_eq!((others.len(), best.len()), (3 * 4 * 3 - 3 - 1, 1));
    assert!(others.iter().chain(&best).all(|line| line.len() == 4));
    // The best has the lowest loss, and goes through its own values.
    assert!(others.iter().all(|line| line[3][1] < best[0][3][1] + 1e-9));
    near(best[0][1][1], place("0.01").2);
    near(best[0][2][1], place("128").2);
    for (axis, (_, x, _)) in names.into_iter().enumerate() {
        near(best[0][axis][0], x);
    }
}

/// A grid of two optimizers, two batch sizes, three learning rates and two seeds.
const GRID: &str = r#"Grid(
    version: 1,
    title: "Rates & sizes",
    base: Mnist(version: 1, title: "", runs: [(optimizer: Adam(), learning_rate: 0.001, batch_size: 2, steps: 20)]),
    vary: ["optimizer=Adam, Signum", "batch_size=2, 8", "learning_rate=0.001, 0.01, 0.1"],
    seeds: 2,
)"#;

fn grid() -> Vec<Preset> {
    Preset::parse(GRID, "grid.ron").expect("a grid").trainings()
}

/// Returns a run of a training with this last test loss, ended by this event.
fn trained(folder: &Path, training: &Preset, loss: f64, end: Option<Event>) -> RunFolder {
    let run = RunFolder::create(folder, "run", &training.to_ron()).expect("a run can be made");
    let mut session = RunSession::begin(&run).expect("a session can begin");
    session.record(0, Event::Started(RunConfig::read(&run).expect("a config").started())).expect("it can be written");
    let evaluation = [(MetricId::TEST_LOSS, loss), (MetricId::TEST_ACCURACY, 0.9)];
    session.record(20, Event::Eval(MetricValues::from(evaluation))).expect("it can be written");
    if let Some(end) = end {
        session.record(20, end).expect("it can be written");
    }
    run
}

/// Returns the result of a training of the grid: as above, with the best learning rate in the middle.
fn loss_of(training: &Preset) -> f64 {
    let Preset::Mnist(preset) = training else { panic!("a training of MNIST") };
    let run = &preset.runs[0];
    let optimizer = usize::from(run.common().rule.name() == "Signum");
    let at = |all: &[f64], value: f64| all.iter().position(|it| *it == value).expect("it is tried");
    let size = at(&[2.0, 8.0], run.batch_size.get() as f64);
    test_loss([optimizer, size], at(&[0.001, 0.01, 0.1], run.learning_rate.get()), run.seed as usize)
}

/// Writes the grid, and finished runs of all of its trainings.
fn trained_grid() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("grid.ron", GRID);
    for training in grid() {
        trained(&sandbox.join("all"), &training, loss_of(&training), Some(Event::Finished));
    }
    sandbox
}

fn figure(sandbox: &Sandbox, args: &[&str]) -> Output {
    sandbox.run(&[&["figure"], args, &["--out", "f.svg"]].concat())
}

fn svg(sandbox: &Sandbox) -> String {
    fs::read_to_string(sandbox.join("f.svg")).expect("a figure")
}

#[test]
fn the_runs_of_a_grid_are_drawn() {
    let sandbox = trained_grid();
    let output = figure(&sandbox, &["grid.ron", "--runs", "all"]);
    expect(&output, 0, &["24 of 24 trainings were found in all", "f.svg", "85 ×"]);
    assert!(!stderr(&output).contains("at the edge"), "{}", stderr(&output));
    let svg = svg(&sandbox);
    let document = Document::parse(&svg).expect("well-formed XML");
    let all: Vec<&str> = texts(&document).into_iter().map(|(text, ..)| text).collect();
    for label in ["Adam", "Signum", "batch size", "test loss", "with the best learning rate", "improvement (%)"] {
        assert!(all.contains(&label), "{label} is not among {all:?}");
    }
    assert!(!all.iter().any(|text| text.contains("so far")));
    let frame = frames(&document);
    let height = height_of(&document, frame[0], true);
    let curve = &paths(&document, ADAM, "1.1")[0];
    for (size, point) in curve.iter().enumerate() {
        near(point[1], height(score([0, size]).0));
    }
    assert!(svg.contains("vary:"), "it holds the preset");
    // Equal results are equal bytes, in whatever order the runs were made.
    let other = Sandbox::new();
    other.write("grid.ron", GRID);
    for training in grid().iter().rev() {
        trained(&other.join("all"), training, loss_of(training), Some(Event::Finished));
    }
    expect(&figure(&other, &["grid.ron", "--runs", "all"]), 0, &["24 of 24"]);
    assert!(self::svg(&other) == svg);
}

#[test]
fn other_axes_and_values_are_asked_for_on_the_command_line() {
    let sandbox = trained_grid();
    let drawn = |args: &[&str], words: &[&str]| {
        let output = figure(&sandbox, &[&["grid.ron", "--runs", "all"], args].concat());
        expect(&output, 0, words);
        let svg = svg(&sandbox);
        let document = Document::parse(&svg).expect("well-formed XML");
        texts(&document).into_iter().map(|(text, ..)| text.to_owned()).collect::<Vec<_>>()
    };
    let has = |all: &[String], label: &str| all.iter().any(|text| text == label);
    let rates = drawn(&["--x", "learning_rate"], &["24 of 24"]);
    for label in ["learning rate", "Adam, batch size 2", "Signum, batch size 8", "0.001", "0.1"] {
        assert!(has(&rates, label), "{label} is not among {rates:?}");
    }
    assert!(!rates.iter().any(|text| text.contains("with the best")));
    let best_sizes = drawn(&["--x", "lr", "--best-over", "batch_size"], &[]);
    assert!(has(&best_sizes, "with the best batch size") && has(&best_sizes, "Adam"), "{best_sizes:?}");
    let output = figure(&sandbox, &["grid.ron", "--runs", "all", "--x", "optimizer", "--best-over", "batch_size"]);
    let advice = "the best batch size is at the edge of the batch sizes tried, 2 to 8: widen them above 8";
    expect(&output, 0, &["24 of 24", advice, "(`--vary batch_size=2,8,32`)"]);
    let parallel = drawn(&["--parallel"], &["24 of 24"]);
    for label in ["optimizer", "batch size", "learning rate", "test loss", "Adam", "8", "0.01"] {
        assert!(has(&parallel, label), "{label} is not among {parallel:?}");
    }
    assert!(has(&parallel, "without 2 combinations that diverged"), "{parallel:?}");
    // Fewer values, which the best is at the edge of.
    let output = figure(&sandbox, &["grid.ron", "--runs", "all", "--vary", "learning_rate=0.001,0.01"]);
    let edge =
        "the best learning rate is at the edge of the learning rates tried, 0.001 to 0.01: widen them above 0.01";
    expect(
        &output,
        0,
        &[
            "16 of 16 trainings were found in all",
            &format!("Adam, batch size 2, 8: {edge} (`--vary learning_rate=0.001,0.01,0.1`)"),
            &format!("Signum, batch size 2, 8: {edge} (`--vary learning_rate=0.001,0.01,0.1`)"),
        ],
    );
    let output = figure(&sandbox, &["grid.ron", "--runs", "all", "--vary", "batch_size=8,16", "--seeds", "1"]);
    expect(&output, 0, &["6 of 12 trainings were found in all"]);
    assert!(svg(&sandbox).contains("so far 6 of 12 trainings"));
}

#[test]
fn the_settings_of_a_plain_preset_vary_on_the_command_line() {
    let sandbox = Sandbox::new();
    let mnist = built_ins().iter().find(|built_in| built_in.name == "mnist").expect("it is built in");
    for (rate, seed) in [("0.001", "0"), ("0.001", "1"), ("0.01", "0"), ("0.01", "1")] {
        let training =
            mnist.preset.with("learning_rate", rate).and_then(|it| it.with("seed", seed)).expect("a training");
        let loss = rate.parse::<f64>().expect("a number") + 0.01 * seed.parse::<f64>().expect("a number");
        trained(&sandbox.runs(), &training, loss, Some(Event::Finished));
    }
    let vary = ["mnist", "--vary", "learning_rate=1e-3,1e-2", "--seeds", "2"];
    let output = figure(&sandbox, &vary);
    let advice = "the best learning rate is at the edge of the learning rates tried, 0.001 to 0.01: widen them below 0.001 \
                  (`--vary learning_rate=0.0001,0.001,0.01`)";
    expect(&output, 0, &["4 of 4 trainings were found in", advice]);
    let svg = svg(&sandbox);
    assert!(svg.contains(">learning rate<") && svg.contains(">≤<"), "{svg}");
    assert!(!svg.contains("with the best"));
    expect(&figure(&sandbox, &["mnist", "--vary", "learning_rate=1e-3,1e-2"]), 0, &["2 of 2 trainings"]);
}

#[test]
fn of_several_runs_of_a_training_the_furthest_counts_and_unfinished_ones_are_left_out() {
    let sandbox = trained_grid();
    let all = sandbox.join("all");
    let trainings = grid();
    // A second run that is not finished, and one of other settings.
    trained(&all, &trainings[0], 0.001, None);
    let other = trainings[0].with("steps", "30").expect("a training");
    trained(&all, &other, 0.0001, Some(Event::Finished));
    expect(&figure(&sandbox, &["grid.ron", "--runs", "all"]), 0, &["24 of 24 trainings"]);
    let before = svg(&sandbox);
    let some = sandbox.join("some");
    for (index, training) in trainings.iter().enumerate() {
        let end = if index == 0 { None } else { Some(Event::Finished) };
        trained(&some, training, loss_of(training), end);
    }
    expect(&figure(&sandbox, &["grid.ron", "--runs", "some"]), 0, &["24 of 24 trainings"]);
    assert!(svg(&sandbox).contains("so far 23 of 24 trainings") && !before.contains("so far"));
}

#[test]
fn undrawable_grids_are_refused() {
    let sandbox = trained_grid();
    let refused = |args: &[&str], words: &[&str]| {
        expect_error(&figure(&sandbox, args), 2, words);
        assert!(!sandbox.join("f.svg").exists());
    };
    fs::create_dir(sandbox.join("none")).expect("a new folder");
    refused(
        &["grid.ron", "--runs", "none"],
        &["none of the 24 trainings of grid.ron was found in none", "`valleyscope train grid.ron"],
    );
    refused(&["grid.ron", "--runs", "gone"], &["--runs must be a folder", "gone"]);
    let with = |more: &[&'static str]| [&["grid.ron", "--runs", "all"], more].concat();
    refused(&with(&["--x", "nose"]), &["nose"]);
    refused(
        &with(&["--x", "seed"]),
        &["expected a setting that varies in the grid, one of optimizer, learning_rate, batch_size, found seed"],
    );
    refused(&with(&["--x", "lr", "--best-over", "lr"]), &["expected two settings, found learning_rate for both axes"]);
    refused(&with(&["--x", "lr", "--parallel"]), &["--parallel", "cannot be used with"]);
    refused(&with(&["--vary", "learning_rate=1..0:3"]), &["a range such as 0.0001..0.01:5:log", "1..0:3"]);
    refused(&with(&["--vary", "lr=0.1", "--quick"]), &["--quick", "runs that are there"]);
    let twice = ["--vary", "learning_rate=0.1", "--vary", "learning_rate=0.01"];
    refused(&with(&twice), &["varies `learning_rate` a second time"]);
    refused(&with(&["--seeds", "0"]), &["--seeds"]);
    let run = trained(&sandbox.join("begun"), &grid()[0], 0.5, None);
    drop(run);
    refused(&["grid.ron", "--runs", "begun"], &["no training of the grid has finished yet"]);
}
