//! Figures as files: SVG with text in the bundled font, PNG, and PDF.

use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::ops::Range;
use std::path::Path;
use std::sync::{Arc, LazyLock, Mutex, OnceLock, PoisonError};

use base64::display::Base64Display;
use base64::prelude::BASE64_STANDARD;
use image::codecs::png::PngEncoder;
use image::{ExtendedColorType, ImageEncoder};
use krilla::geom::Size;
use krilla::metadata::Metadata;
use krilla::page::PageSettings;
use krilla::{Document, SerializeSettings};
use krilla_svg::{SurfaceExt, SvgSettings};
use resvg::tiny_skia::{Color, Pixmap, Transform};
use resvg::usvg::fontdb::{Database, FaceInfo, ID, Source, Stretch, Style, Weight};
use resvg::usvg::{FontFamily, FontResolver, Node, Options, Tree, fontdb};
use rustybuzz::{Direction, Face, GlyphBuffer, UnicodeBuffer, ttf_parser};

use super::map::MapImage;
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
        Tree::from_str(&document, &options(self.uses_system_fonts))
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

/// The largest number of pixels of a picture, which take 400 MB while it is drawn.
pub(super) const MAX_PIXELS: f64 = 1e8;
const MM_PER_INCH: f64 = 25.4;

impl Svg {
    /// Returns the figure as a PNG file with `dpi` dots per inch: width in mm × dpi / 25.4 pixels wide.
    pub fn to_png(&self, dpi: f64) -> Result<Vec<u8>, FigureError> {
        if !(10.0..=4800.0).contains(&dpi) {
            return Err(FigureError::OutOfRange { name: "dpi", expected: "from 10 to 4800".to_owned(), found: dpi });
        }
        let [width, height] = [self.width_mm, self.height_mm()].map(|length| (length * dpi / MM_PER_INCH).round());
        if width * height > MAX_PIXELS {
            return Err(FigureError::TooLarge { width, height });
        }
        let too_large = || FigureError::TooLarge { width, height };
        let mut pixmap = Pixmap::new(width as u32, height as u32).ok_or_else(too_large)?;
        pixmap.fill(Color::WHITE);
        let tree = self.tree()?;
        let scale = width as f32 / tree.size().width();
        resvg::render(&tree, Transform::from_scale(scale, scale), &mut pixmap.as_mut());
        let (size, mut rgb) = ([pixmap.width(), pixmap.height()], pixmap.take());
        for pixel in 0..rgb.len() / 4 {
            rgb.copy_within(4 * pixel..4 * pixel + 3, 3 * pixel);
        }
        rgb.truncate(rgb.len() / 4 * 3);
        let png = encoded(&rgb, size)?;
        let about = &self.about;
        let mut chunks = resolution(dpi);
        for (keyword, text) in [
            ("Title", about.title.as_str()),
            ("Software", CREATOR),
            ("Source", &about.programs()),
            ("Description", &about.description()),
        ] {
            chunks.extend(international_text(keyword, text));
        }
        Ok([&png[..HEADER_LENGTH], &chunks, &png[HEADER_LENGTH..]].concat())
    }
}

/// Returns a map as a PNG file, one pixel per cell.
pub(super) fn of_map(image: &MapImage) -> Result<Vec<u8>, FigureError> {
    // Without opacity, which would be a second image in a PDF.
    let rgb: Vec<u8> = image.rgba.chunks_exact(4).flat_map(|pixel| [pixel[0], pixel[1], pixel[2]]).collect();
    encoded(&rgb, [image.width as u32, image.height as u32])
}

pub(crate) fn encoded(rgb: &[u8], [width, height]: [u32; 2]) -> Result<Vec<u8>, FigureError> {
    let mut png = Vec::new();
    let encoder = PngEncoder::new(&mut png);
    let written = encoder.write_image(rgb, width, height, ExtendedColorType::Rgb8);
    written.map_err(|error| FigureError::Draw(error.to_string()))?;
    Ok(png)
}

/// The length of the signature and the chunk IHDR, after which other chunks may follow.
const HEADER_LENGTH: usize = 8 + 25;

