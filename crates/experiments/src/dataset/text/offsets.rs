use valleyscope_engine::random::{Key, Stream};

/// The offsets of the sequences of batches among the tokens, uniformly distributed.
///
/// The offsets of a batch depend only on the key and the numbers of the step and the batch, so that a resumed run gets
/// the batches that it would have got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offsets {
    key: Key,
    /// Offsets are smaller than this.
    count: u64,
}

/// The key of evaluations, whatever the seed of a run.
const EVALUATION: u64 = 0x6576_616c;

impl Offsets {
    /// Returns the offsets at which a sequence of `context` tokens and the token after it fit into `tokens` tokens.
    ///
    /// # Panics
    ///
    /// Where there are not more tokens than in the context. A [`super::Corpus`] has more.
    pub fn new(key: Key, tokens: u64, context: usize) -> Offsets {
        let count = tokens.saturating_sub(context as u64);
        assert!(count > 0, "there are {tokens} tokens, too few for a context of {context}");
        Offsets { key, count }
    }

    /// Returns the offsets for evaluation, the same in every run and every time; their step is 0.
    pub(crate) fn for_evaluation(tokens: u64, context: usize) -> Offsets {
        Offsets::new(Key::new(EVALUATION), tokens, context)
    }

    /// Returns the offsets of the sequences of a step's batch; both are counted from 0.
    pub fn batch(&self, step: u64, batch: u64, sequences: usize) -> Vec<u64> {
        let mut stream = Stream::new(self.key.at(step).at(batch));
        (0..sequences).map(|_| stream.below(self.count)).collect()
    }
}
