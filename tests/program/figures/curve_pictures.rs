//! The figure of curves.

use resvg::usvg::roxmltree::{Document, Node};
use valleyscope::figure::{CurveAxis, CurveLines, CurvePlot, Curves, Figure, FigureError, Format, Options};
use valleyscope_experiments::view::{AxisScale, Pen};

use super::scan_pictures::{frames, height_of, near, paths, texts};

const ADAM: &str = "#f46f43";
const FOCUS: &str = "#80a6e2";

fn axis(label: &str, scale: AxisScale, range: [f64; 2]) -> CurveAxis {
    CurveAxis { label: label.to_owned(), scale, range }
}

/// One curve alone and one with a band, smoothed, that ends at step 30; losses on a logarithmic axis.
fn curves() -> Curves {
    let log = |x: f64, y: f64| [x, y.log10()];
    let whole = vec![log(0.0, 2.0), log(50.0, 0.5), log(100.0, 0.1)];
    let short = vec![log(0.0, 1.0), log(30.0, 0.2)];
    Curves {
        title: "Adam; FOCUS".to_owned(),
        specs: vec!["Mnist(version: 1)".to_owned()],
        names: vec![
            ("Adam".to_owned(), Pen::new([244, 111, 67], 0)),
            ("FOCUS".to_owned(), Pen::new([128, 166, 226], 0)),
        ],
        horizontal: axis("steps", AxisScale::Linear, [0.0, 100.0]),
        plots: vec![
            CurvePlot {
                vertical: axis("train loss", AxisScale::Log, [-1.2, 0.5]),
                curves: vec![
                    CurveLines { index: 0, raw: Vec::new(), line: vec![whole], band: Vec::new() },
                    CurveLines {
                        index: 1,
                        raw: vec![short.clone(), Vec::new()],
                        line: vec![short, Vec::new()],
                        band: vec![[0.0, -0.5, 0.5], [30.0, -0.8, -0.4]],
                    },
                ],
            },
            CurvePlot {
                vertical: axis("test accuracy (%)", AxisScale::Percent, [0.0, 1.0]),
                curves: vec![CurveLines { index: 0, raw: Vec::new(), line: vec![vec![[50.0, 0.9]]], band: Vec::new() }],
            },
        ],
        marks: Vec::new(),
    }
}

fn drawn(width_mm: f64) -> String {
    let options = Options { width_mm, ..Options::default() };
    Figure::curves(curves()).render(&options).expect("rendered").to_string()
}

#[test]
fn curves_are_drawn_at_their_labels() {
    for width in [85.0, 180.0] {
        let svg = drawn(width);
        let document = Document::parse(&svg).expect("well-formed XML");
        let frames = frames(&document);
        assert_eq!(frames.len(), 2);
        let [left, _, right, bottom] = frames[0];
        let height = height_of(&document, frames[0], true);
        let line = &paths(&document, ADAM, "1.1")[0];
        let x = |step: f64| left + step / 100.0 * (right - left);
        for ([step, loss], [found_x, found_y]) in [[0.0, 2.0], [50.0, 0.5], [100.0, 0.1]].into_iter().zip(line) {
            near(*found_x, x(step));
            near(*found_y, height(loss));
        }
        let below = texts(&document).into_iter().filter(|(_, _, y)| (bottom..bottom + 12.0).contains(y));
        let marks: Vec<(f64, f64)> = below.filter_map(|(text, x, _)| Some((text.parse().ok()?, x))).collect();
        assert!(marks.len() >= 3, "{marks:?}");
        let of_this = marks.iter().filter(|(_, found)| (left - 1.0..right + 1.0).contains(found));
        of_this.for_each(|(step, found)| near(*found, x(*step)));
    }
}

#[test]
fn a_smoothed_curve_that_ends_has_a_cross_a_faint_raw_curve_and_a_band() {
    let svg = drawn(85.0);
    let document = Document::parse(&svg).expect("well-formed XML");
    let faint = document.descendants().find(|node| node.attribute("stroke-opacity").is_some()).expect("the raw curve");
    assert_eq!(faint.attribute("stroke"), Some(FOCUS));
    let band = document.descendants().find(|node| node.attribute("fill-opacity").is_some()).expect("the band");
    assert_eq!((band.tag_name().name(), band.attribute("fill")), ("polygon", Some(FOCUS)));
    let lines = paths(&document, FOCUS, "1.1");
    let (curve, cross) = (&lines[0], &lines[1]);
    let end = curve[1];
    assert_eq!(cross.len(), 4);
    near(cross.iter().map(|point| point[0]).sum::<f64>() / 4.0, end[0]);
    near(cross.iter().map(|point| point[1]).sum::<f64>() / 4.0, end[1]);
}

