//! The bundled font, and the width of texts in it. Characters that it lacks are set in the system's fonts.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::{Arc, LazyLock};

use resvg::usvg::{FontFamily, FontResolver, Node, Options, Tree, fontdb};
use rustybuzz::{Direction, Face, GlyphBuffer, UnicodeBuffer};

use super::system_fonts::{SystemFonts, is_ignorable};
use super::xml::{self, escaped};

pub(super) const FONT: &[u8] = include_bytes!("../../assets/fonts/ValleyscopeSans.otf");
pub(super) const FAMILY: &str = "Valleyscope Sans";

static FONTS: LazyLock<Arc<fontdb::Database>> = LazyLock::new(|| {
    let mut fonts = fontdb::Database::new();
    fonts.load_font_data(FONT.to_vec());
    Arc::new(fonts)
});

static FACE: LazyLock<Face<'static>> = LazyLock::new(|| Face::from_slice(FONT, 0).expect("the bundled font is a font"));

/// Returns the options for reading SVG: the bundled font, and the system's only for a text that is set in them.
pub(super) fn options(uses_system: bool) -> Options<'static> {
    let options = Options { font_family: FAMILY.to_owned(), ..Options::default() };
    if !uses_system {
        return Options { fontdb: Arc::clone(&FONTS), ..options };
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
    let drawn = xml::drawn(text);
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
    let drawn = xml::drawn(text);
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

/// Returns whether the bundled font has a character.
fn has(character: char) -> bool {
    is_ignorable(character) || FACE.glyph_index(character).is_some()
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
