//! Figures as SVG, PNG and PDF.

use std::fs;
use std::path::Path;
use std::process::Output;
use std::sync::Arc;

use npyz::NpyFile;
use resvg::usvg::roxmltree::{Document, ParsingOptions};
use skrifa::{FontRef, MetadataProvider};
use valleyscope::draw::{Figure, FigureError, Format, Map, Options, Swatch};
use valleyscope::sweep::result::{RawFormat, SweepResult};
use valleyscope_engine::landscape::{LandscapeKind, LandscapeSpec};
use valleyscope_engine::sweep::{Cell, Diagram, Metric, Metrics, Quantity, Runs, SweepSpec};
use valleyscope_experiments::view::{Vision, color_difference, sweep_colors};
use valleyscope_runs::atomic_file::Overwrite;

use super::trainings;
use super::trainings::{COLUMNS, DIVERGED, RATES, REPLICATES, ROWS, TIE, final_loss, result, result_of, runs, spec};
use crate::doctor::{Sandbox, expect_code, stderr};

const ADAM: [u8; 3] = [244, 111, 67];
const SIGNUM: [u8; 3] = [251, 221, 133];
const LOSS: Metric = Metric::FinalLoss;

fn all_figures() -> Vec<Figure> {
    let (a, b) = (result(), result_of(spec("fig2b")));
    vec![
        Figure::map(&a, LOSS, Map::Winner { certainty: false }),
        Figure::map(&a, LOSS, Map::Winner { certainty: true }),
        Figure::winners_by_metric(&b, false),
        Figure::map(&a, LOSS, Map::Difference(0, 2)),
        Figure::map(&a, LOSS, Map::Score(1)),
        Figure::map(&a, LOSS, Map::BestRate(0)),
        Figure::map(&a, Metric::Depth, Map::Spread(2)),
        Figure::as_in_the_paper(&b, false),
        Figure::pairs(&[(&a, LOSS), (&b, LOSS)]),
        Figure::side_by_side([&b, &result_of(spec("fig2b-100d"))], false),
    ]
}

fn wide() -> Options {
    Options { width_mm: 180.0, title: true, ..Options::default() }
}

/// Returns all words of a document's visible text.
fn texts(svg: &str) -> Vec<String> {
    let document = Document::parse_with_options(svg, ParsingOptions::default()).expect("well-formed XML");
    let texts = document.descendants().filter(|node| node.has_tag_name("text"));
    texts.map(|node| node.text().unwrap_or_default().to_owned()).collect()
}

#[test]
fn svg_has_labels_and_metadata() {
    let result = result();
    let svg =
        Figure::map(&result, LOSS, Map::Winner { certainty: false }).render(&wide()).expect("rendered").to_string();
    let texts = texts(&svg);
    for label in
        ["sharpness a", "noise σ", "10⁻¹", "10³", "0.0", "3.0", "Adam", "FOCUS", "Signum", "tie", "not computed"]
    {
        assert!(texts.iter().any(|text| text == label), "{label} is not among {texts:?}");
    }
    assert!(texts.contains(&result.title), "the title as it is, with its special characters");
    let document = Document::parse(&svg).expect("well-formed XML");
    let of = |name: &str| {
        let found = document.descendants().find(|node| node.tag_name().name() == name);
        found.and_then(|node| node.text()).unwrap_or_default().to_owned()
    };
    assert_eq!(of("description"), result.preset().to_ron());
    assert!(of("creator").contains(env!("CARGO_PKG_VERSION")));
    assert!(of("source").contains("seed 0"));
    assert!(svg.contains("@font-face"));
    assert!(svg.starts_with("<svg ") && svg.contains("width=\"180.000mm\""));
}

#[test]
fn diagrams_side_by_side_name_their_difference() {
    let [plane, space] = ["fig2b-unrotated", "fig2b-100d"].map(|name| result_of(spec(name)));
    let figure = Figure::side_by_side([&plane, &space], false);
    let svg = figure.render(&wide()).expect("rendered").to_string();
    let texts = texts(&svg);
    for (label, count) in [("φ = 0°", 1), ("d = 100", 1), ("weight decay ω", 1), ("noise σ", 2), ("Adam", 1)] {
        assert_eq!(texts.iter().filter(|text| *text == label).count(), count, "{label} in {texts:?}");
    }
    assert_eq!(svg.matches("<image ").count(), 2);
    let document = Document::parse(&svg).expect("well-formed XML");
    let description = document.descendants().find(|node| node.tag_name().name() == "description");
    let presets = [&plane, &space].map(|result| result.preset().to_ron()).join("\n");
    assert_eq!(description.and_then(|node| node.text()), Some(presets.as_str()));
}

