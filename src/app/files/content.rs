//! What is saved, and how it is written.

use std::path::Path;
use std::sync::Arc;

use egui::ColorImage;

use crate::app::desk::Draft;
use crate::app::origins::WithOrigin;
use crate::export::{Overwrite, write_file};
use crate::preset::{Preset, PresetError, SweepPreset};

/// What is to be saved.
#[derive(Clone, Debug)]
pub enum Content {
    Preset(Box<Draft>),
    Sweep(Box<WithOrigin<SweepPreset>>),
    Training(Box<WithOrigin<Preset>>),
    Text(String),
    Bytes(Arc<Vec<u8>>),
    Picture(Arc<ColorImage>),
}

impl Content {
    pub fn extension(&self, suggested_name: &str) -> String {
        let of_name = Path::new(suggested_name).extension().and_then(|extension| extension.to_str());
        let fallback = match self {
            Content::Preset(_) | Content::Sweep(_) | Content::Training(_) => "ron",
            Content::Text(_) => "txt",
            Content::Bytes(_) => "bin",
            Content::Picture(_) => "png",
        };
        of_name.unwrap_or(fallback).to_owned()
    }

    /// The preset that it is, if it is one.
    pub fn preset(&self) -> Option<Preset> {
        match self {
            Content::Preset(draft) => Some(Preset::Landscape(draft.preset.clone())),
            Content::Sweep(draft) => Some(Preset::Sweep(draft.preset.clone())),
            Content::Training(draft) => Some(draft.preset.clone()),
            Content::Text(_) | Content::Bytes(_) | Content::Picture(_) => None,
        }
    }
}

/// Why a file was not written.
pub enum Refused {
    Exists,
    Failed(String),
}

/// Writes a file; one that exists is replaced only where `overwrite` says so.
pub fn write(path: &Path, content: &Content, overwrite: Overwrite) -> Result<(), Refused> {
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
        Content::Preset(_) | Content::Sweep(_) | Content::Training(_) => Ok(()),
        Content::Text(text) => write_file(path, overwrite, text.as_bytes()).map_err(refused),
        Content::Bytes(bytes) => write_file(path, overwrite, bytes).map_err(refused),
        Content::Picture(picture) => {
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
