//! The kinds of exports, their options, and the files that tabs make of them.

use egui::ColorImage;
use image::RgbImage;
use image::imageops::{FilterType, resize};
use valleyscope_experiments::preset::LandscapePreset;

use super::files::{FileContent, Purpose};
use super::jobs::Progress;
use super::presets::file_stem;
use crate::app::landscape::animation_export::AnimationOptions;
use crate::app::landscape::picture::PictureOptions;
use crate::draw::{Figure, Format, Options};
use crate::export::NpzReader;
use crate::export::animation::AnimationFormat;

/// The largest number of rows and of columns of a table in the preview.
const ROWS: usize = 60;
const COLUMNS: usize = 12;

/// A kind of export.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ExportKind {
    Picture,
    Figure,
    Animation,
    WebPage,
    Data,
}

impl ExportKind {
    /// Returns the name, and what the kind is for.
    pub(super) fn texts(self) -> [&'static str; 2] {
        match self {
            ExportKind::Picture => ["Picture", "The shown step, in pixels"],
            ExportKind::Figure => ["Figure", "For a paper, as vectors"],
            ExportKind::Animation => ["Animation", "The run, step by step"],
            ExportKind::WebPage => ["Web page", "The lesson, to hand out"],
            ExportKind::Data => ["Data", "For other programs"],
        }
    }

    pub(super) fn formats(self, source: &dyn ExportSource) -> Vec<(FileFormat, &'static str)> {
        match self {
            ExportKind::Picture => vec![(FileFormat::Image(Format::Png), "")],
            // Vectors first, as a paper needs them.
            ExportKind::Figure => {
                [Format::Pdf, Format::Svg, Format::Png].map(|format| (FileFormat::Image(format), "")).to_vec()
            }
            ExportKind::Animation => AnimationFormat::ALL.map(|it| (FileFormat::Animation(it), "")).to_vec(),
            ExportKind::WebPage => vec![(FileFormat::Html, "")],
            ExportKind::Data => source.data(),
        }
    }
}

/// A format of files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FileFormat {
    Image(Format),
    Animation(AnimationFormat),
    Html,
    Csv,
    Npz,
    Ron,
    /// A folder of arrays.
    Npy,
}

impl FileFormat {
    fn extension(self) -> &'static str {
        match self {
            FileFormat::Image(format) => format.extension(),
            FileFormat::Animation(format) => format.extension(),
            FileFormat::Html => "html",
            FileFormat::Csv => "csv",
            FileFormat::Npz => "npz",
            FileFormat::Ron => "ron",
            FileFormat::Npy => "npy",
        }
    }

    pub(super) fn name(self) -> String {
        match self {
            FileFormat::Animation(format) => format.name().to_owned(),
            other => other.extension().to_uppercase(),
        }
    }
}

/// The options of a file.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ExportOptions {
    pub kind: ExportKind,
    pub format: FileFormat,
    /// The index of the chosen content among those of the kind.
    pub content: usize,
    /// Its name at the end of the file's name; empty where the kind has one content.
    pub content_name: &'static str,
    pub title: String,
    /// Whether the title was typed. A figure has its own title until then.
    pub is_title_typed: bool,
    pub picture: PictureOptions,
    pub figure: FigureOptions,
    pub animation: AnimationOptions,
    /// The room for the preview's picture, in pixels.
    pub preview_px: [u32; 2],
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct FigureOptions {
    pub has_title: bool,
    /// The width; `None` for the usual one of the figure.
    pub width_mm: Option<f64>,
    pub font_size: f64,
    /// The resolution of a PNG in dots per inch.
    pub dpi: f64,
}

impl ExportOptions {
    /// Makes a file of this content.
    pub(crate) fn made(&self, content: impl Into<FileContent>, preview: Preview, about: String) -> Made {
        let (mut stem, extension) = (file_stem(&self.title), self.format.extension());
        if !self.content_name.is_empty() {
            stem = format!("{stem}-{}", file_stem(self.content_name));
        }
        let suggested_name = if extension.is_empty() { stem } else { format!("{stem}.{extension}") };
        let purpose = Purpose::Save { content: content.into(), suggested_name };
        Made { purpose, preview, about, usual_width_mm: 0.0 }
    }

    /// Makes the file of a figure.
    pub(crate) fn figure(&self, figure: &Figure) -> Result<Made, String> {
        let FileFormat::Image(format) = self.format else { unreachable!("figures have formats of images") };
        let FigureOptions { has_title, width_mm, font_size, dpi } = self.figure;
        let usual_width_mm = figure.usual_width_mm();
        let options =
            Options { width_mm: width_mm.unwrap_or(usual_width_mm), font_size, title: has_title, ..Options::default() };
        let figure = if self.is_title_typed { figure.clone().titled(&self.title) } else { figure.clone() };
        let drawn = figure.render(&options).map_err(|error| error.to_string())?;
        let to_file = |format, dpi| drawn.to_file(format, dpi).map_err(|error| error.to_string());
        let [width_mm, height_mm] = [drawn.width_mm(), drawn.height_mm()];
        let [across, down] = self.preview_px.map(f64::from);
        let preview_dpi = 25.4 * (across / width_mm).min(down / height_mm);
        let picture = decoded(&to_file(Format::Png, preview_dpi.clamp(20.0, 600.0))?)?;
        let pixels = |mm: f64| (mm / 25.4 * dpi).round();
        let about = match format {
            Format::Png => format!("{} × {} pixels", pixels(width_mm), pixels(height_mm)),
            _ => format!("{width_mm:.0} × {height_mm:.0} mm"),
        };
        let file = to_file(format, dpi)?;
        Ok(Made { usual_width_mm, ..self.made(file, Preview::Frames(vec![picture]), about) })
    }

