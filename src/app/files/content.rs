//! The contents of saved files, and their writing.

use std::path::Path;
use std::sync::Arc;

use egui::ColorImage;
use valleyscope_experiments::preset::{Preset, PresetError};
use valleyscope_runs::atomic_file::{Overwrite, write_file};

use crate::app::editor::PresetDraft;
use crate::app::phase::ExportedDiagram;

/// The content to save.
#[derive(Clone, Debug)]
pub(crate) enum FileContent {
    Preset(Box<PresetDraft>),
    Text(String),
    Bytes(Arc<Vec<u8>>),
    /// A figure or a file with results of a phase diagram.
    Diagram(Arc<Vec<u8>>, ExportedDiagram),
    Picture(Arc<ColorImage>),
}

impl FileContent {
    pub(crate) fn extension(&self, suggested_name: &str) -> String {
        let of_name = Path::new(suggested_name).extension().and_then(|extension| extension.to_str());
        let fallback = match self {
            FileContent::Preset(_) => "ron",
            FileContent::Text(_) => "txt",
            FileContent::Bytes(_) | FileContent::Diagram(..) => "bin",
            FileContent::Picture(_) => "png",
        };
        of_name.unwrap_or(fallback).to_owned()
    }

    /// Returns the preset, if the content is one.
    pub(crate) fn preset(&self) -> Option<&Preset> {
        match self {
            FileContent::Preset(draft) => Some(&draft.preset),
            FileContent::Text(_) | FileContent::Bytes(_) | FileContent::Diagram(..) | FileContent::Picture(_) => None,
        }
    }
}

/// The reason why a file was not written.
pub(super) enum Refused {
    Exists,
    Failed(String),
}

/// Writes a file; replaces an existing one only if `overwrite` allows it.
pub(super) fn write(path: &Path, content: &FileContent, overwrite: Overwrite) -> Result<(), Refused> {
    let failed = |error: std::io::Error| Refused::Failed(format!("cannot write {}: {error}", path.display()));
    let refused = |error: std::io::Error| match error.kind() {
        std::io::ErrorKind::AlreadyExists => Refused::Exists,
        _ => failed(error),
    };
    if let Some(preset) = content.preset() {
        if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            std::fs::create_dir_all(folder).map_err(failed)?;
        }
        return preset.write(path, overwrite).map_err(|error| match error {
            PresetError::Exists { .. } => Refused::Exists,
            other => Refused::Failed(other.to_string()),
        });
    }
    match content {
        FileContent::Preset(_) => Ok(()),
        FileContent::Text(text) => write_file(path, overwrite, text.as_bytes()).map_err(refused),
        FileContent::Bytes(bytes) | FileContent::Diagram(bytes, _) => {
            write_file(path, overwrite, bytes).map_err(refused)
        }
        FileContent::Picture(picture) => {
            let png = png(picture).map_err(Refused::Failed)?;
            write_file(path, overwrite, &png).map_err(refused)
        }
    }
}

fn png(picture: &ColorImage) -> Result<Vec<u8>, String> {
    use image::ImageEncoder;
    let [width, height] = picture.size.map(|side| side as u32);
    let rgba: Vec<u8> = picture.pixels.iter().flat_map(egui::Color32::to_array).collect();
    let mut bytes = Vec::new();
    image::codecs::png::PngEncoder::new(&mut bytes)
        .write_image(&rgba, width, height, image::ExtendedColorType::Rgba8)
        .map_err(|error| format!("the picture of {width} × {height} pixels cannot be written as PNG: {error}"))?;
    Ok(bytes)
}
