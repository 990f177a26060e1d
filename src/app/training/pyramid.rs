//! A column of numbers that returns the smallest and the largest in any range at once.

use std::ops::Range;

const FANOUT: usize = 8;

/// Values in order, and above them levels that hold the smallest and largest of every [`FANOUT`], of every `FANOUT²`,
/// and so on. It only grows.
#[derive(Clone, Debug, Default)]
pub(super) struct Pyramid {
    values: Vec<f64>,
    /// The complete buckets, from fine to coarse.
    levels: Vec<Vec<[f64; 2]>>,
}

/// The extremes without a finite value.
const NOTHING: [f64; 2] = [f64::INFINITY, f64::NEG_INFINITY];

fn union(a: [f64; 2], b: [f64; 2]) -> [f64; 2] {
    [a[0].min(b[0]), a[1].max(b[1])]
}

fn extent_of(value: f64) -> [f64; 2] {
    if value.is_finite() { [value, value] } else { NOTHING }
}

impl Pyramid {
    pub(super) fn push(&mut self, value: f64) {
        self.values.push(value);
        if !self.values.len().is_multiple_of(FANOUT) {
            return;
        }
        let tail = &self.values[self.values.len() - FANOUT..];
        let mut bucket = tail.iter().copied().map(extent_of).fold(NOTHING, union);
        for level in 0.. {
            if level == self.levels.len() {
                self.levels.push(Vec::new());
            }
            let buckets = &mut self.levels[level];
            buckets.push(bucket);
            if !buckets.len().is_multiple_of(FANOUT) {
                return;
            }
            bucket = buckets[buckets.len() - FANOUT..].iter().copied().fold(NOTHING, union);
        }
    }

    pub(super) fn values(&self) -> &[f64] {
        &self.values
    }

    /// Returns the smallest and the largest finite value in a range; `None` without one.
    pub(super) fn extent(&self, range: Range<usize>) -> Option<[f64; 2]> {
        let Range { mut start, mut end } = range;
        let mut found = NOTHING;
        // Takes the incomplete ends on each level, until the rest consists of whole buckets of the next level.
        let mut level = 0;
        while start < end {
            let at =
                |index: usize| if level == 0 { extent_of(self.values[index]) } else { self.levels[level - 1][index] };
            while start < end && !start.is_multiple_of(FANOUT) {
                found = union(found, at(start));
                start += 1;
            }
            while start < end && !end.is_multiple_of(FANOUT) {
                end -= 1;
                found = union(found, at(end));
            }
            start /= FANOUT;
            end /= FANOUT;
            level += 1;
        }
        (found[0] <= found[1]).then_some(found)
    }
}

#[cfg(test)]
mod tests {
    use super::Pyramid;

    #[test]
    fn extents_equal_those_of_a_full_scan() {
        let mut pyramid = Pyramid::default();
        let value = |index: u64| match index.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40 {
            hash if hash.is_multiple_of(7) => f64::NAN,
            hash if hash.is_multiple_of(11) => f64::INFINITY,
            hash => hash as f64 - 8e6,
        };
        for length in 0..700_u64 {
            for start in [0, 1, 7, 8, 63, 64, 65, 500] {
                for end in [start, start + 1, length / 2, length] {
                    let (start, end) = (start as usize, end as usize);
                    if start > end || end > length as usize {
                        continue;
                    }
                    let finite: Vec<f64> =
                        pyramid.values()[start..end].iter().copied().filter(|v| v.is_finite()).collect();
                    let plain = finite.iter().copied().reduce(f64::min).zip(finite.iter().copied().reduce(f64::max));
                    assert_eq!(pyramid.extent(start..end), plain.map(|(low, high)| [low, high]), "{start}..{end}");
                }
            }
            pyramid.push(value(length));
        }
    }
}
