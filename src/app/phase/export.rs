//! Exports figures and tables of a diagram, on a thread of their own.

use std::sync::mpsc::{Receiver, TryRecvError, channel};

use egui::{ColorImage, Context};

use super::picture::MapLook;
use super::titled_diagram::{ExportedDiagram, TitledDiagram};
use crate::app::figure_layout::FigureLayout;
use crate::app::live::{Action, Requests};
use crate::figure::{Figure, Map};
use crate::result::write_table;

/// The export formats of a diagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ExportKind {
    Png,
    Svg,
    Pdf,
    Csv,
    Npz,
    Spec,
    Clipboard,
}

impl ExportKind {
    pub(super) const ALL: [(ExportKind, &'static str); 7] = [
        (ExportKind::Png, "Figure as PNG…"),
        (ExportKind::Svg, "Figure as SVG…"),
        (ExportKind::Pdf, "Figure as PDF…"),
        (ExportKind::Csv, "Scores as CSV…"),
        (ExportKind::Npz, "Whole result as NPZ…"),
        (ExportKind::Spec, "Preset (RON)…"),
        (ExportKind::Clipboard, "Copy image"),
    ];

    fn extension(self) -> &'static str {
        match self {
            ExportKind::Png | ExportKind::Clipboard => "png",
            ExportKind::Svg => "svg",
            ExportKind::Pdf => "pdf",
            ExportKind::Csv => "csv",
            ExportKind::Npz => "npz",
            ExportKind::Spec => "ron",
        }
    }
}

/// The settings of a figure.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct MapFigure {
    pub figure_layout: FigureLayout,
    /// Draws the difference between any two optimizers if true, as in the paper's pairs figure, in place of the shown
    /// map.
    pub pairs: bool,
}

/// The exports in progress.
#[derive(Default)]
pub(super) struct DiagramExports {
    coming: Vec<Receiver<Made>>,
}

/// A finished export.
enum Made {
    /// The content, the suggested name, and the diagram if the file holds all of its results, so that it can be opened.
    File(Vec<u8>, String, Option<ExportedDiagram>),
    Picture(ColorImage),
    Nothing(String),
}

impl DiagramExports {
    /// Starts making a file's content; the user is asked for its path when it is ready.
    pub(super) fn begin(
        &mut self,
        ctx: &Context,
        titled: TitledDiagram,
        look: MapLook,
        kind: ExportKind,
        layout: MapFigure,
    ) {
        let (sender, receiver) = channel();
        let ctx = ctx.clone();
        std::thread::spawn(move || {
            let made = match content(&titled, look, kind, layout) {
                Ok(bytes) if kind == ExportKind::Clipboard => picture(&bytes).map_or_else(Made::Nothing, Made::Picture),
                Ok(bytes) => {
                    let exported = (kind == ExportKind::Npz).then(|| titled.to_export());
                    Made::File(bytes, format!("phase.{}", kind.extension()), exported)
                }
                Err(reason) => Made::Nothing(reason),
            };
            // The window may be closed.
            let _ = sender.send(made);
            ctx.request_repaint();
        });
        self.coming.push(receiver);
    }

    pub(super) fn poll(&mut self, ctx: &Context, requests: &mut Requests) {
        self.coming.retain(|coming| {
            let action = match coming.try_recv() {
                Ok(Made::File(bytes, suggested_name, Some(exported))) => {
                    Action::SaveDiagram { bytes, suggested_name, exported }
                }
                Ok(Made::File(bytes, suggested_name, None)) => Action::SaveBytes { bytes, suggested_name },
                Ok(Made::Picture(image)) => {
                    ctx.copy_image(image);
                    Action::Notify("The figure is on the clipboard.".to_owned())
                }
                Ok(Made::Nothing(reason)) => {
                    Action::Report { title: "The diagram was not exported".to_owned(), text: reason }
                }
                Err(error) => return error == TryRecvError::Empty,
            };
            requests.actions.push(action);
            false
        });
    }
}

/// Decodes a PNG file's pixels.
fn picture(png: &[u8]) -> Result<ColorImage, String> {
    let rgba = image::load_from_memory_with_format(png, image::ImageFormat::Png);
    let rgba = rgba.map_err(|error| error.to_string())?.into_rgba8();
    Ok(ColorImage::from_rgba_unmultiplied([rgba.width() as usize, rgba.height() as usize], &rgba))
}

fn content(titled: &TitledDiagram, look: MapLook, kind: ExportKind, layout: MapFigure) -> Result<Vec<u8>, String> {
    let result = titled.result();
    let figure = || {
        let result = titled.result_by(look.metric);
        let figure = match look.map {
            _ if layout.pairs => Figure::pairs(&[(&result, look.metric)]),
            Map::Winner { certainty } => Figure::winners(&result, look.metric, certainty),
            map => Figure::map(&result, look.metric, map),
        };
        figure.render(&layout.figure_layout.options).map_err(|error| error.to_string())
    };
    match kind {
        ExportKind::Png | ExportKind::Clipboard => {
            figure()?.to_png(layout.figure_layout.dpi).map_err(|error| error.to_string())
        }
        ExportKind::Svg => Ok(figure()?.to_string().into_bytes()),
        ExportKind::Pdf => figure()?.to_pdf().map_err(|error| error.to_string()),
        ExportKind::Csv => {
            let mut bytes = Vec::new();
            write_table(&mut bytes, &result.diagram).map_err(|error| error.to_string())?;
            Ok(bytes)
        }
        ExportKind::Npz => {
            let mut bytes = std::io::Cursor::new(Vec::new());
            result.write_arrays(&mut bytes).map_err(|error| error.to_string())?;
            Ok(bytes.into_inner())
        }
        ExportKind::Spec => Ok(result.preset().to_ron().into_bytes()),
    }
}
