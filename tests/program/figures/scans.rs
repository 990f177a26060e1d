//! The figure of a scan.

use std::io::Cursor;

use resvg::usvg::roxmltree::{Document, Node};
use skrifa::{FontRef, MetadataProvider};
use valleyscope::draw::{Figure, FigureError, Options};
use valleyscope::sweep::result::scan::{ScanError, ScanResult};
use valleyscope_experiments::preset::Preset;
use valleyscope_runs::{GridPoint, RunFolder, ScanAxes, Started};

use super::files;
use super::files::array;
use crate::run_table::{
    DATA, accuracy, axes, config, places, point, scan, started, test_loss, train_loss, write, write_with,
};

const ADAM: &str = "#f46f43";

fn of(axes: &ScanAxes, data: &str, places: &[[usize; 2]]) -> ScanResult {
    let folder = tempfile::tempdir().expect("a folder");
    opened(&write(folder.path(), started(axes, data), places.iter().map(|place| point(axes, *place))))
}

fn whole() -> ScanResult {
    of(&axes(), DATA, &places(&axes(), true))
}

fn drawn(scan: &ScanResult, width_mm: f64) -> String {
    Figure::scan(scan).render(&Options { width_mm, ..Options::default() }).expect("rendered").to_string()
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

/// Returns a conversion of batch sizes to horizontal places, by the labels below.
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

/// Checks that these are the error bars of Adam's losses or of the improvement, one for each batch size.
#[track_caller]
fn check_bars(svg: &str, bars: &[Vec<[f64; 2]>], plot: usize, expected: impl Fn(usize) -> (f64, f64)) {
    let document = Document::parse(svg).expect("well-formed XML");
    let frames = frames(&document);
    let height = height_of(&document, frames[plot], plot == 0);
    let across = across(&document, frames[frames.len() - 1][3]);
    assert_eq!(bars.len(), 4, "a bar for each batch size");
    for (size, bar) in bars.iter().enumerate() {
        let (value, error) = expected(size);
        near(bar[0][0], across([2.0, 8.0, 32.0, 128.0][size]));
        near(bar[0][1], height(value - error));
        near(bar[1][1], height(value + error));
        assert_eq!(bar.len(), 6, "both ends have a cap");
        let [_, top, _, bottom] = frames[plot];
        assert!(bar.iter().all(|[_, y]| (top..bottom).contains(y)), "inside of the frame");
    }
}

#[test]
fn losses_and_improvements_are_drawn_at_their_values_with_errors() {
    let scan = whole();
    let svg = drawn(&scan, 85.0);
    let document = Document::parse(&svg).expect("well-formed XML");
    assert_eq!(frames(&document).len(), 2);
    let bars = paths(&document, ADAM, "0.7");
    check_bars(&svg, &bars, 0, |size| {
        let (mean, deviation, _) = score([0, size]);
        (mean, deviation)
    });
    // Signum's colour is too pale for lines on paper; no other bars have its line colour.
    let lines: Vec<&str> = svg.lines().filter(|line| line.contains("stroke-width=\"0.7\"")).collect();
    let signum = lines.last().and_then(|line| line.split("stroke=\"").nth(1)).expect("the improvement comes last");
    let bars = paths(&document, &signum[..7], "0.7");
    assert_eq!(bars.len(), 8, "losses and improvements");
    check_bars(&svg, &bars[4..], 1, |size| {
        let (value, error) = improvement(1, size);
        (100.0 * value, 100.0 * error)
    });
    let curve = paths(&document, ADAM, "1.1");
    let height = height_of(&document, frames(&document)[0], true);
    assert_eq!(curve[0].len(), 4);
    for (size, point) in curve[0].iter().enumerate() {
        near(point[1], height(score([0, size]).0));
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
    let scan = whole();
    let options = Options { title: true, ..Options::default() };
    let svg = Figure::scan(&scan).render(&options).expect("rendered").to_string();
    let document = Document::parse(&svg).expect("well-formed XML");
    let texts: Vec<&str> = texts(&document).into_iter().map(|(text, ..)| text).collect();
    for label in [
        "Adam",
        "Signum",
        "FOCUS, γ = 0.2",
        "best test loss",
        "batch size",
        "improvement (%)",
        "Signum over Adam (dashed: ±5 %)",
        "2",
        "128",
        "Batches & <optimizers>",
    ] {
        assert!(texts.contains(&label), "{label} is not among {texts:?}");
    }
    assert!(!texts.iter().any(|text| text.contains("so far")));
    let of = |name: &str| {
        let found = document.descendants().find(|node| node.tag_name().name() == name);
        found.and_then(|node| node.text()).unwrap_or_default().to_owned()
    };
    assert_eq!(of("description"), config());
    assert_eq!(of("source"), format!("valleyscope 1.2.3, float32, seed {}, MNIST", u64::MAX));
    assert!(!svg.contains("/some/cache"), "no paths of the machine that trained it");
}

#[test]
fn scores_of_learning_rates_at_the_edge_are_ringed() {
    let folder = tempfile::tempdir().expect("a folder");
    let svg = drawn(&at_edges(folder.path()), 85.0);
    let document = Document::parse(&svg).expect("well-formed XML");
    let is_ring = |node: &Node<'_, '_>| node.has_tag_name("circle") && node.attribute("fill") == Some("none");
    let across = across(&document, frames(&document)[1][3]);
    let rings: Vec<f64> = document.descendants().filter(is_ring).map(|ring| number(ring, "cx")).collect();
    assert_eq!(rings.len(), 3);
    for (ring, size) in rings.iter().zip([2.0, 8.0, 32.0]) {
        near(*ring, across(size));
    }
    let texts: Vec<&str> = texts(&document).into_iter().map(|(text, ..)| text).collect();
    for part in [
        "ringed: best η at the edge of the learning rates tried",
        "0.001 to 0.1: widen them above 0.1",
        "0.001 to 0.1: widen them below 0.001",
    ] {
        assert!(texts.contains(&part), "{part} is not among {texts:?}");
    }
    let inside = drawn(&whole(), 85.0);
    assert!(!Document::parse(&inside).expect("well-formed XML").descendants().any(|node| is_ring(&node)));
}

#[test]
fn a_partial_scan_is_labelled_and_its_lines_have_gaps() {
    let axes = axes();
    // Adam's grid points are known except for batches of 32.
    let scan = of(&axes, DATA, &[[0, 0], [0, 1], [0, 3], [1, 0]]);
    let svg = drawn(&scan, 85.0);
    let document = Document::parse(&svg).expect("well-formed XML");
    assert!(texts(&document).iter().any(|(text, ..)| *text == "so far 4 of 12 points"));
    let curves = paths(&document, ADAM, "1.1");
    let frame = frames(&document)[0];
    let drawn: Vec<_> = curves.iter().filter(|curve| curve[0][1] < frame[3]).collect();
    assert_eq!(drawn.len(), 1);
    assert_eq!(drawn[0].len(), 2, "from 2 to 8, and none from 8 to 128");
    let across = across(&document, frames(&document)[1][3]);
    near(drawn[0][1][0], across(8.0));
    assert_eq!(document.descendants().filter(|node| node.has_tag_name("circle")).count(), 3 + 1, "with the legend's");
    assert_eq!(paths(&document, ADAM, "0.7").len(), 3);
}

#[test]
fn without_adam_and_signum_there_is_no_improvement() {
    for names in [["Adam", "FOCUS", "SGD"], ["Signum", "FOCUS", "SGD"]] {
        let axes = ScanAxes { optimizers: names.map(str::to_owned).to_vec(), ..axes() };
        let svg = drawn(&of(&axes, DATA, &places(&axes, true)), 85.0);
        let document = Document::parse(&svg).expect("well-formed XML");
        assert_eq!(frames(&document).len(), 1);
        assert!(texts(&document).iter().any(|(text, ..)| *text == "128"), "the batch sizes are below");
        assert!(!svg.contains("improvement"));
    }
}

#[test]
fn one_replicate_has_no_error_bars() {
    let axes = ScanAxes { replicates: 1, ..axes() };
    let svg = drawn(&of(&axes, DATA, &places(&axes, true)), 85.0);
    assert!(!svg.contains("stroke-width=\"0.7\""));
    let document = Document::parse(&svg).expect("well-formed XML");
    assert_eq!(document.descendants().filter(|node| node.has_tag_name("circle")).count(), 4 + 1);
}

#[test]
fn digits_that_are_not_mnist_are_named() {
    let data = "digits drawn by Valleyscope, not MNIST";
    let folder = tempfile::tempdir().expect("a folder");
    let begun = Started { synthetic: true, ..started(&axes(), data) };
    let points = places(&axes(), true).into_iter().map(|place| point(&axes(), place));
    let svg = drawn(&opened(&write(folder.path(), begun, points)), 85.0);
    let document = Document::parse(&svg).expect("well-formed XML");
    assert!(texts(&document).iter().any(|(text, ..)| *text == data));
    assert!(!drawn(&whole(), 85.0).contains("not MNIST"));
}

#[test]
fn batch_sizes_are_drawn_in_ascending_order() {
    let mixed = ScanAxes { batch_sizes: vec![128, 2, 32, 8], ..axes() };
    let svg = drawn(&of(&mixed, DATA, &places(&mixed, true)), 85.0);
    let document = Document::parse(&svg).expect("well-formed XML");
    let height = height_of(&document, frames(&document)[0], true);
    let curve = &paths(&document, ADAM, "1.1")[0];
    assert!(curve.windows(2).all(|pair| pair[0][0] < pair[1][0]));
    // Batches of 2 are the second in the axes.
    near(curve[0][1], height(score([0, 1]).0));
    near(curve[3][1], height(score([0, 0]).0));
}

#[test]
fn nothing_extends_beyond_the_page_and_labels_do_not_touch() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut axes = axes();
    axes.batch_sizes = (1..=12).map(|power| 1 << power).collect();
    let places = places(&axes, true);
    let run = write(folder.path(), started(&axes, DATA), places.iter().map(|place| point(&axes, *place)));
    for (width_mm, font_size) in [(50.0, 8.0), (85.0, 8.0), (85.0, 14.0), (180.0, 8.0), (300.0, 10.0)] {
        let options = Options { width_mm, font_size, title: true, ..Options::default() };
        let svg = Figure::scan(&opened(&run)).render(&options).expect("rendered").to_string();
        let tree = resvg::usvg::Tree::from_str(&svg, &text_options()).expect("a drawing");
        let page = tree.size();
        let mut boxes = Vec::new();
        collect(tree.root(), &mut boxes);
        assert!(boxes.len() > 15);
        for (index, (text, one)) in boxes.iter().enumerate() {
            let inside =
                one.left() >= 0.0 && one.top() >= 0.0 && one.right() <= page.width() && one.bottom() <= page.height();
            assert!(inside, "{text:?} at {one:?} in {width_mm} mm with {font_size} pt");
            for (other_text, other) in &boxes[index + 1..] {
                assert!(
                    one.intersect(other).is_none(),
                    "{text:?} and {other_text:?} in {width_mm} mm with {font_size} pt"
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
    let svg = drawn(&whole(), 85.0);
    let document = Document::parse(&svg).expect("well-formed XML");
    for character in texts(&document).into_iter().flat_map(|(text, ..)| text.chars()) {
        assert!(font.charmap().map(character).is_some(), "no glyph for {character:?}");
    }
}

#[test]
fn every_format_is_written_and_equal_figures_are_equal_bytes() {
    let folder = tempfile::tempdir().expect("a folder");
    let run = scan(folder.path(), false);
    let render = || Figure::scan(&opened(&run)).render(&Options::default()).expect("rendered");
    let (one, other) = (render(), render());
    assert_eq!(one.to_string(), other.to_string());
    let png = one.to_png(100.0).expect("drawn");
    assert!(png == other.to_png(100.0).expect("drawn"));
    let picture = image::load_from_memory(&png).expect("a picture");
    assert_eq!(picture.width(), (85.0_f64 * 100.0 / 25.4).round() as u32);
    let pdf = one.to_pdf().expect("drawn");
    assert!(pdf == other.to_pdf().expect("drawn"));
    let holds = |text: &str| pdf.windows(text.len()).any(|window| window == text.as_bytes());
    assert!(holds("ValleyscopeSans") && holds("replicates: 3") && holds("valleyscope 1.2.3"));
    assert!(!holds("/Subtype /Image"), "axes, curves and texts are vectors");
}

#[test]
fn too_narrow_pages_are_refused() {
    let refused =
        Figure::scan(&whole()).render(&Options { width_mm: 25.0, font_size: 14.0, title: false, ..Options::default() });
    assert!(matches!(refused.map(|_| ()), Err(FigureError::TooNarrow { .. })));
}

const SHAPE: [u64; 4] = [3, 4, 3, 2];

pub fn opened(run: &RunFolder) -> ScanResult {
    ScanResult::open(run).expect("a scan")
}

fn scan_of_points(started: Started, points: Vec<GridPoint>) -> Result<ScanResult, ScanError> {
    let folder = tempfile::tempdir().expect("a folder");
    ScanResult::open(&write(folder.path(), started, points))
}

fn part() -> ScanResult {
    let folder = tempfile::tempdir().expect("a folder");
    opened(&scan(folder.path(), false))
}

fn arrays(scan: &ScanResult) -> Vec<u8> {
    let mut file = Cursor::new(Vec::new());
    scan.write_arrays(&mut file).expect("memory takes all that is written");
    file.into_inner()
}

fn table(scan: &ScanResult) -> Vec<Vec<String>> {
    let mut bytes = Vec::new();
    let rows = scan.write_table(&mut bytes).expect("memory takes all that is written");
    let lines = String::from_utf8(bytes).expect("text");
    // Names with a comma are in quotes.
    let lines: Vec<Vec<String>> = lines
        .replace("\"FOCUS, γ = 0.2\"", "FOCUS")
        .lines()
        .map(|line| line.split(',').map(str::to_owned).collect())
        .collect();
    assert_eq!(lines.len() as u64, 1 + rows);
    lines
}

/// Returns mean, sample deviation and learning rate of the best, by the definition.
pub fn score(place: [usize; 2]) -> (f64, f64, usize) {
    let scores = (0..3).map(|rate| {
        let loss = |replicate| Some(test_loss(place, rate, replicate)).filter(|loss| loss.is_finite()).unwrap_or(100.0);
        let (one, other) = (loss(0), loss(1));
        let mean = (one + other) / 2.0;
        (mean, ((one - mean).powi(2) + (other - mean).powi(2)).sqrt(), rate)
    });
    scores.min_by(|a, b| a.0.total_cmp(&b.0)).expect("there are some")
}

/// Returns an optimizer's improvement on Adam with a batch size, and its error.
pub fn improvement(optimizer: usize, size: usize) -> (f64, f64) {
    let ((a, of_a, _), (b, of_b, _)) = (score([0, size]), score([optimizer, size]));
    ((a - b) / a, (b.powi(2) / a.powi(4) * of_a.powi(2) + of_b.powi(2) / a.powi(2)).sqrt())
}

#[track_caller]
pub fn close(found: f64, expected: f64) {
    assert!((found - expected).abs() <= 1e-12, "expected {expected}, found {found}");
}

#[test]
fn arrays_have_the_documented_names_shapes_types_and_values() {
    let bytes = arrays(&part());
    let known = places(&axes(), false);
    for (name, value) in [
        ("train_loss", train_loss as fn([usize; 2], usize, usize) -> f64),
        ("test_loss", test_loss),
        ("test_accuracy", accuracy),
    ] {
        let (shape, kind, values) = array::<f64>(&bytes, name);
        assert_eq!((shape, kind.as_str()), (SHAPE.to_vec(), "<f8"), "{name}");
        for (index, found) in values.into_iter().enumerate() {
            let (replicate, rate, size, optimizer) = (index % 2, index / 2 % 3, index / 6 % 4, index / 24);
            let there = known.contains(&[optimizer, size]);
            let expected = if there { value([optimizer, size], rate, replicate) } else { f64::NAN };
            assert!(
                found == expected || found.is_nan() && expected.is_nan(),
                "{name} {index}: {found}, not {expected}"
            );
        }
    }
    let names = ["Adam", "Signum", "FOCUS, γ = 0.2"].map(str::to_owned).to_vec();
    assert_eq!(files::texts(&bytes, "optimizers"), (vec![3], names));
    assert_eq!(array::<i64>(&bytes, "batch_sizes"), (vec![4], "<i8".to_owned(), vec![2, 8, 32, 128]));
    assert_eq!(array::<f64>(&bytes, "learning_rates").2, [0.001, 0.01, 0.1]);
    assert_eq!(array::<i64>(&bytes, "steps"), (vec![], "<i8".to_owned(), vec![400]));
    assert_eq!(array::<i64>(&bytes, "replicates").2, [2]);
    assert_eq!(array::<u64>(&bytes, "seed"), (vec![], "<u8".to_owned(), vec![u64::MAX]));
    let program = format!("valleyscope 1.2.3, float32, seed {}", u64::MAX);
    assert_eq!(files::texts(&bytes, "program"), (vec![], vec![program]));
    assert_eq!(files::texts(&bytes, "spec").1, [config()]);
    assert_eq!(files::texts(&bytes, "data").1, ["MNIST"], "where it is kept on a machine is of no interest");
    assert!(DATA.contains("/some/cache"));
}

#[test]
fn arrays_hold_the_scores() {
    let bytes = arrays(&part());
    let of = |name: &str| {
        let (shape, _, values) = array::<f64>(&bytes, name);
        assert_eq!(shape, [3, 4], "{name}");
        values
    };
    let [scores, deviations, improvements, errors] = ["score", "score_std", "improvement", "improvement_error"].map(of);
    let (shape, kind, best) = array::<i32>(&bytes, "best_lr");
    assert_eq!((shape, kind.as_str()), (vec![3, 4], "<i4"));
    let known = places(&axes(), false);
    for (index, place) in (0..12).map(|index| (index, [index / 4, index % 4])) {
        if !known.contains(&place) {
            assert!(scores[index].is_nan() && deviations[index].is_nan() && improvements[index].is_nan());
            assert_eq!(best[index], -1);
            continue;
        }
        let (mean, deviation, rate) = score(place);
        close(scores[index], mean);
        close(deviations[index], deviation);
        assert_eq!(best[index], rate as i32);
        if place[0] == 0 {
            assert!(improvements[index].is_nan() && errors[index].is_nan(), "Adam does not improve on itself");
        } else {
            let (value, error) = improvement(place[0], place[1]);
            close(improvements[index], value);
            close(errors[index], error);
        }
    }
}

#[test]
fn the_table_has_a_row_for_each_optimizer_and_batch_size() {
    let rows = table(&part());
    let header = "optimizer,batch_size,score,std,best_lr,replicates,improvement,improvement_error,best_lr_edge";
    assert_eq!(rows[0].join(","), header);
    assert_eq!(rows.len(), 1 + 12);
    let number = |text: &str| text.parse::<f64>().expect("a number");
    for (row, [optimizer, size]) in rows[1..].iter().zip((0..12).map(|index| [index / 4, index % 4])) {
        assert_eq!(row[0], ["Adam", "Signum", "FOCUS"][optimizer]);
        assert_eq!(row[1], ["2", "8", "32", "128"][size]);
        if !places(&axes(), false).contains(&[optimizer, size]) {
            assert_eq!(row[2..].join(","), "NaN,NaN,NaN,,NaN,NaN,");
            continue;
        }
        let (mean, deviation, rate) = score([optimizer, size]);
        close(number(&row[2]), mean);
        close(number(&row[3]), deviation);
        assert_eq!((row[4].as_str(), row[5].as_str()), (["0.001", "0.01", "0.1"][rate], "2"));
        if optimizer == 0 {
            assert_eq!(row[6..].join(","), "NaN,NaN,");
        } else {
            let (value, error) = improvement(optimizer, size);
            close(number(&row[6]), value);
            close(number(&row[7]), error);
        }
    }
}

/// Returns the scan with Signum's best learning rate at the upper end with batches of 2 and 32, and at the lower with
/// 8; with 128 all of its trainings diverge.
pub fn at_edges(folder: &std::path::Path) -> ScanResult {
    let axes = axes();
    let points = places(&axes, true).into_iter().map(|place| {
        let mut point = point(&axes, place);
        match place {
            [1, 0 | 2] => point.test_loss[2] = vec![0.01, 0.02],
            [1, 1] => point.test_loss[0] = vec![0.01, 0.02],
            [1, 3] => point.test_loss.iter_mut().for_each(|losses| *losses = vec![f64::NAN, f64::INFINITY]),
            _ => {}
        }
        point
    });
    opened(&write(folder, started(&axes, DATA), points))
}

#[test]
fn a_best_learning_rate_at_the_edge_is_marked_with_what_to_widen() {
    let folder = tempfile::tempdir().expect("a folder");
    let scan = at_edges(folder.path());
    let rows = table(&scan);
    let edges: Vec<&str> = rows[1..].iter().map(|row| row[8].as_str()).collect();
    assert_eq!(edges[..4], [""; 4], "Adam's are inside");
    assert_eq!(edges[4..8], ["highest", "lowest", "highest", ""]);
    assert_eq!(edges[8..], [""; 4]);
    let sentence = "best learning rate at the edge of the learning rates tried, 0.001 to 0.1: widen them";
    let notes = [
        format!("{sentence} above 0.1 by `--set learning_rates.to=VALUE` (Signum with batches of 2, 32)"),
        format!("{sentence} below 0.001 by `--set learning_rates.from=VALUE` (Signum with batches of 8)"),
    ];
    assert_eq!(scan.edge_notes(), notes);
    assert_eq!(part().edge_notes(), Vec::<String>::new());
}

#[test]
fn one_replicate_has_no_deviation() {
    let axes = ScanAxes { replicates: 1, ..axes() };
    let points = places(&axes, true).into_iter().map(|place| point(&axes, place)).collect();
    let scan = scan_of_points(started(&axes, DATA), points).expect("a scan");
    let rows = table(&scan);
    let focus = &rows[9];
    close(focus[2].parse().expect("a number"), test_loss([2, 0], 1, 0));
    assert_eq!((focus[3].as_str(), focus[5].as_str(), focus[7].as_str()), ("NaN", "1", "NaN"));
    assert!(focus[6].parse::<f64>().expect("a number").is_finite());
    assert_eq!(array::<f64>(&arrays(&scan), "test_loss").0, [3, 4, 3, 1]);
}

#[test]
fn repeated_grid_points_count_once_and_those_outside_the_axes_are_ignored() {
    let axes = axes();
    let mut again = point(&axes, [1, 1]);
    again.test_loss = vec![vec![0.25, 0.25, 0.0], vec![0.5], vec![0.75, 0.75], vec![0.0, 0.0]];
    let mut foreign = point(&axes, [0, 0]);
    foreign.index = [3, 0];
    let scan = scan_of_points(started(&axes, DATA), vec![point(&axes, [1, 1]), again, foreign]).expect("a scan");
    assert_eq!(scan.known(), 1);
    let values = array::<f64>(&arrays(&scan), "test_loss").2;
    let place = 24 + 6;
    assert_eq!(values[place..place + 3], [0.25, 0.25, 0.5]);
    assert!(values[place + 3].is_nan(), "a replicate that is missing");
    close(scan.scores.get(1, 1).expect("it is known").mean, 0.25);
}

#[test]
fn equal_scans_are_equal_bytes() {
    let [one, other] = [part(), part()];
    assert!(arrays(&one) == arrays(&other) && table(&one) == table(&other));
}

#[test]
fn runs_without_grid_points_are_refused_with_the_reason() {
    let refusal = |started, points| scan_of_points(started, points).expect_err("refused").to_string();
    let axes = axes();
    assert!(refusal(started(&axes, DATA), vec![]).contains("no grid point of the scan is complete yet"));
    let other = Started { scan: None, kind: "Mnist".to_owned(), ..started(&axes, DATA) };
    let said = refusal(other, vec![]);
    assert!(said.contains("expected a scan") && said.contains("found a run of the kind `Mnist`"), "{said}");
    let many = ScanAxes { replicates: u64::MAX, ..axes.clone() };
    assert!(refusal(started(&many, DATA), vec![]).contains("at most 10000 trainings of a grid point"));
    let zero = ScanAxes { batch_sizes: vec![2, 0, 32, 128], ..axes.clone() };
    assert!(refusal(started(&zero, DATA), vec![point(&axes, [0, 0])]).contains("found 0"));
    let folder = tempfile::tempdir().expect("a folder");
    let run = RunFolder::create(folder.path(), "scan", &config()).expect("a run can be made");
    assert!(ScanResult::open(&run).expect_err("refused").to_string().contains("not begun"));
}

#[test]
fn without_a_config_there_are_still_results() {
    let folder = tempfile::tempdir().expect("a folder");
    let run = scan(folder.path(), true);
    std::fs::remove_file(run.config()).expect("it was there");
    let scan = opened(&run);
    assert_eq!((scan.spec.as_str(), scan.colors.len()), ("", 3));
    close(scan.scores.get(0, 3).expect("it is known").mean, score([0, 3]).0);
}

/// The names of the optimizers do not matter.
#[test]
fn adam_and_signum_are_identified_by_their_rules() {
    let Preset::MnistScan(mut preset) = Preset::parse(&config(), "a config").expect("it can be read") else {
        panic!("fig2cd is a scan")
    };
    for (optimizer, name) in preset.scan.optimizers.iter_mut().zip(["first", "Adam-mini"]) {
        optimizer.name = Some(name.to_owned());
    }
    let config = Preset::MnistScan(preset).to_ron();
    let axes = ScanAxes { optimizers: ["first", "Adam-mini", "FOCUS, γ = 0.2"].map(str::to_owned).to_vec(), ..axes() };
    let folder = tempfile::tempdir().expect("a folder");
    let scan = opened(&write_with(&config, folder.path(), started(&axes, DATA), [point(&axes, [0, 0])]));
    assert_eq!(scan.adam_and_signum(), Some([0, 1]));
}
