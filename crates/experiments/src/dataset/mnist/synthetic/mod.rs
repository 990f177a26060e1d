//! Synthetic digits, for use where MNIST is not available.
//!
//! An image depends only on the seed and its number: it is the same on any machine and on any number of threads.

mod draw;
mod skeleton;

use rayon::prelude::*;
use valleyscope_engine::random::{Key, Stream};

use super::{Digits, Mnist, MnistSource, PIXELS, WHOLE};

/// The default seed of the synthetic digits.
pub const SYNTHETIC_SEED: u64 = 1998;

/// Draws as many images as MNIST has, drawn with a pen along skeletons of the digits that are bent, slanted, scaled and
/// jittered at random. They are not MNIST, and figures made with them allow no conclusion about it.
pub fn synthetic_digits(seed: u64) -> Mnist {
    let [train, test] = [0, 1].map(|part| digits(Key::new(seed).at(part), WHOLE[part as usize]));
    Mnist { train, test, source: MnistSource::Synthetic }
}

/// Returns whether these are the test images of the default synthetic digits, such as from a file of them.
pub(super) fn drew(test: &Digits) -> bool {
    let key = Key::new(SYNTHETIC_SEED).at(1);
    let labels = || (0..).zip(&test.labels).all(|(index, &found)| label(key.at(index)) == found);
    test.labels.len() == WHOLE[1] && labels() && digits(key, 1).images == test.images[..PIXELS]
}

fn digits(key: Key, count: usize) -> Digits {
    let labels: Vec<u8> = (0..count as u64).map(|index| label(key.at(index))).collect();
    let mut images = vec![0; count * PIXELS];
    images.par_chunks_exact_mut(PIXELS).zip(&labels).enumerate().for_each(|(index, (image, &label))| {
        draw::draw(label, key.at(index as u64), image);
    });
    Digits { images, labels }
}

/// Returns a random digit, all equally likely.
fn label(image: Key) -> u8 {
    Stream::new(image.at(0)).below(10) as u8
}
