//! The bundled font, and how wide texts are in it.

use std::sync::{Arc, LazyLock};

use resvg::usvg::{Node, Options, Tree, fontdb};

pub(super) const FONT: &[u8] = include_bytes!("../../assets/fonts/ValleyscopeSans.otf");
pub(super) const FAMILY: &str = "Valleyscope Sans";

static FONTS: LazyLock<Arc<fontdb::Database>> = LazyLock::new(|| {
    let mut fonts = fontdb::Database::new();
    fonts.load_font_data(FONT.to_vec());
    Arc::new(fonts)
});

/// How SVG is read: with the bundled font and no other.
pub(super) fn options() -> Options<'static> {
    Options { font_family: FAMILY.to_owned(), fontdb: Arc::clone(&FONTS), ..Options::default() }
}

/// The width of a text at a font size, in the units of the size.
pub(super) fn width(text: &str, size: f64) -> f64 {
    const MEASURED_AT: f64 = 100.0;
    let document = format!(
        r#"<svg xmlns="http://www.w3.org/2000/svg" width="1" height="1"><text font-size="{MEASURED_AT}">{}</text></svg>"#,
        super::svg::escaped(text)
    );
    let tree = Tree::from_str(&document, &options());
    let root = tree.as_ref().ok().and_then(|tree| tree.root().children().first());
    match root {
        Some(Node::Text(text)) => f64::from(text.bounding_box().width()) * size / MEASURED_AT,
        _ => 0.0,
    }
}