/// Returns the chunk pHYs: pixels per metre.
fn resolution(dpi: f64) -> Vec<u8> {
    let per_metre = ((dpi / MM_PER_INCH * 1000.0).round() as u32).to_be_bytes();
    const METRES: u8 = 1;
    chunk(b"pHYs", &[per_metre.as_slice(), &per_metre, &[METRES]].concat())
}

/// Returns the chunk iTXt: a text in UTF-8, neither compressed nor translated.
fn international_text(keyword: &str, text: &str) -> Vec<u8> {
    chunk(b"iTXt", &[keyword.as_bytes(), &[0; 5], text.as_bytes()].concat())
}

fn chunk(kind: &[u8; 4], contents: &[u8]) -> Vec<u8> {
    let length = u32::try_from(contents.len()).expect("a chunk is far smaller than 4 GiB").to_be_bytes();
    let checked = [kind.as_slice(), contents].concat();
    [length.as_slice(), &checked, &crc32fast::hash(&checked).to_be_bytes()].concat()
}

impl Svg {
    /// Returns the figure as a PDF file of a page that is as large as the figure, with the font embedded.
    pub fn to_pdf(&self) -> Result<Vec<u8>, FigureError> {
        let failed = |what: &str| FigureError::Draw(what.to_owned());
        let tree = self.tree()?;
        let [width, height] = self.size.map(|length| length as f32);
        let mut document = Document::new_with(SerializeSettings::default());
        let about = &self.about;
        document.set_metadata(
            Metadata::new()
                .title(about.title.clone())
                .description(about.description())
                .keywords(about.programs.clone())
                .creator(CREATOR.to_owned())
                .producer(CREATOR.to_owned())
                .language("en".to_owned()),
        );
        let settings = PageSettings::from_wh(width, height).ok_or_else(|| failed("the page has no size"))?;
        let size = Size::from_wh(width, height).ok_or_else(|| failed("the page has no size"))?;
        let mut page = document.start_page_with(settings);
        let mut surface = page.surface();
        surface.draw_svg(&tree, size, SvgSettings::default()).ok_or_else(|| failed("the page cannot be drawn"))?;
        surface.finish();
        page.finish();
        document.finish().map_err(|error| FigureError::Draw(format!("{error:?}")))
    }
}

pub(super) const FONT: &[u8] = include_bytes!("../../assets/fonts/ValleyscopeSans.otf");
pub(super) const FAMILY: &str = "Valleyscope Sans";

static FONT_DATABASE: LazyLock<Arc<fontdb::Database>> = LazyLock::new(|| {
    let mut fonts = fontdb::Database::new();
    fonts.load_font_data(FONT.to_vec());
    Arc::new(fonts)
});

static FACE: LazyLock<Face<'static>> = LazyLock::new(|| Face::from_slice(FONT, 0).expect("the bundled font is a font"));

/// Returns the options for reading SVG: the bundled font, and the system's only for a text that is set in them.
pub(super) fn options(uses_system: bool) -> Options<'static> {
    let options = Options { font_family: FAMILY.to_owned(), ..Options::default() };
    if !uses_system {
        return Options { fontdb: Arc::clone(&FONT_DATABASE), ..options };
    }
    let fonts = SystemFonts::get();
    let select_font = move |font: &resvg::usvg::Font, _: &mut Arc<fontdb::Database>| match font.families().first() {
        Some(FontFamily::Named(name)) if name != FAMILY => fonts.of_family(name),
        _ => Some(fonts.bundled()),
    };
    let select_fallback = move |character: char, used: &[fontdb::ID], _: &mut Arc<fontdb::Database>| {
        let found = fonts.with(character.encode_utf8(&mut [0; 4])).map(|font| font.id);
        found.filter(|id| !used.contains(id))
    };
    let font_resolver = FontResolver { select_font: Box::new(select_font), select_fallback: Box::new(select_fallback) };
    Options { fontdb: fonts.database(), font_resolver, ..options }
}

