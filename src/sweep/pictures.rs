//! The pictures in the folder of a sweep.

use std::path::Path;

use anyhow::Context;
use image::ImageFormat;
use valleyscope_runs::atomic_file::{Overwrite, write_file};
use valleyscope_runs::plain_file::Links;
use valleyscope_runs::{Findings, plain_file};

use super::result::SweepResult;
use crate::draw::{Figure, FigureError, Format, Options, Svg};

/// The names of the pictures in the folder of a sweep.
pub const PICTURES: [&str; 2] = ["phase.png", "phase.svg"];
/// Dots per inch of the PNG.
pub const PICTURE_DPI: f64 = 300.0;
/// An upper limit of the bytes of a picture.
const MOST: u64 = 256 << 20;

/// Draws the picture of a diagram, at its usual width.
pub fn drawing(result: &SweepResult) -> Result<Svg, FigureError> {
    let figure = Figure::as_in_the_paper(result, false);
    figure.render(&Options { width_mm: figure.usual_width_mm(), ..Options::default() })
}

/// Writes the pictures into a folder that exists.
pub fn write_pictures(drawing: &Svg, folder: &Path, overwrite: Overwrite) -> anyhow::Result<()> {
    for name in PICTURES {
        let path = folder.join(name);
        let format = Format::of(&path).expect("pictures have the names of formats");
        write_file(&path, overwrite, &drawing.to_file(format, PICTURE_DPI)?)
            .with_context(|| format!("cannot write {name}"))?;
    }
    Ok(())
}

/// Checks the pictures in the folder of a sweep. Those that this version would draw differently are checked as files of
/// their formats.
pub fn check_pictures(folder: &Path, findings: &mut Findings) {
    let there: Vec<&str> = PICTURES.into_iter().filter(|name| folder.join(name).symlink_metadata().is_ok()).collect();
    if there.is_empty() {
        return;
    }
    let result =
        plain_file::check(&folder.join(SweepResult::ARRAYS)).ok().and_then(|()| SweepResult::open(folder).ok());
    let drawing = result.filter(|result| result.diagram.is_complete()).and_then(|result| drawing(&result).ok());
    for name in there {
        let path = folder.join(name);
        let found = match plain_file::read(&path, Links::Refused, MOST) {
            Ok(found) => found,
            Err(error) => {
                findings.damaged(name, error.to_string());
                continue;
            }
        };
        let format = Format::of(&path).expect("pictures have the names of formats");
        let expected = drawing.as_ref().and_then(|drawing| drawing.to_file(format, PICTURE_DPI).ok());
        if expected.is_some_and(|expected| expected == found) {
            findings.intact(name, format!("shows {}", SweepResult::ARRAYS));
            continue;
        }
        let is_intact = if name.ends_with(".png") { is_png(&found) } else { is_svg(&found) };
        match is_intact {
            Ok(()) => findings.note(name, format!("is not what this version draws of {}", SweepResult::ARRAYS)),
            Err(wrong) => findings.damaged(name, format!("{wrong}; `valleyscope figure` draws it again")),
        }
    }
}

/// Reads all of a picture, with its checksums.
fn is_png(bytes: &[u8]) -> Result<(), String> {
    image::load_from_memory_with_format(bytes, ImageFormat::Png).map_err(|error| error.to_string())?;
    if bytes.ends_with(b"IEND\xaeB`\x82") { Ok(()) } else { Err("it does not end as a PNG file does".to_owned()) }
}

/// Checks that the bytes begin and end as an SVG.
fn is_svg(bytes: &[u8]) -> Result<(), String> {
    let text = String::from_utf8_lossy(bytes);
    match text.contains("<svg") && text.trim_end().ends_with("</svg>") {
        true => Ok(()),
        false => Err("expected an SVG from <svg to </svg>, found another beginning or end".to_owned()),
    }
}
