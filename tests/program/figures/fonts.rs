//! Characters that the bundled font lacks, in figures and animations: set in fonts of the system, or named in a warning.

use std::fs;
use std::path::Path;
use std::process::Output;

use crate::sandbox::{Sandbox, expect_code, stderr};

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
    sandbox.write("named.ron", &format!("Landscape(version: 1, title: \"Named\", simulation: {simulation})"));
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
