//! A figure as an SVG document.

use std::collections::BTreeSet;
use std::fmt;
use std::path::Path;

use base64::display::Base64Display;
use base64::prelude::BASE64_STANDARD;
use resvg::usvg::Tree;

use super::font::{self, FAMILY, FONT};
use super::xml::escaped;
use super::{FigureError, FigureMetadata};

/// A laid-out figure. Its text form, by [`ToString`], is an SVG file with the font embedded.
#[derive(Clone, Debug)]
pub struct Svg {
    pub(super) about: FigureMetadata,
    pub(super) width_mm: f64,
    /// The size in points.
    pub(super) size: [f64; 2],
    pub(super) body: String,
    pub(super) uses_system_fonts: bool,
    pub(super) blank: BTreeSet<char>,
}

/// A format of files with figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    Png,
    Svg,
    Pdf,
}

impl Format {
    pub const ALL: [Format; 3] = [Format::Png, Format::Svg, Format::Pdf];

    /// Returns the extension of its files.
    pub fn extension(self) -> &'static str {
        match self {
            Format::Png => "png",
            Format::Svg => "svg",
            Format::Pdf => "pdf",
        }
    }

    /// Returns the format of a file's extension.
    pub fn of(path: &Path) -> Option<Format> {
        let extension = path.extension()?;
        Format::ALL.into_iter().find(|format| extension.eq_ignore_ascii_case(format.extension()))
    }
}

pub(super) const POINTS_PER_MM: f64 = 72.0 / 25.4;
/// The name of the program, with its version.
pub(crate) const CREATOR: &str = concat!("Valleyscope ", env!("CARGO_PKG_VERSION"));

impl Svg {
    pub fn width_mm(&self) -> f64 {
        self.width_mm
    }

    pub fn height_mm(&self) -> f64 {
        self.size[1] / POINTS_PER_MM
    }

    /// Returns the characters that no font on this machine has, which are left blank.
    pub fn blank(&self) -> &BTreeSet<char> {
        &self.blank
    }

    /// Returns the contents of a file; `dpi` applies to PNG.
    pub fn to_file(&self, format: Format, dpi: f64) -> Result<Vec<u8>, FigureError> {
        match format {
            Format::Png => self.to_png(dpi),
            Format::Svg => Ok(self.to_string().into_bytes()),
            Format::Pdf => self.to_pdf(),
        }
    }

    /// Writes the document with or without the font embedded.
    fn write(&self, f: &mut impl fmt::Write, with_font: bool) -> fmt::Result {
        let ([width, height], width_mm, height_mm) = (self.size, self.width_mm, self.height_mm());
        writeln!(
            f,
            r#"<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" width="{width_mm:.3}mm" height="{height_mm:.3}mm" viewBox="0 0 {width:.3} {height:.3}">"#
        )?;
        let (title, specs) = (escaped(&self.about.title), escaped(&self.about.description()));
        writeln!(f, "<title>{title}</title>")?;
        writeln!(
            f,
            "<metadata>\n<rdf:RDF xmlns:rdf=\"http://www.w3.org/1999/02/22-rdf-syntax-ns#\" \
             xmlns:dc=\"http://purl.org/dc/elements/1.1/\"><rdf:Description rdf:about=\"\">\n\
             <dc:title>{title}</dc:title>\n<dc:creator>{CREATOR}</dc:creator>\n<dc:source>{}</dc:source>\n\
             <dc:description>{specs}</dc:description>\n</rdf:Description></rdf:RDF>\n</metadata>",
            escaped(&self.about.programs())
        )?;
        if with_font {
            let font = Base64Display::new(FONT, &BASE64_STANDARD);
            writeln!(
                f,
                "<style>@font-face{{font-family:\"{FAMILY}\";src:url(data:font/otf;base64,{font}) \
                 format(\"opentype\")}}</style>"
            )?;
        }
        writeln!(f, r##"<rect width="{width:.3}" height="{height:.3}" fill="#fff"/>"##)?;
        writeln!(f, r##"<g font-family="'{FAMILY}',Inter,Helvetica,Arial,sans-serif" fill="#000">"##)?;
        writeln!(f, "{}</g>\n</svg>", self.body)
    }

    /// Returns the parsed document.
    pub(super) fn tree(&self) -> Result<Tree, FigureError> {
        let mut document = String::new();
        self.write(&mut document, false).expect("a string takes all that is written");
        Tree::from_str(&document, &font::options(self.uses_system_fonts))
            .map_err(|error| FigureError::Draw(error.to_string()))
    }
}

impl fmt::Display for Svg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(f, true)
    }
}

impl FigureMetadata {
    pub(super) fn programs(&self) -> String {
        self.programs.join("; ")
    }

    /// Returns the presets that repeat the results.
    pub(super) fn description(&self) -> String {
        self.specs.join("\n")
    }
}
