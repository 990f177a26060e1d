//! Animated files, videos and folders of pictures, written frame by frame.

mod apng;
mod difference;
mod encoder;
mod folder;
mod gif;
mod palette;
mod video;

pub use encoder::{AnimationFile, AnimationFormat, EncodeError, Encoder};