#[test]
fn hyperparameters_of_some_optimizers_name_them() {
    let mut of_some = spec("fig2b");
    let label = |spec| {
        texts(
            &Figure::map(&result_of(spec), LOSS, Map::Winner { certainty: false })
                .render(&wide())
                .expect("rendered")
                .to_string(),
        )
    };
    assert!(label(of_some.clone()).iter().any(|text| text == "weight decay ω"));
    let valleyscope_engine::sweep::Quantity::Of(_, ids) = &mut of_some.rows.of else { panic!("rows of weight decay") };
    ids.truncate(2);
    assert!(label(of_some).iter().any(|text| text == "weight decay ω of Adam, FOCUS"));
}

#[test]
fn every_character_of_every_figure_has_a_glyph() {
    let font = FontRef::new(include_bytes!("../../../assets/fonts/ValleyscopeSans.otf")).expect("a font");
    let mut characters = 0;
    for figure in all_figures() {
        for text in texts(&figure.render(&wide()).expect("rendered").to_string()) {
            for character in text.chars() {
                characters += 1;
                assert!(font.charmap().map(character).is_some(), "no glyph for {character:?} in {text:?}");
            }
        }
    }
    assert!(characters > 300);
}

#[test]
fn images_have_a_pixel_for_each_cell() {
    let result = result();
    let map = Map::Winner { certainty: false };
    let image = map.image(&result.diagram, LOSS);
    assert_eq!((image.width, image.height, image.rgba.len()), (COLUMNS, ROWS, 4 * ROWS * COLUMNS));
    // The last row of the diagram comes first.
    assert_eq!(image.rgba[4..][..4], [251, 221, 133, 255]);
    assert_eq!((image.cell(2, 1), image.cell(2, 0)), (SIGNUM, ADAM));
    let [tie, unknown] = [TIE, trainings::UNKNOWN].map(|[row, column]| image.cell(row, column));
    assert!(tie != unknown && [tie, unknown].iter().all(|[red, green, blue]| red == green && green == blue));
    let dark = map.image_with(&result.diagram, LOSS, &map.colors(&result.diagram, LOSS, [34, 38, 47]));
    assert_eq!(
        [dark.cell(trainings::UNKNOWN[0], trainings::UNKNOWN[1]), dark.cell(2, 1)],
        [[34, 38, 47], SIGNUM],
        "as the window shows it"
    );
    let legend = map.legend_with(&result.diagram, LOSS, &map.colors(&result.diagram, LOSS, [34, 38, 47]));
    assert!(legend.iter().any(|swatch| swatch.text == "not computed" && swatch.color == Some([34, 38, 47])));
    let sure = Map::Winner { certainty: true }.image(&result.diagram, LOSS);
    assert_eq!(sure.cell(2, 1), SIGNUM, "a gap of many standard errors");
    let scores = Map::Score(0).image(&result.diagram, LOSS);
    let [row, column] = DIVERGED;
    let [red, green, blue] = scores.cell(row, column);
    assert!(red == green && green == blue, "a neutral colour for what diverged");
    let difference = Map::Difference(0, 2);
    let scale = difference.shared_scale(&[&result.diagram], LOSS).expect("differences have a scale");
    assert_eq!(scale.position(0.0), 0.5);
    let image = difference.image(&result.diagram, LOSS);
    assert_eq!(image.cell(row, column), SIGNUM, "the colour of the one that has not diverged");
    assert_eq!(scale.rgb(0.0), [255; 3]);
    let legend = difference.legend_with(&result.diagram, LOSS, &difference.colors(&result.diagram, LOSS, [205; 3]));
    assert_eq!([0, 1].map(|index| legend[index].text.as_str()), ["Adam better", "Signum better"]);
}

fn legend(map: Map, diagram: &Diagram) -> Vec<Swatch> {
    map.legend_with(diagram, LOSS, &map.colors(diagram, LOSS, [205; 3]))
}

