//! The shapes of a painter as SVG, with text as text, and the PNG and PDF files that are made from it.

use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::fmt::Write;
use std::ops::Range;
use std::path::Path;

use base64::Engine;
use base64::display::Base64Display;
use base64::prelude::BASE64_STANDARD;
use egui::epaint::{BandShape, CircleShape, ClippedShape, ColorMode, PathShape, RectShape, TextShape};
use egui::{
    Align, Color32, ColorImage, Context, ImageData, LayerId, Mesh, Painter, Pos2, RawInput, Rect, Shape, Stroke,
    TextureFilter, TextureId, ViewportId, pos2,
};
use image::codecs::png::PngEncoder;
use image::{ExtendedColorType, ImageEncoder};
use krilla::geom::Size;
use krilla::metadata::Metadata;
use krilla::page::PageSettings;
use krilla::{Document, SerializeSettings};
use krilla_svg::{SurfaceExt, SvgSettings};
use resvg::tiny_skia::{Color, Pixmap, Transform};
use resvg::usvg::Tree;
use valleyscope_experiments::view::Background;

use super::canvas::{Canvas, Style};
use super::fonts::{FAMILY, FONT, FallbackFonts, font_parts, install_font, svg_options};

/// A drawn figure. Its text form, by [`ToString`], is an SVG file with the font embedded.
#[derive(Clone, Debug)]
pub struct Svg {
    about: FigureMetadata,
    width_mm: f64,
    /// The size in points.
    size: [f64; 2],
    body: String,
    uses_system_fonts: bool,
    blank: BTreeSet<char>,
}

/// The metadata of a file.
#[derive(Clone, Debug)]
pub(super) struct FigureMetadata {
    pub title: String,
    /// Program version, precision and seed of each result.
    pub programs: Vec<String>,
    /// The presets that repeat the results.
    pub specs: Vec<String>,
}

/// The reason why a figure cannot be made.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum FigureError {
    #[error("{name} must be {expected}, found {found}")]
    OutOfRange { name: &'static str, expected: String, found: f64 },
    #[error(
        "{width_mm} mm is too narrow for this figure in {font_size} point; choose a larger width or a smaller font"
    )]
    TooNarrow { width_mm: f64, font_size: f64 },
    #[error(
        "a picture of {width} × {height} pixels is larger than can be drawn, which is {} million pixels; choose fewer dots \
         per inch or a smaller width", MAX_PIXELS / 1e6
    )]
    TooLarge { width: f64, height: f64 },
    #[error("the figure cannot be drawn: {0}")]
    Draw(String),
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

    /// The extension of its files.
    pub fn extension(self) -> &'static str {
        match self {
            Format::Png => "png",
            Format::Svg => "svg",
            Format::Pdf => "pdf",
        }
    }

    /// The format of a file's extension.
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

    /// The characters that no font on this machine has, which are left blank.
    pub fn blank(&self) -> &BTreeSet<char> {
        &self.blank
    }

    /// The contents of a file; `dpi` applies to PNG.
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

    fn tree(&self) -> Result<Tree, FigureError> {
        let mut document = String::new();
        self.write(&mut document, false).expect("a string takes all that is written");
        Tree::from_str(&document, &svg_options(self.uses_system_fonts))
            .map_err(|error| FigureError::Draw(error.to_string()))
    }
}

impl fmt::Display for Svg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(f, true)
    }
}

impl FigureMetadata {
    fn programs(&self) -> String {
        self.programs.join("; ")
    }

    /// The presets that repeat the results.
    fn description(&self) -> String {
        self.specs.join("\n")
    }
}

/// The area of a page before its height is known: shapes within it are not clipped.
const PAGE: Rect = Rect { min: Pos2::ZERO, max: pos2(1e6, 1e6) };
/// The largest side of an image, in pixels.
const MAX_SIDE: usize = 1 << 16;
/// The size of texts in the pixels in which they are laid out: the positions of letters are whole pixels.
const TEXT_PX: f32 = 128.0;

