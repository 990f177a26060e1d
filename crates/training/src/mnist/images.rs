use tch::{Device, Kind, Tensor};
use valleyscope_engine::vectorized;

use crate::TrainError;
use crate::loops::{Number, numbers_mut, with_number};

/// Labelled images on a device.
///
/// On the processor they stay bytes, a quarter of the memory, and are converted when a batch is made.
#[derive(Debug)]
pub enum Images {
    Processor {
        pixels: Vec<u8>,
        labels: Vec<u8>,
        size: usize,
    },
    /// All images as numbers `[images, size]` and their labels `[images]`.
    Device {
        pixels: Tensor,
        labels: Tensor,
    },
}

// SAFETY: the tensors are only read after they have been made, which libtorch allows from many threads.
unsafe impl Sync for Images {}

/// Images for one step of a stack: `[models, batch, size]` and `[models, batch]`.
#[derive(Debug)]
pub struct Batch {
    pub images: Tensor,
    pub labels: Tensor,
}

impl Images {
    /// Creates images of `size` bytes each, 0 to 255, which are scaled to 0 to 1.
    pub fn new(pixels: &[u8], labels: &[u8], kind: Kind, device: Device) -> Result<Images, TrainError> {
        assert!(!labels.is_empty() && pixels.len().is_multiple_of(labels.len()), "each image has a label");
        let size = pixels.len() / labels.len();
        if device == Device::Cpu {
            return Ok(Images::Processor { pixels: pixels.to_vec(), labels: labels.to_vec(), size });
        }
        let count = labels.len() as i64;
        let bytes = Tensor::f_from_slice(pixels)?.f_to_device(device)?.f_view([count, size as i64])?;
        let pixels = bytes.f_to_kind(kind)?.f_div_scalar(255.0)?;
        let labels = Tensor::f_from_slice(labels)?.f_to_device(device)?.f_to_kind(Kind::Int64)?;
        Ok(Images::Device { pixels, labels })
    }

    pub fn count(&self) -> usize {
        match self {
            Images::Processor { labels, .. } => labels.len(),
            Images::Device { labels, .. } => labels.size()[0] as usize,
        }
    }

    /// Returns one batch for each model of a stack; `indices` lists them one model after another.
    pub fn batch(&self, indices: &[u32], models: usize, kind: Kind) -> Result<Batch, TrainError> {
        let (models_i, batch) = (models as i64, (indices.len() / models) as i64);
        match self {
            Images::Processor { pixels, labels, size } => {
                let shape = [models_i, batch, *size as i64];
                let mut images = Tensor::f_empty(shape, (kind, Device::Cpu))?;
                with_number!(kind, T => gather::<T>(pixels, *size, indices, numbers_mut(&mut images)));
                let chosen: Vec<i64> = indices.iter().map(|&index| i64::from(labels[index as usize])).collect();
                Ok(Batch { images, labels: Tensor::f_from_slice(&chosen)?.f_view([models_i, batch])? })
            }
            Images::Device { pixels, labels } => {
                let indices: Vec<i64> = indices.iter().map(|&index| i64::from(index)).collect();
                let indices = Tensor::f_from_slice(&indices)?.f_to_device(pixels.device())?;
                let images = pixels.f_index_select(0, &indices)?.f_view([models_i, batch, -1])?;
                Ok(Batch { images, labels: labels.f_index_select(0, &indices)?.f_view([models_i, batch])? })
            }
        }
    }

    /// Returns consecutive images as a batch for a single model.
    pub fn range(&self, range: std::ops::Range<usize>, kind: Kind) -> Result<Batch, TrainError> {
        match self {
            Images::Processor { .. } => {
                self.batch(&(range.start as u32..range.end as u32).collect::<Vec<_>>(), 1, kind)
            }
            Images::Device { pixels, labels } => {
                let (start, length) = (range.start as i64, range.len() as i64);
                Ok(Batch {
                    images: pixels.f_narrow(0, start, length)?.f_unsqueeze(0)?,
                    labels: labels.f_narrow(0, start, length)?.f_unsqueeze(0)?,
                })
            }
        }
    }
}

vectorized! {
    fn gather<T: Number>(pixels: &[u8], size: usize, indices: &[u32], out: &mut [T]) {
        for (&index, out) in indices.iter().zip(out.chunks_exact_mut(size)) {
            let image = &pixels[index as usize * size..][..size];
            for (out, &byte) in out.iter_mut().zip(image) {
                *out = T::from_byte(byte) / T::splat(255.0);
            }
        }
    }
}
