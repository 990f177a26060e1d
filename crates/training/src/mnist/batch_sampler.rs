use valleyscope_engine::random::{Key, Stream};

/// The order in which a run uses the images: each epoch all of them once, reshuffled, in batches. The remainder at an
/// epoch's end is a smaller batch.
///
/// The order depends only on the key; the batch of any step can be computed.
#[derive(Clone, Debug)]
pub struct BatchSampler {
    key: Key,
    images: u32,
    batch: u32,
    epoch: u64,
    /// The images of the epoch, of which the first `shuffled` are in their final places.
    permutation: Vec<u32>,
    shuffled: usize,
    stream: Stream,
}

impl BatchSampler {
    /// Creates a sampler of batches of `batch` images out of `images`.
    pub fn new(key: Key, images: u32, batch: u32) -> BatchSampler {
        assert!(images > 0 && batch > 0, "there is nothing to order");
        let mut sampler = BatchSampler {
            key,
            images,
            batch,
            epoch: 0,
            permutation: Vec::new(),
            shuffled: 0,
            stream: Stream::new(key),
        };
        sampler.begin(0);
        sampler
    }

    /// Returns the images of the batch of a step, counted from 0.
    pub fn batch(&mut self, step: u64) -> &[u32] {
        let batches = u64::from(self.images.div_ceil(self.batch));
        let epoch = step / batches;
        if epoch != self.epoch {
            self.begin(epoch);
        }
        let start = (step % batches) as usize * self.batch as usize;
        let end = (start + self.batch as usize).min(self.images as usize);
        // Fisher–Yates shuffle, as far as needed.
        for place in self.shuffled..end {
            let other = place + self.stream.below(u64::from(self.images) - place as u64) as usize;
            self.permutation.swap(place, other);
        }
        self.shuffled = self.shuffled.max(end);
        &self.permutation[start..end]
    }

    fn begin(&mut self, epoch: u64) {
        self.epoch = epoch;
        self.stream = Stream::new(self.key.at(epoch));
        self.permutation = (0..self.images).collect();
        self.shuffled = 0;
    }
}