#[test]
fn a_pixel_in_which_every_run_diverged_is_named_so_in_map_legend_and_figure() {
    let mut result = result();
    let map = Map::Winner { certainty: false };
    let name = |result: &SweepResult| legend(map, &result.diagram).into_iter().find(|it| it.text == "diverged");
    assert!(name(&result).is_none(), "one optimizer alone has diverged");
    let unknown = map.image(&result.diagram, LOSS).cell(trainings::UNKNOWN[0], trainings::UNKNOWN[1]);
    let spec = result.diagram.spec().clone();
    let mut runs = super::trainings::runs(&spec, trainings::UNKNOWN);
    for metrics in runs.iter_mut().flat_map(|runs| &mut runs.metrics) {
        *metrics = Metrics { final_loss: f64::NAN, smallest_loss: f64::NAN, depth: f64::NAN };
    }
    result.diagram.insert(trainings::UNKNOWN, Cell::new(&runs, spec.average, spec.common_random_numbers));
    let color = name(&result).expect("a swatch").color.expect("a colour");
    let [found, tie] =
        [trainings::UNKNOWN, TIE].map(|[row, column]| map.image(&result.diagram, LOSS).cell(row, column));
    assert_eq!(found, color);
    assert!(![tie, unknown].contains(&color));
    let svg =
        Figure::map(&result, LOSS, Map::Winner { certainty: false }).render(&wide()).expect("rendered").to_string();
    assert!(texts(&svg).iter().any(|text| text == "diverged"));
}

#[test]
fn a_repeated_rule_has_a_shade_of_its_own_in_map_legend_and_figure() {
    let mut twice = spec("fig2a");
    // The second optimizer is a copy of the first.
    (twice.optimizers[1].rule, twice.optimizers[1].color) = (twice.optimizers[0].rule, None);
    let colors = sweep_colors(&twice.optimizers);
    assert_eq!([colors[0], colors[2]], [ADAM, SIGNUM], "the first of each rule keeps the paper's colour");
    assert!(color_difference(colors[0], colors[1], Vision::Usual) > 10.0, "{colors:?}");
    let result = result_of(twice);
    let map = Map::Winner { certainty: false };
    let image = map.image(&result.diagram, LOSS);
    let winners: Vec<[u8; 3]> = (0..ROWS)
        .flat_map(|row| (0..COLUMNS).map(move |column| [row, column]))
        .map(|[row, column]| image.cell(row, column))
        .collect();
    assert!(winners.contains(&colors[0]) && winners.contains(&colors[1]), "{winners:?} of {colors:?}");
    let legend: Vec<_> = legend(map, &result.diagram).into_iter().filter_map(|swatch| swatch.color).collect();
    assert_eq!(legend[..3], colors);
    let svg =
        Figure::map(&result, LOSS, Map::Winner { certainty: false }).render(&wide()).expect("rendered").to_string();
    let [red, green, blue] = colors[1];
    assert!(svg.contains(&format!("#{red:02x}{green:02x}{blue:02x}")), "the legend of the figure has the shade");
}

#[test]
fn winners_that_are_less_certain_are_paler() {
    let result = result();
    let certain = Map::Winner { certainty: true }.image(&result.diagram, LOSS);
    // One replicate gives no certainty.
    let mut single = spec("fig2a");
    single.replicates = valleyscope_engine::quantity::Replicates::clamped(1);
    let mut pale = Diagram::new(Arc::new(single.clone()));
    let runs = super::trainings::runs(&single, [2, 1]);
    let firsts = runs
        .iter()
        .map(|runs| Runs { replicates: 1, metrics: runs.metrics.iter().step_by(runs.replicates).copied().collect() });
    let cell = Cell::new(&firsts.collect::<Vec<_>>(), single.average, false);
    pale.insert([2, 1], cell);
    let pale = Map::Winner { certainty: true }.image(&pale, LOSS).cell(2, 1);
    assert!(pale.iter().zip(certain.cell(2, 1)).all(|(pale, full)| *pale >= full));
    assert!(pale[2] > certain.cell(2, 1)[2] + 50);
}

