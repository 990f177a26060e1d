use std::time::{Duration, Instant};

/// The interval between two lines.
const BETWEEN: Duration = Duration::from_secs(2);

/// Progress of long work in lines, at a limited rate.
pub(super) struct SparseLines<'a> {
    say: &'a mut dyn FnMut(&str),
    last: Option<Instant>,
}

impl<'a> SparseLines<'a> {
    pub(super) fn new(say: &'a mut dyn FnMut(&str)) -> SparseLines<'a> {
        SparseLines { say, last: None }
    }

    /// Reports something that happens once.
    pub(super) fn once(&mut self, line: &str) {
        (self.say)(line);
    }

    /// Reports that `done` of `total` bytes are done. The end is not reported.
    pub(super) fn at(&mut self, doing: &str, done: u64, total: u64) {
        if done < total && self.last.is_none_or(|last| last.elapsed() >= BETWEEN) {
            self.last = Some(Instant::now());
            let [done, total] = [done, total].map(|bytes| bytes as f64 / 1e6);
            (self.say)(&format!("{doing}: {done:.1} of {total:.1} MB"));
        }
    }
}