/// A text as it is written in an SVG.
pub(super) struct Markup {
    pub xml: String,
    /// Whether parts of it are set in fonts of the system.
    pub uses_system: bool,
    /// The characters that no font has, which are left blank.
    pub blank: BTreeSet<char>,
}

/// Returns a text as it is written in an SVG, with the system's fonts named where the bundled one lacks characters.
pub(super) fn markup(text: &str) -> Markup {
    let mut markup = Markup { xml: String::new(), uses_system: false, blank: BTreeSet::new() };
    let drawn = drawn(text);
    // The parts that are set in a font of the system, from left to right.
    let mut parts: Vec<(Range<usize>, &str)> = Vec::new();
    for cluster in lacking(&drawn, &shaped(&drawn)) {
        match (SystemFonts::get().with(&drawn[cluster.clone()]), parts.last_mut()) {
            (Some(font), Some((range, family))) if range.end == cluster.start && *family == font.family => {
                range.end = cluster.end;
            }
            (Some(font), _) => parts.push((cluster, &font.family)),
            (None, _) => markup.blank.extend(drawn[cluster].chars().filter(|character| !has(*character))),
        }
    }
    if parts.is_empty() {
        markup.xml = escaped(text);
        return markup;
    }
    markup.uses_system = true;
    let mut end = 0;
    for (range, family) in parts {
        let (before, part) = (escaped(&drawn[end..range.start]), escaped(&drawn[range.clone()]));
        markup.xml += &format!(r#"{before}<tspan font-family="'{}',sans-serif">{part}</tspan>"#, escaped(family));
        end = range.end;
    }
    markup.xml += &escaped(&drawn[end..]);
    markup
}

/// Returns the width of a text at a font size, in the units of the size: that of its glyphs as shaped when the SVG is
/// rendered, with kerning.
pub(super) fn width(text: &str, size: f64) -> f64 {
    // The size at which texts are measured, in single precision as in rendering: another rounding would move labels.
    const MEASURED_AT: f32 = 100.0;
    let drawn = drawn(text);
    let shaped = shaped(&drawn);
    if !lacking(&drawn, &shaped).is_empty() {
        let markup = markup(text);
        if markup.uses_system {
            return width_in_svg(&markup) * size;
        }
    }
    // A text without any glyph is not drawn.
    if shaped.glyph_infos().iter().all(|info| info.glyph_id == 0) {
        return 0.0;
    }
    let scale = MEASURED_AT / FACE.units_per_em() as f32;
    let advances: Vec<(u32, f32)> = shaped
        .glyph_infos()
        .iter()
        .zip(shaped.glyph_positions())
        .map(|(info, position)| (info.cluster, position.x_advance as f32 * scale))
        .collect();
    // Combining marks overlap their letters: a cluster is as wide as its widest glyph.
    let clusters = advances.chunk_by(|(one, _), (other, _)| one == other);
    let width: f32 =
        clusters.map(|glyphs| glyphs.iter().fold(0.0, |widest: f32, (_, advance)| widest.max(*advance))).sum();
    f64::from(width) * size / f64::from(MEASURED_AT)
}

/// Returns the width that a text has where an SVG is rendered, in font sizes.
fn width_in_svg(markup: &Markup) -> f64 {
    const SVG: &str = r#"<svg xmlns="http://www.w3.org/2000/svg" width="1" height="1"><text font-size="100">"#;
    let tree = Tree::from_str(&format!("{SVG}{}</text></svg>", markup.xml), &options(markup.uses_system));
    match tree.as_ref().ok().and_then(|tree| tree.root().children().first()) {
        Some(Node::Text(text)) => f64::from(text.bounding_box().width()) / 100.0,
        _ => 0.0,
    }
}

/// Shapes a text with the bundled font.
fn shaped(text: &str) -> GlyphBuffer {
    let mut buffer = UnicodeBuffer::new();
    buffer.push_str(text);
    buffer.set_direction(Direction::LeftToRight);
    rustybuzz::shape(&FACE, &[], buffer)
}

/// Returns the clusters of a shaped text for which the bundled font has no glyph, as ranges of bytes.
fn lacking(text: &str, shaped: &GlyphBuffer) -> Vec<Range<usize>> {
    let glyphs: Vec<(usize, bool)> =
        shaped.glyph_infos().iter().map(|info| (info.cluster as usize, info.glyph_id == 0)).collect();
    if glyphs.iter().all(|(_, is_lacking)| !is_lacking) {
        return Vec::new();
    }
    let clusters: Vec<&[(usize, bool)]> = glyphs.chunk_by(|(one, _), (other, _)| one == other).collect();
    let end = |index: usize| clusters.get(index + 1).map_or(text.len(), |next| next[0].0);
    let range = |(index, cluster): (usize, &&[(usize, bool)])| {
        let range = cluster[0].0..end(index);
        let is_drawn = |range: &Range<usize>| !text[range.clone()].chars().all(is_ignorable);
        cluster.iter().any(|(_, is_lacking)| *is_lacking).then_some(range).filter(is_drawn)
    };
    clusters.iter().enumerate().filter_map(range).collect()
}

fn has(character: char) -> bool {
    is_ignorable(character) || FACE.glyph_index(character).is_some()
}

/// The bundled font and the system's.
pub(crate) struct SystemFonts {
    database: Arc<Database>,
    bundled: ID,
    /// The system's fonts, in the order in which they are tried.
    fonts: Vec<SystemFont>,
    /// The index of the font for a cluster of characters; `None` where no font has it.
    found: Mutex<HashMap<String, Option<usize>>>,
}

/// A font of the system.
pub(crate) struct SystemFont {
    pub id: ID,
    pub family: String,
}

static FONTS: OnceLock<SystemFonts> = OnceLock::new();

impl SystemFonts {
    /// Returns the fonts, which are read by the first call.
    pub(crate) fn get() -> &'static SystemFonts {
        FONTS.get_or_init(SystemFonts::read)
    }

    /// Returns whether the fonts have been read.
    #[cfg(feature = "app")]
    pub(crate) fn are_read() -> bool {
        FONTS.get().is_some()
    }

    fn read() -> SystemFonts {
        let mut database = Database::new();
        database.load_font_data(FONT.to_vec());
        let bundled = database.faces().next().expect("the bundled font is a font").id;
        database.load_system_fonts();
        let mut faces: Vec<&FaceInfo> = database.faces().filter(|face| face.id != bundled).collect();
        faces.sort_by_cached_key(|face| rank(face));
        let fonts = faces.into_iter().map(|face| SystemFont { id: face.id, family: family(face) });
        let fonts = fonts.filter(|font| !font.family.contains("LastResort")).collect();
        SystemFonts { bundled, fonts, database: Arc::new(database), found: Mutex::default() }
    }

    pub(super) fn database(&self) -> Arc<Database> {
        Arc::clone(&self.database)
    }

    pub(super) fn bundled(&self) -> ID {
        self.bundled
    }

    /// Returns the first font of a family.
    pub(super) fn of_family(&self, name: &str) -> Option<ID> {
        self.fonts.iter().find(|font| font.family == name).map(|font| font.id)
    }

    /// Returns the first font that has all characters of a cluster, or else its first character.
    pub(crate) fn with(&self, cluster: &str) -> Option<&SystemFont> {
        let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        let index = *found.entry(cluster.to_owned()).or_insert_with(|| {
            let first = cluster.chars().next()?;
            let with = |wanted: &dyn Fn(&ttf_parser::Face<'_>) -> bool| {
                let has = |font: &SystemFont| {
                    let face =
                        |data: &[u8], index: u32| ttf_parser::Face::parse(data, index).is_ok_and(|face| wanted(&face));
                    self.database.with_face_data(font.id, face).unwrap_or(false)
                };
                self.fonts.iter().position(has)
            };
            let all = with(&|face| cluster.chars().all(|it| is_ignorable(it) || face.glyph_index(it).is_some()));
            all.or_else(|| with(&|face| face.glyph_index(first).is_some()))
        });
        index.map(|index| &self.fonts[index])
    }

    /// Returns the bytes of a font's file, and the index of the font in it.
    #[cfg(feature = "app")]
    pub(crate) fn file(&self, font: &SystemFont) -> Option<(Vec<u8>, u32)> {
        self.database.with_face_data(font.id, |data, index| (data.to_vec(), index))
    }
}