#[test]
fn png_has_its_size_its_colours_and_its_texts() {
    let result = result();
    let options = Options { width_mm: 85.0, font_size: 8.0, title: false, ..Options::default() };
    let svg = Figure::map(&result, LOSS, Map::Winner { certainty: false }).render(&options).expect("rendered");
    let png = svg.to_png(300.0).expect("drawn");
    let picture = image::load_from_memory(&png).expect("a picture").to_rgb8();
    assert_eq!(picture.width(), (85.0_f64 * 300.0 / 25.4).round() as u32);
    assert_eq!(picture.height(), (svg.height_mm() * 300.0 / 25.4).round() as u32);
    // The document gives the position of the map.
    let text = svg.to_string();
    let document = Document::parse(&text).expect("well-formed XML");
    let map = document.descendants().find(|node| node.has_tag_name("image")).expect("the map");
    let [x, y, width, height] = ["x", "y", "width", "height"]
        .map(|name| map.attribute(name).expect("a place").parse::<f64>().expect("a number"));
    let shown = Map::Winner { certainty: false }.image(&result.diagram, LOSS);
    for (row, column) in (0..ROWS).flat_map(|row| (0..COLUMNS).map(move |column| (row, column))) {
        // Just inside two corners of the cell: a sharp map, with the first row below.
        for inside in [0.08, 0.92] {
            let across = x + width * (column as f64 + inside) / COLUMNS as f64;
            let down = y + height * (1.0 - (row as f64 + inside) / ROWS as f64);
            let [across, down] = [across, down].map(|points| (points * 300.0 / 72.0) as u32);
            assert_eq!(picture.get_pixel(across, down).0, shown.cell(row, column), "row {row}, column {column}");
        }
    }
    let holds = |text: &str| png.windows(text.len()).any(|window| window == text.as_bytes());
    assert!(holds("iTXtDescription") && holds(&result.preset().to_ron()) && holds(&result.title) && holds("pHYs"));
}

#[test]
fn pdf_has_text_font_and_metadata() {
    let result = result();
    let pdf = Figure::map(&result, LOSS, Map::Winner { certainty: false })
        .render(&wide())
        .expect("rendered")
        .to_pdf()
        .expect("drawn");
    assert!(pdf.starts_with(b"%PDF-"));
    let holds = |text: &str| pdf.windows(text.len()).any(|window| window == text.as_bytes());
    assert!(holds("ValleyscopeSans") && holds("start_spread: 0.0001") && holds(env!("CARGO_PKG_VERSION")));
    assert!(!holds("CreationDate") && !holds("/Interpolate true"));
}

#[test]
fn equal_figures_are_equal_bytes() {
    for (first, second) in all_figures().iter().zip(all_figures()) {
        let [first, second] = [first, &second].map(|figure| figure.render(&wide()).expect("rendered"));
        assert_eq!(first.to_string(), second.to_string());
        assert!(first.to_png(72.0).expect("drawn") == second.to_png(72.0).expect("drawn"));
        assert!(first.to_pdf().expect("drawn") == second.to_pdf().expect("drawn"));
    }
}

#[test]
fn impossible_sizes_are_refused() {
    let figure = Figure::map(&result(), LOSS, Map::Winner { certainty: false });
    let refusal = |options| figure.render(&options).map(|_| ()).expect_err("refused");
    let narrow = refusal(Options { width_mm: 25.0, font_size: 20.0, title: false, ..Options::default() });
    assert!(matches!(narrow, FigureError::TooNarrow { .. }));
    assert!(refusal(Options { width_mm: f64::NAN, ..wide() }).to_string().contains("width_mm must be from 20 to 2000"));
    assert!(refusal(Options { font_size: 0.0, ..wide() }).to_string().contains("found 0"));
    let svg = figure.render(&wide()).expect("rendered");
    assert!(svg.to_png(0.0).is_err());
    assert!(matches!(svg.to_png(4800.0), Err(FigureError::TooLarge { .. })));
}

#[test]
fn every_figure_fits_its_usual_width_and_every_format() {
    for figure in all_figures() {
        let options = Options { width_mm: figure.usual_width_mm(), ..Options::default() };
        let svg = figure.render(&options).expect("wide enough");
        for (path, start) in [("a.png", b"\x89PNG".as_slice()), ("a.SVG", b"<svg"), ("a.b.pdf", b"%PDF")] {
            let format = Format::of(path.as_ref()).expect("a format");
            assert!(svg.to_file(format, 72.0).expect("drawn").starts_with(start), "{path}");
        }
    }
    assert!(Format::of("figure.jpg".as_ref()).is_none() && Format::of("png".as_ref()).is_none());
}

const BUNDLED: &[u8] = include_bytes!("../../../assets/fonts/ValleyscopeSans.otf");
/// A character of the private use area, which the font of the tests has.
const KNOWN: char = '\u{e001}';
/// A character that neither font has.
const UNKNOWN: char = '\u{e000}';