    /// Fits a picture into the preview's room.
    pub(crate) fn fitted(&self, picture: &RgbImage) -> ColorImage {
        let [across, down] = self.preview_px.map(|side| side.max(1) as f32);
        let [width, height] = [picture.width() as f32, picture.height() as f32];
        let scale = (across / width).min(down / height).min(1.0);
        let [width, height] = [width, height].map(|side| (scale * side).round().max(1.0) as u32);
        let small = resize(picture, width, height, FilterType::Triangle);
        ColorImage::from_rgb([width as usize, height as usize], small.as_raw())
    }
}

/// Decodes a PNG file's pixels.
pub(crate) fn decoded(png: &[u8]) -> Result<ColorImage, String> {
    let rgba = image::load_from_memory_with_format(png, image::ImageFormat::Png);
    let rgba = rgba.map_err(|error| error.to_string())?.into_rgba8();
    Ok(ColorImage::from_rgba_unmultiplied([rgba.width() as usize, rgba.height() as usize], &rgba))
}

/// A file that is ready to be saved.
pub(crate) struct Made {
    pub purpose: Purpose,
    pub preview: Preview,
    /// Its size in pixels, millimetres or frames.
    pub about: String,
    /// The usual width of a figure; 0 of other files.
    pub usual_width_mm: f64,
}

pub(crate) enum Preview {
    /// The picture, or some frames of an animation.
    Frames(Vec<ColorImage>),
    Rows(Vec<Vec<String>>),
    Text(String),
    /// The picture of a lesson's first step and the texts of all, with the speaker notes if they are what is exported.
    Lesson {
        lesson: Box<LandscapePreset>,
        picture: Option<ColorImage>,
        has_notes: bool,
    },
}

impl Preview {
    /// Shows the first rows of a table.
    pub(crate) fn csv(bytes: &[u8]) -> Preview {
        let text = String::from_utf8_lossy(&bytes[..bytes.len().min(1_000 * ROWS)]);
        let row = |line: &str| line.split(',').take(COLUMNS).map(|cell| cell.trim_matches('"').to_owned()).collect();
        Preview::Rows(text.lines().take(ROWS).map(row).collect())
    }

    /// Shows the names, types and shapes of arrays.
    pub(crate) fn npz(bytes: &[u8]) -> Preview {
        let mut rows = vec![["array", "type", "shape"].map(str::to_owned).to_vec()];
        if let Ok(mut reader) = NpzReader::new(std::io::Cursor::new(bytes)) {
            for name in reader.names().take(ROWS).collect::<Vec<_>>() {
                if let Ok((kind, shape)) = reader.type_and_shape(&name) {
                    let sides: Vec<String> = shape.iter().map(usize::to_string).collect();
                    rows.push(vec![name, kind, sides.join(" × ")]);
                }
            }
        }
        Preview::Rows(rows)
    }

    pub(super) fn pictures(&self) -> &[ColorImage] {
        match self {
            Preview::Frames(frames) => frames,
            Preview::Lesson { picture, .. } => picture.as_slice(),
            Preview::Rows(_) | Preview::Text(_) => &[],
        }
    }
}

/// A tab's content, as it was when the sheet opened.
pub(crate) trait ExportSource: Send + Sync {
    fn title(&self) -> String;

    /// The contents of a kind to choose from; empty where there is one.
    fn contents(&self, _kind: ExportKind) -> Vec<&'static str> {
        Vec::new()
    }

    /// The formats of data, and what a file of each holds.
    fn data(&self) -> Vec<(FileFormat, &'static str)>;

    /// Sets the options that follow from the content.
    fn suggest(&self, _options: &mut ExportOptions) {}

    /// The number of parts by which the progress of a file is measured; 0 without one.
    fn parts(&self, _options: &ExportOptions) -> u64 {
        0
    }

    /// Makes a file and its preview, or returns why there is none.
    fn make(&self, options: &ExportOptions, progress: &Progress) -> Result<Made, String>;
}

/// Formats the size of a file that is made.
pub(super) fn size(purpose: &Purpose) -> String {
    match purpose {
        Purpose::Save { content: FileContent::Bytes(bytes), .. } => match bytes.len() {
            small @ ..1_000 => format!("{small} bytes"),
            medium @ ..1_000_000 => format!("{:.0} kB", medium as f64 / 1e3),
            large => format!("{:.1} MB", large as f64 / 1e6),
        },
        _ => String::new(),
    }
}
