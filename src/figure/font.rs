//! The bundled font, and the width of texts in it.

use std::sync::{Arc, LazyLock};

use resvg::usvg::{Options, fontdb};
use rustybuzz::{Direction, Face, UnicodeBuffer};

use super::xml;

pub(super) const FONT: &[u8] = include_bytes!("../../assets/fonts/ValleyscopeSans.otf");
pub(super) const FAMILY: &str = "Valleyscope Sans";

static FONTS: LazyLock<Arc<fontdb::Database>> = LazyLock::new(|| {
    let mut fonts = fontdb::Database::new();
    fonts.load_font_data(FONT.to_vec());
    Arc::new(fonts)
});

static FACE: LazyLock<Face<'static>> = LazyLock::new(|| Face::from_slice(FONT, 0).expect("the bundled font is a font"));

/// Returns the options for reading SVG: the bundled font and no other.
pub(super) fn options() -> Options<'static> {
    Options { font_family: FAMILY.to_owned(), fontdb: Arc::clone(&FONTS), ..Options::default() }
}

/// Returns the width of a text at a font size, in the units of the size: that of its glyphs as shaped when the SVG is
/// rendered, with kerning.
pub(super) fn width(text: &str, size: f64) -> f64 {
    // The size at which texts are measured, in single precision as in rendering: another rounding would move labels.
    const MEASURED_AT: f32 = 100.0;
    let mut buffer = UnicodeBuffer::new();
    buffer.push_str(&xml::drawn(text));
    buffer.set_direction(Direction::LeftToRight);
    let shaped = rustybuzz::shape(&FACE, &[], buffer);
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

#[cfg(test)]
mod tests {
    use resvg::usvg::{Node, Tree};

    use super::{options, width};
    use crate::figure::xml::escaped;

    /// Returns the width that the text has where an SVG is drawn.
    fn drawn(text: &str) -> f64 {
        let document = format!(
            r#"<svg xmlns="http://www.w3.org/2000/svg" width="1" height="1"><text font-size="100">{}</text></svg>"#,
            escaped(text)
        );
        let tree = Tree::from_str(&document, &options()).expect("an SVG");
        match tree.root().children().first() {
            Some(Node::Text(text)) => f64::from(text.bounding_box().width()) / 100.0,
            _ => 0.0,
        }
    }

    #[test]
    fn texts_are_as_wide_as_they_are_drawn() {
        // The font has no glyph for this character.
        let unknown = char::from_u32(0x512a).expect("a character");
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
            assert_eq!(width(label, 8.0), 8.0 * drawn(label), "{label:?}");
        }
    }
}
