//! Parts of a sweep that are computed separately.
//!
//! Each pixel, the costliest first, is assigned to the cheapest part so far. So parts differ by one pixel at most, and
//! each is spread over the diagram.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fmt::{self, Display};
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::spec::SweepSpec;

/// A part of a sweep's pixels: its number, counted from 1, and the number of parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct SweepPart {
    count: u32,
    number: u32,
}

/// Why a text is not a part.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PartError {
    #[error("expected a part and the number of parts, such as 3/8, found {0:?}")]
    NoPart(String),
    #[error(
        "expected a number before the slash, such as 3/8, found {0:?}; the variable that names a job of an array is set only \
         in that job"
    )]
    NoNumber(String),
    #[error(
        "expected a part from 1 to {count}, found {found}; parts are counted from 1: for SLURM that is --array=1-{count}, \
         and where jobs are counted from 0, add 1"
    )]
    Outside { found: u64, count: u32 },
    #[error("expected from 1 to {most} parts, found {found}")]
    WrongCount { found: u64, most: u32 },
}

impl SweepPart {
    /// The largest number of parts.
    pub(crate) const MOST: u32 = 1_000_000;

    pub fn number(self) -> u32 {
        self.number
    }

    /// Returns the number of parts.
    pub fn count(self) -> u32 {
        self.count
    }

    /// Lists all parts of a sweep with `count` parts, in order.
    pub fn all(count: u32) -> impl Iterator<Item = SweepPart> {
        (1..=count).map(move |number| SweepPart { count, number })
    }

    /// Returns the number of the part of each pixel, row by row, for `count` parts.
    pub fn numbers(count: u32, spec: &SweepSpec) -> Vec<u32> {
        let cost = spec.costs();
        let [rows, columns] = spec.shape();
        let costs: Vec<u64> = (0..rows * columns).map(|index| cost([index / columns, index % columns])).collect();
        SweepPart::divide(count, &costs)
    }

    /// Returns the number of the part of each piece of work, by their costs, for `count` parts.
    ///
    /// Each piece, the costliest first, is assigned to the cheapest part so far, the first of equals. So parts differ
    /// in cost by that of one piece at most, and with equal costs, neighbours are in different parts.
    pub fn divide(count: u32, costs: &[u64]) -> Vec<u32> {
        let mut order: Vec<usize> = (0..costs.len()).collect();
        order.sort_by_key(|&index| Reverse(costs[index]));
        let mut cheapest: BinaryHeap<_> = (1..=count).map(|number| Reverse((0_u128, number))).collect();
        let mut numbers = vec![0; order.len()];
        for index in order {
            let Reverse((so_far, number)) = cheapest.pop().expect("there are parts");
            numbers[index] = number;
            cheapest.push(Reverse((so_far + u128::from(costs[index]), number)));
        }
        numbers
    }

    /// Returns the stem of the names of the part's files and folders, such as `part-3-of-8`.
    pub fn stem(self) -> String {
        format!("part-{}-of-{}", self.number, self.count)
    }

    /// Returns whether this may be the stem of a part's names.
    pub fn is_stem(name: &str) -> bool {
        name.strip_prefix("part-").is_some_and(|rest| rest.contains("-of-"))
    }
}

impl FromStr for SweepPart {
    type Err = PartError;

    fn from_str(text: &str) -> Result<SweepPart, PartError> {
        let no_part = || PartError::NoPart(text.to_owned());
        let (number, count) = text.split_once('/').ok_or_else(no_part)?;
        if number.is_empty() {
            return Err(PartError::NoNumber(text.to_owned()));
        }
        let [number, count] = [number, count].map(|digits| digits.parse::<u64>().map_err(|_| no_part()));
        let (number, count) = (number?, count?);
        let (most, wrong) = (SweepPart::MOST, |found| PartError::WrongCount { found, most: SweepPart::MOST });
        let count = u32::try_from(count).ok().filter(|count| (1..=most).contains(count)).ok_or_else(|| wrong(count))?;
        let inside = u32::try_from(number).ok().filter(|number| (1..=count).contains(number));
        let number = inside.ok_or(PartError::Outside { found: number, count })?;
        Ok(SweepPart { count, number })
    }
}

impl TryFrom<String> for SweepPart {
    type Error = PartError;

    fn try_from(text: String) -> Result<SweepPart, PartError> {
        text.parse()
    }
}

impl From<SweepPart> for String {
    fn from(part: SweepPart) -> String {
        part.to_string()
    }
}

impl Display for SweepPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.number, self.count)
    }
}