#[test]
fn nothing_is_drawn_beyond_the_frames() {
    let mut zoomed = curves();
    zoomed.plots[0].vertical.range = [-0.5, 0.0];
    zoomed.horizontal.range = [20.0, 60.0];
    let svg = Figure::curves(zoomed).render(&Options::default()).expect("rendered");
    let text = svg.to_string();
    let document = Document::parse(&text).expect("well-formed XML");
    let rect = |node: Node<'_, '_>| ["x", "y", "width", "height"].map(|name| node.attribute(name).map(str::to_owned));
    let clips: Vec<_> = document.descendants().filter(|node| node.has_tag_name("clipPath")).collect();
    let is_frame = |node: &Node<'_, '_>| node.has_tag_name("rect") && node.attribute("fill") == Some("none");
    let frames: Vec<_> = document.descendants().filter(is_frame).map(rect).collect();
    assert_eq!(clips.iter().map(|clip| rect(clip.first_element_child().expect("a shape"))).collect::<Vec<_>>(), frames);
    let ids: Vec<String> =
        clips.iter().map(|clip| format!("url(#{})", clip.attribute("id").expect("a name"))).collect();
    // Everything in the colour of a curve is within such a group, except for the legend's keys.
    let is_ink = |node: &Node<'_, '_>| {
        [node.attribute("stroke"), node.attribute("fill")].iter().any(|color| [Some(ADAM), Some(FOCUS)].contains(color))
    };
    let free = document.descendants().filter(is_ink).filter(|node| {
        let group = node.parent().and_then(|parent| parent.attribute("clip-path"));
        !group.is_some_and(|group| ids.iter().any(|id| id == group))
    });
    assert_eq!(free.count(), 2, "a sign for each curve in the legend");
    assert!(svg.to_file(Format::Png, 100.0).expect("a picture").starts_with(b"\x89PNG"));
    assert!(svg.to_file(Format::Pdf, 100.0).expect("a document").starts_with(b"%PDF"));
}

#[test]
fn labels_of_an_axis_have_room_on_every_kind_of_axis() {
    let axes = [
        axis("samples", AxisScale::Log, [128_f64.log10(), 51_200_f64.log10()]),
        axis("steps", AxisScale::Linear, [0.0, 100_000.0]),
        axis("steps", AxisScale::Linear, [50_001_000.0, 50_004_000.0]),
        axis("steps", AxisScale::Log, [1.02e6_f64.log10(), 1.9e6_f64.log10()]),
        axis("wall-clock time (UTC)", AxisScale::Clock, [1.767e9, 1.767e9 + 60.0]),
        axis("wall-clock time (UTC)", AxisScale::Clock, [1.767e9, 1.767e9 + 3e5]),
    ];
    for (horizontal, width_mm) in axes.iter().flat_map(|axis| [(axis, 60.0), (axis, 85.0), (axis, 180.0)]) {
        let drawn = Curves { horizontal: horizontal.clone(), ..curves() };
        let svg = Figure::curves(drawn).render(&Options { width_mm, ..Options::default() }).expect("rendered");
        let text = svg.to_string();
        let document = Document::parse(&text).expect("well-formed XML");
        let page = width_mm * 72.0 / 25.4;
        // In the bundled font digits are 0.65 of its size wide at most.
        let half = |text: &str| 8.0 * 0.65 * text.chars().count() as f64 / 2.0;
        for [left, _, right, bottom] in frames(&document) {
            let is_below = |(_, x, y): &(&str, f64, f64)| {
                (bottom..bottom + 10.0).contains(y) && (left - 1.0..right + 1.0).contains(x)
            };
            let row = texts(&document).into_iter().filter(is_below);
            let mut row: Vec<(f64, f64)> = row.map(|(text, x, _)| (x, half(text))).collect();
            row.sort_by(|a, b| a.0.total_cmp(&b.0));
            assert!(!row.is_empty(), "no label on {horizontal:?}");
            let (last, half) = row[row.len() - 1];
            assert!(last + half <= page + 1.0, "{horizontal:?} at {width_mm} mm: the last label leaves the page");
            for pair in row.windows(2) {
                let apart = pair[1].0 - pair[0].0;
                assert!(apart >= pair[0].1 + pair[1].1 - 2.0, "{horizontal:?} at {width_mm} mm: {row:?}");
            }
        }
    }
}

#[test]
fn a_logarithmic_axis_of_less_than_a_decade_has_whole_numbers() {
    let mut close = curves();
    close.plots[0].vertical.range = [2.1e-5_f64.log10(), 4.9e-5_f64.log10()];
    let svg = Figure::curves(close).render(&Options::default()).expect("rendered").to_string();
    let document = Document::parse(&svg).expect("well-formed XML");
    let [left, top, _, bottom] = frames(&document)[0];
    let beside = texts(&document).into_iter().filter(|(_, x, y)| *x < left && *x > 20.0 && (top..bottom).contains(y));
    let labels: Vec<&str> = beside.map(|(text, _, _)| text).collect();
    assert!(labels.len() >= 2 && labels.iter().all(|label| label.ends_with("×10⁻⁵")), "{labels:?}");
}

#[test]
fn the_file_describes_its_content() {
    let svg = drawn(60.0);
    for said in ["Adam; FOCUS", "Mnist(version: 1)", ">train loss<", ">test accuracy (%)<", ">steps<", ">0.5<"] {
        assert!(svg.contains(said), "no {said}");
    }
    let narrow = Options { width_mm: 20.0, font_size: 12.0, ..Options::default() };
    assert!(matches!(Figure::curves(curves()).render(&narrow), Err(FigureError::TooNarrow { .. })));
}