/// Returns the bundled font under another name, with a single character: [`KNOWN`], which looks as H does.
fn test_font() -> Vec<u8> {
    let glyph = rustybuzz::Face::from_slice(BUNDLED, 0).unwrap().glyph_index('H').unwrap().0;
    let mut cmap = Vec::new();
    for number in [0, 1, 3, 10] {
        cmap.extend(u16::to_be_bytes(number));
    }
    cmap.extend(12_u32.to_be_bytes());
    cmap.extend([12_u16, 0].map(u16::to_be_bytes).concat());
    cmap.extend([28, 0, 1, u32::from(KNOWN), u32::from(KNOWN), u32::from(glyph)].map(u32::to_be_bytes).concat());
    let mut font = BUNDLED.to_vec();
    font.resize(font.len().next_multiple_of(4), 0);
    let tables = usize::from(u16::from_be_bytes([font[4], font[5]]));
    let entry = (0..tables).map(|table| 12 + 16 * table).find(|at| &font[*at..at + 4] == b"cmap").unwrap();
    let place = [font.len() as u32, cmap.len() as u32].map(u32::to_be_bytes).concat();
    font[entry + 8..entry + 16].copy_from_slice(&place);
    font.extend(cmap);
    let names = ["Valleyscope", "Testerscope"];
    let [old, new] = names.map(|name| name.encode_utf16().flat_map(u16::to_be_bytes).collect::<Vec<u8>>());
    for (old, new) in [(old, new), (names[0].as_bytes().to_vec(), names[1].as_bytes().to_vec())] {
        for at in 0..font.len() - old.len() {
            if font[at..].starts_with(&old) {
                font[at..at + new.len()].copy_from_slice(&new);
            }
        }
    }
    font
}

/// A user whose system has the fonts in the folder `fonts`.
fn sandbox(name: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    fs::create_dir(sandbox.join("fonts")).unwrap();
    fs::create_dir(sandbox.join("none")).unwrap();
    fs::write(sandbox.join("fonts/test.otf"), test_font()).unwrap();
    for folder in ["fonts", "none"] {
        let dir = sandbox.join(folder);
        sandbox.write(&format!("{folder}.conf"), &format!("<fontconfig><dir>{}</dir></fontconfig>", dir.display()));
    }
    write_preset(&sandbox, name);
    sandbox
}

fn write_preset(sandbox: &Sandbox, name: &str) {
    let adam = format!("(id: 0, name: \"{name}\", rule: Adam(learning_rate: 0.01))");
    let simulation = format!("(noise: 1, steps: 5, particles: 3, optimizers: [{adam}])");
    sandbox
        .write("named.ron", &format!("Landscape(version: 1, title: \"Named\", simulations: [(spec: {simulation})])"));
}

fn run(sandbox: &Sandbox, fonts: &str, args: &[&str]) -> Output {
    let conf = sandbox.join(format!("{fonts}.conf"));
    let output = sandbox.command(args).env("FONTCONFIG_FILE", conf).output().unwrap();
    expect_code(&output, 0);
    output
}

fn figure(sandbox: &Sandbox, fonts: &str, out: &str) -> Vec<u8> {
    run(sandbox, fonts, &["figure", "named.ron", "--out", out]);
    fs::read(sandbox.join(out)).unwrap()
}

fn pixels(path: &Path) -> image::RgbImage {
    image::open(path).unwrap().into_rgb8()
}

#[test]
fn characters_that_the_bundled_font_lacks_are_drawn_in_a_font_of_the_system() {
    let sandbox = sandbox(&format!("H{KNOWN}H"));
    let svg = String::from_utf8(figure(&sandbox, "fonts", "a.svg")).unwrap();
    let tspan = format!("<tspan font-family=\"'Testerscope Sans',sans-serif\">{KNOWN}</tspan>");
    assert!(svg.contains(&format!(">H{tspan}H</text>")));
    let said = run(&sandbox, "fonts", &["figure", "named.ron", "--out", "a.png"]);
    assert!(!stderr(&said).contains("warning"), "{}", stderr(&said));
    let pdf = figure(&sandbox, "fonts", "a.pdf");
    let holds = |pdf: &[u8], text: &str| pdf.windows(text.len()).any(|window| window == text.as_bytes());
    assert!(holds(&pdf, "TesterscopeSans"));
    run(&sandbox, "fonts", &["animate", "named.ron", "--size", "300x200", "--out", "a.gif"]);
    // The same letters from the bundled font: they are as wide, and at the same places.
    write_preset(&sandbox, "HHH");
    figure(&sandbox, "fonts", "b.png");
    run(&sandbox, "fonts", &["animate", "named.ron", "--size", "300x200", "--out", "b.gif"]);
    for [one, other] in [["a.png", "b.png"], ["a.gif", "b.gif"]] {
        assert!(pixels(&sandbox.join(one)) == pixels(&sandbox.join(other)), "{one} and {other} differ");
    }
}

