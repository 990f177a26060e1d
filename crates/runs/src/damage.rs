//! Damage of a file of events: unreadable lines and missing lines.

use std::fmt;
use std::ops::RangeInclusive;

use super::line_crc::{self, LineCrc};

/// Numbers of lines, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LineNumbers(Vec<RangeInclusive<u64>>);

impl LineNumbers {
    fn add(&mut self, numbers: RangeInclusive<u64>) {
        match self.0.last_mut() {
            // Already counted.
            Some(last) if last.end() >= numbers.end() => {}
            Some(last) if last.end().checked_add(1) == Some(*numbers.start()) => {
                *last = *last.start()..=*numbers.end();
            }
            _ => self.0.push(numbers),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the number of lines.
    pub fn count(&self) -> u64 {
        self.0.iter().map(|numbers| (numbers.end() - numbers.start()).saturating_add(1)).fold(0, u64::saturating_add)
    }

    /// Returns the ranges of consecutive numbers.
    pub fn ranges(&self) -> &[RangeInclusive<u64>] {
        &self.0
    }
}

/// Writes such as `line 1`, or `lines 3, 7 to 9 and 12 more`.
impl fmt::Display for LineNumbers {
    fn fmt(&self, text: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SHOWN: usize = 5;
        let shown = self.0.iter().take(SHOWN).map(|numbers| match (numbers.start(), numbers.end()) {
            (first, last) if first == last => first.to_string(),
            (first, last) => format!("{first} to {last}"),
        });
        let noun = if self.count() == 1 { "line" } else { "lines" };
        write!(text, "{noun} {}", shown.collect::<Vec<_>>().join(", "))?;
        match LineNumbers(self.0.iter().skip(SHOWN).cloned().collect()).count() {
            0 => Ok(()),
            more => write!(text, " and {more} more"),
        }
    }
}

/// Lost lines of a run's events, counted from 1. An unreadable line has the number after that of the line before it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Damage {
    /// Lines that are not events, that have changed since they were written, or that are repeated.
    pub unreadable: LineNumbers,
    /// Missing lines. At the end of the file, missing lines can be found only if the lock records how many there were.
    pub missing: LineNumbers,
}

impl Damage {
    pub fn is_none(&self) -> bool {
        self.unreadable.is_empty() && self.missing.is_empty()
    }
}

/// Writes such as `line 1 cannot be read, lines 3, 7 to 9 are missing`.
impl fmt::Display for Damage {
    fn fmt(&self, text: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Damage { unreadable, missing } = self;
        if !unreadable.is_empty() {
            write!(text, "{unreadable} cannot be read")?;
        }
        if !missing.is_empty() {
            let comma = if unreadable.is_empty() { "" } else { ", " };
            let verb = if missing.count() == 1 { "is" } else { "are" };
            write!(text, "{comma}{missing} {verb} missing")?;
        }
        Ok(())
    }
}

/// The largest number of lines missing before a line. No worker wrote a line with a larger gap before it, and the next
/// lines could not be numbered from there.
const MOST_MISSING: u64 = 1 << 32;

/// Counts the lines of a file of events, starting with the first.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct LineCount {
    /// The number of the last line.
    last: u64,
    /// The number recorded in the last numbered line.
    recorded: u64,
    damage: Damage,
}

impl LineCount {
    /// Returns the number of the last line.
    pub(super) fn last(&self) -> u64 {
        self.last
    }

    pub(super) fn damage(&self) -> &Damage {
        &self.damage
    }

    /// Counts the next line, and returns whether its bytes are those that were written, as far as that can be checked.
    pub(super) fn admit(&mut self, line: &[u8]) -> bool {
        match line_crc::check(line) {
            LineCrc::Intact(number) if number > self.recorded && number.saturating_sub(self.last) <= MOST_MISSING => {
                let expected = self.last.saturating_add(1);
                // One damaged line may have become several, so the number may be below the count.
                if number > expected {
                    self.damage.missing.add(expected..=number - 1);
                }
                (self.last, self.recorded) = (number, number);
                true
            }
            LineCrc::Absent => {
                self.last = self.last.saturating_add(1);
                true
            }
            LineCrc::Intact(_) | LineCrc::Damaged => {
                self.last = self.last.saturating_add(1);
                self.refuse();
                false
            }
        }
    }

    /// Records that at least `written` lines were written, so that those after the last one are missing.
    pub(super) fn expect(&mut self, written: u64) {
        if written > self.last && written - self.last <= MOST_MISSING {
            self.damage.missing.add(self.last + 1..=written);
            self.last = written;
        }
    }

    /// Records that the last counted line is unreadable.
    pub(super) fn refuse(&mut self) {
        self.damage.unreadable.add(self.last..=self.last);
    }
}
