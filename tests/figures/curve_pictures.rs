//! The figure of curves.

use resvg::usvg::roxmltree::Document;
use valleyscope::figure::{AxisKind, CurveAxis, CurveLines, CurvePlot, Curves, Figure, FigureError, Format, Options};

use crate::scan_pictures::{frames, height_of, near, paths, texts};

const BLUE: &str = "#3986e5";
const ORANGE: &str = "#e87e23";

fn axis(label: &str, kind: AxisKind, range: [f64; 2]) -> CurveAxis {
    CurveAxis { label: label.to_owned(), kind, range }
}

/// One curve alone and one with a band, smoothed, that ends at step 30; losses on a logarithmic axis.
fn curves() -> Curves {
    let log = |x: f64, y: f64| [x, y.log10()];
    let whole = vec![log(0.0, 2.0), log(50.0, 0.5), log(100.0, 0.1)];
    let short = vec![log(0.0, 1.0), log(30.0, 0.2)];
    Curves {
        title: "Adam; FOCUS".to_owned(),
        specs: vec!["Mnist(version: 1)".to_owned()],
        names: vec![("Adam".to_owned(), [57, 134, 229]), ("FOCUS".to_owned(), [232, 126, 35])],
        horizontal: axis("steps", AxisKind::Linear, [0.0, 100.0]),
        plots: vec![
            CurvePlot {
                vertical: axis("train loss", AxisKind::Log, [-1.2, 0.5]),
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
                vertical: axis("test accuracy (%)", AxisKind::Percent, [0.0, 1.0]),
                curves: vec![CurveLines { index: 0, raw: Vec::new(), line: vec![vec![[50.0, 0.9]]], band: Vec::new() }],
            },
        ],
    }
}

fn drawn(width_mm: f64) -> String {
    let options = Options { width_mm, ..Options::default() };
    Figure::curves(curves()).render(&options).expect("rendered").to_string()
}

#[test]
fn curves_lie_where_the_labels_say() {
    for width in [85.0, 180.0] {
        let svg = drawn(width);
        let document = Document::parse(&svg).expect("well-formed XML");
        let frames = frames(&document);
        assert_eq!(frames.len(), 2);
        let [left, _, right, bottom] = frames[0];
        let height = height_of(&document, frames[0], true);
        let line = &paths(&document, BLUE, "1.1")[0];
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
fn a_curve_that_ends_has_a_cross_and_a_faint_one_behind_it_and_a_band_around_it() {
    let svg = drawn(85.0);
    let document = Document::parse(&svg).expect("well-formed XML");
    let faint = document.descendants().find(|node| node.attribute("stroke-opacity").is_some()).expect("the raw curve");
    assert_eq!(faint.attribute("stroke"), Some(ORANGE));
    let band = document.descendants().find(|node| node.attribute("fill-opacity").is_some()).expect("the band");
    assert_eq!((band.tag_name().name(), band.attribute("fill")), ("polygon", Some(ORANGE)));
    let lines = paths(&document, ORANGE, "1.1");
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
    let inks = |node: &resvg::usvg::roxmltree::Node<'_, '_>| node.attribute("stroke") == Some(BLUE);
    for path in document.descendants().filter(|node| node.has_tag_name("path")).filter(inks) {
        let in_legend = path.parent().is_some_and(|group| group.attribute("clip-path").is_none());
        assert!(!in_legend || path.attribute("stroke-width") != Some("1.1"), "a curve that is not cut off");
    }
    assert!(svg.to_file(Format::Png, 100.0).expect("a picture").starts_with(b"\x89PNG"));
    assert!(svg.to_file(Format::Pdf, 100.0).expect("a document").starts_with(b"%PDF"));
}

#[test]
fn the_file_says_what_it_shows_and_texts_have_room() {
    let svg = drawn(60.0);
    for said in ["Adam; FOCUS", "Mnist(version: 1)", ">train loss<", ">test accuracy (%)<", ">steps<", ">0.5<"] {
        assert!(svg.contains(said), "no {said}");
    }
    let narrow = Options { width_mm: 20.0, font_size: 12.0, ..Options::default() };
    assert!(matches!(Figure::curves(curves()).render(&narrow), Err(FigureError::TooNarrow { .. })));
}