#[test]
fn characters_that_no_font_has_are_named_in_a_warning() {
    let sandbox = sandbox(&format!("A{UNKNOWN}"));
    for args in [
        &["figure", "named.ron", "--out", "a.png"][..],
        &["animate", "named.ron", "--size", "300x200", "--out", "a.gif"],
    ] {
        let said = run(&sandbox, "fonts", args);
        assert!(stderr(&said).contains("warning: no font on this machine has"), "{}", stderr(&said));
        assert!(stderr(&said).contains("U+E000"), "{}", stderr(&said));
    }
}

#[test]
fn a_figure_without_such_characters_does_not_depend_on_the_systems_fonts() {
    let sandbox = sandbox("Adam, β₁ 0.9");
    for out in ["a.svg", "a.png", "a.pdf"] {
        assert!(figure(&sandbox, "fonts", out) == figure(&sandbox, "none", out), "{out}");
    }
}

const ROW: usize = 2;

fn written(spec: &SweepSpec) -> (String, Vec<u64>, Vec<f64>) {
    let folder = tempfile::tempdir().expect("a folder");
    let format = RawFormat::of(spec).expect("a sweep of the paper");
    let pixels: Vec<Vec<Runs>> = (0..COLUMNS).map(|column| runs(spec, [ROW, column])).collect();
    let path = format.write_row(folder.path(), Overwrite::No, spec, ROW, &pixels).expect("written");
    let file = NpyFile::new(std::fs::File::open(&path).expect("the file")).expect("an array");
    let name = path.file_name().expect("a name").to_string_lossy().into_owned();
    (name, file.shape().to_vec(), file.into_vec().expect("numbers"))
}

/// Returns the index of a run by optimizer, column, learning rate and replicate.
fn at(optimizer: usize, column: usize, rate: usize, replicate: usize) -> usize {
    ((optimizer * COLUMNS + column) * RATES + rate) * REPLICATES + replicate
}

#[test]
fn rows_of_sharpness_hold_final_losses() {
    let (name, shape, values) = written(&spec("fig2a"));
    assert_eq!(name, "syn-exp-7-2.npy");
    assert_eq!(shape, [3, COLUMNS as u64, RATES as u64, REPLICATES as u64]);
    assert_eq!(values[at(1, 2, 4, 3)], final_loss([ROW, 2], 1, 4, 3));
}

#[test]
fn rows_of_weight_decay_hold_three_metrics() {
    let (name, shape, values) = written(&spec("fig2b"));
    assert_eq!(name, "syn-exp-6-2.npy");
    assert_eq!(shape, [3, COLUMNS as u64, RATES as u64, REPLICATES as u64, 3]);
    let loss = final_loss([ROW, 1], 2, 0, 5);
    assert_eq!(values[3 * at(2, 1, 0, 5)..][..3], [loss, loss - 0.5, 2.0 - loss]);
}

#[test]
fn optimizers_are_in_the_papers_order() {
    let mut spec = spec("fig2a");
    spec.optimizers.reverse();
    let (_, _, values) = written(&spec);
    assert_eq!(values[at(0, 0, 1, 1)], final_loss([ROW, 0], 2, 1, 1), "Adam, which is last in the spec");
}

#[test]
fn other_sweeps_have_no_raw_arrays() {
    let refusal = |change: fn(&mut SweepSpec)| {
        let mut spec = spec("fig2a");
        change(&mut spec);
        RawFormat::of(&spec).expect_err("refused").to_string()
    };
    let two = refusal(|spec| spec.optimizers.truncate(2));
    assert!(two.contains("Adam, FOCUS and Signum") && two.contains("found Adam, FOCUS"), "{two}");
    assert!(refusal(|spec| spec.columns.of = Quantity::Landscape("slope")).contains("found slope"));
    let river = refusal(|spec| spec.landscape = LandscapeSpec::new(LandscapeKind::River));
    assert!(river.contains("the paper's valley") && river.contains("found River"), "{river}");
    assert!(refusal(|spec| spec.rows.of = Quantity::Steps).contains("found steps"));
    let rates =
        refusal(|spec| spec.optimizers[0].learning_rates.count = valleyscope_engine::quantity::PointCount::clamped(2));
    assert!(rates.contains("same learning rates"), "{rates}");
}
