//! Figures and tables of a diagram, made on a thread of their own.

use std::sync::mpsc::{Receiver, TryRecvError, channel};

use egui::{ColorImage, Context};

use super::picture::Look;
use super::titled::Titled;
use crate::app::live::{Action, Requests};
use crate::app::paper::Paper;
use crate::figure::{Figure, Map};
use crate::result::write_table;

/// What a diagram can be exported as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Png,
    Svg,
    Pdf,
    Csv,
    Npz,
    Spec,
    Clipboard,
}

impl Kind {
    pub const ALL: [(Kind, &'static str); 7] = [
        (Kind::Png, "Figure as PNG…"),
        (Kind::Svg, "Figure as SVG…"),
        (Kind::Pdf, "Figure as PDF…"),
        (Kind::Csv, "Scores as CSV…"),
        (Kind::Npz, "Whole result as NPZ…"),
        (Kind::Spec, "Preset (RON)…"),
        (Kind::Clipboard, "Copy image"),
    ];

    fn extension(self) -> &'static str {
        match self {
            Kind::Png | Kind::Clipboard => "png",
            Kind::Svg => "svg",
            Kind::Pdf => "pdf",
            Kind::Csv => "csv",
            Kind::Npz => "npz",
            Kind::Spec => "ron",
        }
    }
}

/// How a figure is made.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct FigureLayout {
    pub paper: Paper,
    /// The difference between any two optimizers, as in the paper's pairs figure, instead of the map shown.
    pub pairs: bool,
}

/// What is being made.
#[derive(Default)]
pub struct Exports {
    coming: Vec<Receiver<Made>>,
}

/// What was made.
enum Made {
    File(Vec<u8>, String),
    Picture(ColorImage),
    Nothing(String),
}

impl Exports {
    /// Makes a file's content; when it is ready, the user is asked where it goes.
    pub fn begin(&mut self, ctx: &Context, titled: Titled, look: Look, kind: Kind, layout: FigureLayout) {
        let (sender, receiver) = channel();
        let ctx = ctx.clone();
        std::thread::spawn(move || {
            let made = match content(&titled, look, kind, layout) {
                Ok(bytes) if kind == Kind::Clipboard => picture(&bytes).map_or_else(Made::Nothing, Made::Picture),
                Ok(bytes) => Made::File(bytes, format!("phase.{}", kind.extension())),
                Err(reason) => Made::Nothing(reason),
            };
            // Nobody listens any more once the window is closed.
            let _ = sender.send(made);
            ctx.request_repaint();
        });
        self.coming.push(receiver);
    }

    pub fn poll(&mut self, ctx: &Context, requests: &mut Requests) {
        self.coming.retain(|coming| {
            let action = match coming.try_recv() {
                Ok(Made::File(bytes, suggested_name)) => Action::SaveBytes { bytes, suggested_name },
                Ok(Made::Picture(image)) => {
                    ctx.copy_image(image);
                    Action::Notify("The figure is on the clipboard.".to_owned())
                }
                Ok(Made::Nothing(reason)) => Action::Report { title: "The diagram was not exported", text: reason },
                Err(error) => return error == TryRecvError::Empty,
            };
            requests.actions.push(action);
            false
        });
    }
}

/// A PNG file's pixels.
fn picture(png: &[u8]) -> Result<ColorImage, String> {
    let rgba = image::load_from_memory_with_format(png, image::ImageFormat::Png);
    let rgba = rgba.map_err(|error| error.to_string())?.into_rgba8();
    Ok(ColorImage::from_rgba_unmultiplied([rgba.width() as usize, rgba.height() as usize], &rgba))
}

fn content(titled: &Titled, look: Look, kind: Kind, layout: FigureLayout) -> Result<Vec<u8>, String> {
    let result = titled.result();
    let figure = || {
        let result = titled.result_by(look.metric);
        let figure = match look.map {
            _ if layout.pairs => Figure::pairs(&[(&result, look.metric)]),
            Map::Winner { certainty } => Figure::winners(&result, look.metric, certainty),
            map => Figure::map(&result, look.metric, map),
        };
        figure.render(&layout.paper.options).map_err(|error| error.to_string())
    };
    match kind {
        Kind::Png | Kind::Clipboard => figure()?.to_png(layout.paper.dpi).map_err(|error| error.to_string()),
        Kind::Svg => Ok(figure()?.to_string().into_bytes()),
        Kind::Pdf => figure()?.to_pdf().map_err(|error| error.to_string()),
        Kind::Csv => {
            let mut bytes = Vec::new();
            write_table(&mut bytes, &result.diagram).map_err(|error| error.to_string())?;
            Ok(bytes)
        }
        Kind::Npz => {
            let mut bytes = std::io::Cursor::new(Vec::new());
            result.write_arrays(&mut bytes).map_err(|error| error.to_string())?;
            Ok(bytes.into_inner())
        }
        Kind::Spec => Ok(result.preset().to_ron().into_bytes()),
    }
}
