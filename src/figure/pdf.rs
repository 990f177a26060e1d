//! Figures as PDF files: lines and text as such, maps as images without smoothing.

use krilla::geom::Size;
use krilla::metadata::Metadata;
use krilla::page::PageSettings;
use krilla::{Document, SerializeSettings};
use krilla_svg::{SurfaceExt, SvgSettings};

use super::FigureError;
use super::svg::{CREATOR, Svg};

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