/// Returns the key by which fonts are ordered: upright regular ones before others, then by the name. The order of files
/// in a folder does not matter.
fn rank(face: &FaceInfo) -> impl Ord + use<> {
    let family = family(face);
    let path = match &face.source {
        Source::File(path) | Source::SharedFile(path, _) => path.clone(),
        Source::Binary(_) => Default::default(),
    };
    let is_special = ["Emoji", "Symbol", "Mono", "Serif"].iter().any(|word| family.contains(word)) || face.monospaced;
    (
        (face.style != Style::Normal, face.weight.0.abs_diff(Weight::NORMAL.0), face.stretch != Stretch::Normal),
        (is_special, !family.contains("Sans")),
        (family, path, face.index),
    )
}

/// Returns the name of a font's family, without quotes, which delimit it in an SVG.
fn family(face: &FaceInfo) -> String {
    face.families.first().map(|(name, _)| name.replace('\'', "")).unwrap_or_default()
}

/// Returns whether a character only directs the layout, so that nothing is drawn for it.
pub(crate) fn is_ignorable(character: char) -> bool {
    matches!(
        u32::from(character),
        0xad | 0x200b..=0x200f | 0x202a..=0x202e | 0x2060..=0x2069 | 0xfe00..=0xfe0f | 0xfeff | 0xe0100..=0xe01ef
    )
}