impl Svg {
    /// Draws a figure in a style on paper of this width. `draw` returns the height.
    pub(super) fn drawn(
        about: FigureMetadata,
        width_mm: f64,
        style: Style,
        draw: impl FnOnce(&Canvas) -> Result<f32, FigureError>,
    ) -> Result<Svg, FigureError> {
        let context = Context::default();
        install_font(&context);
        let fonts = FallbackFonts::install(&context, false);
        let mut input = RawInput { screen_rect: Some(PAGE), max_texture_side: Some(MAX_SIDE), ..RawInput::default() };
        input.viewports.entry(ViewportId::ROOT).or_default().native_pixels_per_point =
            Some((TEXT_PX / style.em).max(1.0));
        let (mut draw, mut height) = (Some(draw), None);
        let mut output = context.run_pass(input, |context| {
            if let Some(draw) = draw.take() {
                let painter = Painter::new(context.clone(), LayerId::background(), PAGE);
                height = Some(draw(&Canvas { painter, style }));
            }
        });
        let mut writer = Writer::default();
        for (id, deltas) in output.textures_delta.set.drain() {
            writer.images.extend(deltas.into_iter().map(|delta| (id, (delta.image, delta.options.magnification))));
        }
        output.textures_delta.clear();
        let height = height.expect("the pass has run")?;
        if style.background == Background::Dark {
            let fill = hex(Style::DARK_PAPER);
            writer.push(format_args!(r#"<rect width="100%" height="100%" fill="{fill}"/>"#));
        }
        writer.clipped(&output.shapes)?;
        let size = [width_mm * POINTS_PER_MM, f64::from(height)];
        let Writer { body, uses_system_fonts, .. } = writer;
        Ok(Svg { about, width_mm, size, body, uses_system_fonts, blank: fonts.take_blank() })
    }
}

/// Writes shapes as elements of SVG.
#[derive(Default)]
struct Writer {
    body: String,
    uses_system_fonts: bool,
    images: HashMap<TextureId, (ImageData, TextureFilter)>,
    /// The number of elements with names so far.
    named: usize,
}

/// The fill and the line of a path.
type PathStyle = (Color32, Stroke);

impl Writer {
    fn push(&mut self, element: fmt::Arguments<'_>) {
        writeln!(self.body, "{element}").expect("a string takes all that is written");
    }

    fn name(&mut self, kind: &str) -> String {
        self.named += 1;
        format!("{kind}{}", self.named)
    }

    /// Writes shapes, those within an area as a group that is clipped at its edges.
    fn clipped(&mut self, shapes: &[ClippedShape]) -> Result<(), FigureError> {
        for group in shapes.chunk_by(|one, other| one.clip_rect == other.clip_rect) {
            let area = group[0].clip_rect;
            if area != PAGE {
                let (id, corner) = (self.name("plot"), bounds(area));
                self.push(format_args!(r#"<clipPath id="{id}"><rect {corner}/></clipPath>"#));
                self.push(format_args!(r#"<g clip-path="url(#{id})">"#));
            }
            for ClippedShape { shape, .. } in group {
                self.shape(shape)?;
            }
            if area != PAGE {
                self.push(format_args!("</g>"));
            }
        }
        Ok(())
    }

    fn shape(&mut self, shape: &Shape) -> Result<(), FigureError> {
        match shape {
            Shape::Vec(shapes) => self.shapes(shapes)?,
            Shape::LineSegment { .. } | Shape::Path(_) => self.paths(std::slice::from_ref(shape)),
            Shape::Circle(CircleShape { center: Pos2 { x, y }, radius, fill, stroke }) => {
                let paint = paint(*fill, *stroke);
                self.push(format_args!(r#"<circle cx="{x:.3}" cy="{y:.3}" r="{radius:.3}"{paint}/>"#));
            }
            Shape::Rect(RectShape { rect, fill, stroke, .. }) => {
                self.push(format_args!("<rect {}{}/>", bounds(*rect), paint(*fill, *stroke)));
            }
            Shape::Text(text) => self.text(text),
            Shape::Mesh(mesh) => self.mesh(mesh)?,
            Shape::Band(BandShape { points, fill, .. }) => {
                let above = points.iter().map(|point| pos2(point.x, point.y.min));
                let below = points.iter().rev().map(|point| pos2(point.x, point.y.max));
                self.polygon(above.chain(below), &paint(*fill, Stroke::NONE));
            }
            // Figures have no others.
            Shape::Noop
            | Shape::Ellipse(_)
            | Shape::QuadraticBezier(_)
            | Shape::CubicBezier(_)
            | Shape::Callback(_) => {}
        }
        Ok(())
    }

    /// Writes shapes that belong together: neighbouring paths of one style, such as the dashes of a line, as one path.
    fn shapes(&mut self, shapes: &[Shape]) -> Result<(), FigureError> {
        for alike in shapes.chunk_by(|one, other| path_style(one).is_some() && path_style(one) == path_style(other)) {
            match path_style(&alike[0]) {
                Some(_) => self.paths(alike),
                None => self.shape(&alike[0])?,
            }
        }
        Ok(())
    }

    /// Writes paths of one style.
    fn paths(&mut self, paths: &[Shape]) {
        let Some((fill, stroke)) = path_style(&paths[0]) else { return };
        let paint = paint(fill, stroke);
        if let [Shape::Path(PathShape { points, closed: true, .. })] = paths {
            return self.polygon(points.iter().copied(), &paint);
        }
        let (mut data, mut last) = (String::new(), None);
        for path in paths {
            let (points, is_closed) = match path {
                Shape::LineSegment { points, .. } => (points.as_slice(), false),
                Shape::Path(path) => (path.points.as_slice(), path.closed),
                _ => continue,
            };
            // A line goes on where the one before it ends.
            let joined = usize::from(last == points.first().copied());
            for (index, at) in points.iter().enumerate().skip(joined) {
                let command = if index == 0 { 'M' } else { 'L' };
                write!(data, "{command}{:.3} {:.3}", at.x, at.y).expect("a string takes all that is written");
            }
            data += if is_closed { "Z" } else { "" };
            last = points.last().copied().filter(|_| !is_closed);
        }
        self.push(format_args!(r#"<path d="{data}"{paint} stroke-linejoin="round"/>"#));
    }

    fn polygon(&mut self, points: impl Iterator<Item = Pos2>, paint: &str) {
        let points = points.map(|at| format!("{:.3},{:.3}", at.x, at.y)).collect::<Vec<_>>().join(" ");
        self.push(format_args!(r#"<polygon points="{points}"{paint}/>"#));
    }

    /// Writes a picture, or a gradient of horizontal strips from below upwards.
    fn mesh(&mut self, mesh: &Mesh) -> Result<(), FigureError> {
        let (area, corner) = (mesh.calc_bounds(), bounds(mesh.calc_bounds()));
        if let Some((ImageData::Color(image), filter)) =
            self.images.get(&mesh.texture_id).filter(|_| mesh.vertices.len() == 4)
        {
            let data = BASE64_STANDARD.encode(png_of(image)?);
            let sharp = match filter {
                TextureFilter::Nearest => r#" image-rendering="pixelated" style="image-rendering:pixelated""#,
                TextureFilter::Linear => "",
            };
            self.push(format_args!(
                r#"<image {corner} preserveAspectRatio="none"{sharp} xlink:href="data:image/png;base64,{data}"/>"#
            ));
            return Ok(());
        }
        /// The strips of a mesh are finer than a viewer needs, which interpolates.
        const EACH: usize = 4;
        let id = self.name("colors");
        let strips = mesh.vertices.chunks_exact(2).step_by(EACH);
        let stops = strips.map(|ends| ((area.bottom() - ends[0].pos.y) / area.height(), hex(ends[0].color)));
        let stop = |(offset, color)| format!(r#"<stop offset="{}" stop-color="{color}"/>"#, number(offset));
        let stops: String = stops.map(stop).collect();
        self.push(format_args!(r#"<linearGradient id="{id}" x1="0" y1="1" x2="0" y2="0">{stops}</linearGradient>"#));
        self.push(format_args!(r#"<rect {corner} fill="url(#{id})"/>"#));
        Ok(())
    }

    fn text(&mut self, shape: &TextShape) {
        let (galley, turn) = (&shape.galley, shape.angle.to_degrees());
        let Some(section) = galley.job.sections.first() else { return };
        let color = shape.override_text_color.unwrap_or(section.format.color);
        let color = if color == Color32::PLACEHOLDER { shape.fallback_color } else { color };
        let fill = if color == Color32::BLACK { String::new() } else { format!(r#" fill="{}""#, hex(color)) };
        let anchor = match galley.job.halign {
            Align::Min => "start",
            Align::Center => "middle",
            Align::Max => "end",
        };
        for row in &galley.rows {
            let (Some(first), text) = (row.glyphs.first(), row.text()) else { continue };
            let start = if galley.job.halign == Align::Min { row.pos.x + first.pos.x } else { 0.0 };
            let at = pos2(start, row.pos.y + first.pos.y);
            let Pos2 { x, y } = shape.pos + egui::emath::Rot2::from_angle(shape.angle) * at.to_vec2();
            let turned =
                if turn == 0.0 { String::new() } else { format!(r#" transform="rotate({turn} {x:.3} {y:.3})""#) };
            let xml: String = font_parts(&text).into_iter().map(|part| self.text_part(&text, part)).collect();
            let size = section.format.font_id.size;
            self.push(format_args!(
                r#"<text x="{x:.3}" y="{y:.3}" font-size="{size:.3}" text-anchor="{anchor}"{fill}{turned}>{xml}</text>"#
            ));
        }
    }

    /// A part of a text as it is written, with the font of the system in which it is set.
    fn text_part(&mut self, text: &str, (range, family): (Range<usize>, Option<&str>)) -> String {
        let (text, Some(family)) = (escaped(&text[range.clone()]), family) else { return escaped(&text[range]) };
        self.uses_system_fonts = true;
        format!(r#"<tspan font-family="'{}',sans-serif">{text}</tspan>"#, escaped(family))
    }
}

/// The style of a path; `None` for another shape.
fn path_style(shape: &Shape) -> Option<PathStyle> {
    match shape {
        Shape::LineSegment { stroke, .. } => Some((Color32::TRANSPARENT, *stroke)),
        Shape::Path(PathShape { fill, stroke, .. }) => match stroke.color {
            ColorMode::Solid(color) => Some((*fill, Stroke::new(stroke.width, color))),
            ColorMode::UV(_) => None,
        },
        _ => None,
    }
}

/// The attributes of a fill and a line.
fn paint(fill: Color32, stroke: Stroke) -> String {
    let mut paint = match fill {
        Color32::TRANSPARENT => r#" fill="none""#.to_owned(),
        fill => format!(r#" fill="{}"{}"#, hex(fill), opacity("fill", fill)),
    };
    if !stroke.is_empty() {
        let (color, width) = (hex(stroke.color), number(stroke.width));
        paint += &format!(r#" stroke="{color}" stroke-width="{width}"{}"#, opacity("stroke", stroke.color));
    }
    paint
}

fn opacity(of: &str, color: Color32) -> String {
    match color.a() {
        u8::MAX => String::new(),
        alpha => format!(r#" {of}-opacity="{}""#, number(f32::from(alpha) / 255.0)),
    }
}

fn hex(color: Color32) -> String {
    let [red, green, blue, _] = color.to_srgba_unmultiplied();
    format!("#{red:02x}{green:02x}{blue:02x}")
}

fn number(value: f32) -> String {
    let digits = format!("{value:.3}");
    digits.trim_end_matches('0').trim_end_matches('.').to_owned()
}

fn bounds(area: Rect) -> String {
    let (corner, size) = (area.min, area.size());
    format!(r#"x="{:.3}" y="{:.3}" width="{:.3}" height="{:.3}""#, corner.x, corner.y, size.x, size.y)
}

/// An image as a PNG file, with opacity where it needs any: that is a second image in a PDF.
fn png_of(image: &ColorImage) -> Result<Vec<u8>, FigureError> {
    let channels = if image.pixels.iter().all(|pixel| pixel.is_opaque()) { 3 } else { 4 };
    let channel = |pixel: &Color32| pixel.to_srgba_unmultiplied().into_iter().take(channels);
    encoded(&image.pixels.iter().flat_map(channel).collect::<Vec<u8>>(), image.size.map(|side| side as u32))
}

/// The largest number of pixels of a picture, which take 400 MB while it is drawn.
const MAX_PIXELS: f64 = 1e8;
const MM_PER_INCH: f64 = 25.4;

impl Svg {
    /// The figure as a PNG file with `dpi` dots per inch: width in mm × dpi / 25.4 pixels wide.
    pub fn to_png(&self, dpi: f64) -> Result<Vec<u8>, FigureError> {
        if !(10.0..=4800.0).contains(&dpi) {
            return Err(FigureError::OutOfRange { name: "dpi", expected: "from 10 to 4800".to_owned(), found: dpi });
        }
        let [width, height] = [self.width_mm, self.height_mm()].map(|length| (length * dpi / MM_PER_INCH).round());
        let is_possible = width * height <= MAX_PIXELS;
        let pixmap = is_possible.then(|| Pixmap::new(width as u32, height as u32)).flatten();
        let mut pixmap = pixmap.ok_or(FigureError::TooLarge { width, height })?;
        pixmap.fill(Color::WHITE);
        let tree = self.tree()?;
        let scale = width as f32 / tree.size().width();
        resvg::render(&tree, Transform::from_scale(scale, scale), &mut pixmap.as_mut());
        let (size, mut rgb) = ([pixmap.width(), pixmap.height()], pixmap.take());
        for pixel in 0..rgb.len() / 4 {
            rgb.copy_within(4 * pixel..4 * pixel + 3, 3 * pixel);
        }
        rgb.truncate(rgb.len() / 4 * 3);
        self.png_file(&rgb, size, dpi).map_err(|error| FigureError::Draw(error.to_string()))
    }

    /// Writes pixels with their resolution and the metadata.
    fn png_file(&self, rgb: &[u8], [width, height]: [u32; 2], dpi: f64) -> Result<Vec<u8>, png::EncodingError> {
        let (mut file, about) = (Vec::new(), &self.about);
        let mut encoder = png::Encoder::new(&mut file, width, height);
        encoder.set_color(png::ColorType::Rgb);
        encoder.set_depth(png::BitDepth::Eight);
        encoder.set_compression(png::Compression::Fast);
        encoder.set_filter(png::Filter::Adaptive);
        let per_metre = (dpi / MM_PER_INCH * 1000.0).round() as u32;
        encoder.set_pixel_dims(Some(png::PixelDimensions { xppu: per_metre, yppu: per_metre, unit: png::Unit::Meter }));
        let texts = [about.title.clone(), CREATOR.to_owned(), about.programs(), about.description()];
        for (keyword, text) in ["Title", "Software", "Source", "Description"].into_iter().zip(texts) {
            encoder.add_itxt_chunk(keyword.to_owned(), text)?;
        }
        let mut writer = encoder.write_header()?;
        writer.write_image_data(rgb)?;
        writer.finish()?;
        Ok(file)
    }
}

/// Pixels of three channels, or of four with opacity, as a PNG file.
pub(crate) fn encoded(pixels: &[u8], [width, height]: [u32; 2]) -> Result<Vec<u8>, FigureError> {
    let mut png = Vec::new();
    let is_opaque = pixels.len() as u64 == 3 * u64::from(width) * u64::from(height);
    let color = if is_opaque { ExtendedColorType::Rgb8 } else { ExtendedColorType::Rgba8 };
    let written = PngEncoder::new(&mut png).write_image(pixels, width, height, color);
    written.map_err(|error| FigureError::Draw(error.to_string()))?;
    Ok(png)
}

impl Svg {
    /// The figure as a PDF file of a page that is as large as the figure, with the font embedded.
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

/// A text as it is written in XML.
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

/// Whether XML allows the character; it forbids most control characters.
fn is_allowed(character: char) -> bool {
    match character {
        '\n' | '\t' => true,
        other => !other.is_control() && !matches!(u32::from(other), 0xfffe | 0xffff),
    }
}
