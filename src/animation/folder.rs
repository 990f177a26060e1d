//! Folders of pictures, one for each frame.

use std::fs::File;
use std::io::{self, BufWriter};
use std::path::Path;

use image::codecs::png::PngEncoder;
use image::{ExtendedColorType, ImageEncoder as _, ImageError, RgbImage};
use tempfile::TempDir;

use super::encoder::{AnimationFile, EncodeError, FrameWriter};

/// Writes frame_00001.png, frame_00002.png, … into a folder, which appears when they are complete.
pub(super) struct FolderWriter {
    file: AnimationFile,
    folder: TempDir,
    frames: u64,
}

impl FolderWriter {
    pub(super) fn begin(file: AnimationFile) -> Result<FolderWriter, EncodeError> {
        let mut builder = tempfile::Builder::new();
        builder.prefix(".animation-");
        // The user's umask determines who may read it.
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o777));
        let parent = file.target.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let folder = builder.tempdir_in(parent).map_err(|source| file.failed(source))?;
        Ok(FolderWriter { file, folder, frames: 0 })
    }
}

impl FrameWriter for FolderWriter {
    fn write(&mut self, frame: RgbImage) -> Result<(), EncodeError> {
        self.frames += 1;
        let name = format!("frame_{:05}.png", self.frames);
        let written = || -> Result<(), ImageError> {
            let mut writer = BufWriter::new(File::create(self.folder.path().join(&name))?);
            let (width, height) = frame.dimensions();
            PngEncoder::new(&mut writer).write_image(frame.as_raw(), width, height, ExtendedColorType::Rgb8)?;
            writer.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()?;
            Ok(())
        };
        written().map_err(|source| {
            let path = self.file.target.join(&name);
            match source {
                ImageError::IoError(source) => EncodeError::Write { path, source },
                source => EncodeError::Encode { path, reason: source.to_string() },
            }
        })
    }

    fn finish(self: Box<Self>) -> Result<(), EncodeError> {
        let FolderWriter { file, folder, .. } = *self;
        // An empty folder, such as one just made in a file dialog, is replaced; anything else stays.
        if file.target.exists() && std::fs::remove_dir(&file.target).is_err() {
            return Err(EncodeError::Exists(file.target));
        }
        std::fs::rename(folder.path(), &file.target).map_err(|source| file.failed(source))?;
        // It has been renamed, and is not to be removed.
        let _ = folder.keep();
        Ok(())
    }
}