/// Returns a warning about characters that no font has; `None` without one.
pub fn blank_warning(blank: &BTreeSet<char>) -> Option<String> {
    const MOST: usize = 8;
    let named = |character: &char| format!("{character} (U+{:04X})", u32::from(*character));
    let mut named: Vec<String> = blank.iter().take(MOST).map(named).collect();
    named.extend((blank.len() > MOST).then(|| format!("{} more", blank.len() - MOST)));
    let (what, pronoun) = if blank.len() == 1 { ("character is", "it") } else { ("characters are", "them") };
    (!named.is_empty()).then(|| {
        let named = named.join(", ");
        format!(
            "no font on this machine has {named}: the {what} not shown. Install a font with {pronoun}, or use others"
        )
    })
}

/// Returns a text as it is written in XML.
pub(crate) fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars().filter(|character| is_allowed(*character)) {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            other => escaped.push(other),
        }
    }
    escaped
}

/// Returns a text as it is drawn: SVG shows white space as one space, and none at the ends.
pub(super) fn drawn(text: &str) -> String {
    let allowed: String = text.chars().filter(|character| is_allowed(*character)).collect();
    let words = allowed.split([' ', '\n', '\t']).filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join(" ")
}

/// Returns whether XML allows the character; it forbids most control characters.
fn is_allowed(character: char) -> bool {
    match character {
        '\n' | '\t' => true,
        other => !other.is_control() && !matches!(u32::from(other), 0xfffe | 0xffff),
    }
}

#[cfg(test)]
mod tests {
    use super::{markup, width, width_in_svg};

    #[test]
    fn texts_are_as_wide_as_they_are_drawn() {
        // No font has a glyph for this character.
        let unknown = char::from_u32(0x10_fffd).expect("a character");
        let labels = [
            "Adam",
            "FOCUS, γ 0.2",
            "10⁻³",
            "100\u{2009}000",
            "AVATAR To LT 1.1",
            "m\u{302} θ\u{302}",
            "fi ffl",
            "−5×10⁻⁷",
            "a & b < c",
            "two  spaces",
            " around ",
            "a\tb\nc",
            "bell\u{7}",
            &format!("{unknown}"),
            &format!("a{unknown}b"),
            "",
            "  ",
        ];
        for label in labels {
            assert_eq!(width(label, 8.0), 8.0 * width_in_svg(&markup(label)), "{label:?}");
        }
    }
}
