//! The values between two ends, of an axis or of a tuned setting.

use crate::quantity::PointCount;
use crate::spacing::Spacing;
use crate::spec_error::{SpecError, broken};

/// Some values between two ends.
pub(super) struct ValueRange {
    pub from: f64,
    pub to: f64,
    pub count: PointCount,
    pub spacing: Spacing,
    pub is_whole: bool,
}

impl ValueRange {
    /// Returns the values, from the first end to the other.
    pub(super) fn values(&self) -> Vec<f64> {
        let values = spread(self.from, self.to, self.count.get(), self.spacing);
        if self.is_whole { values.into_iter().map(f64::round).collect() } else { values }
    }

    /// Returns the first fault of the fields, which are at this path. Messages call what has the values `owner`.
    pub(super) fn check(&self, path: &str, owner: &str) -> Result<(), SpecError> {
        let ValueRange { from, to, spacing, is_whole, .. } = *self;
        for (end, value) in [("from", from), ("to", to)] {
            if !value.is_finite() {
                return broken(format!("{path}.{end}"), format!("must be a finite number, found {value}"));
            }
            if is_whole && (value.fract() != 0.0 || value < 0.0) {
                return broken(format!("{path}.{end}"), format!("must be a whole number, found {value}"));
            }
            if !spacing.allows(value) {
                let has = if spacing == Spacing::Log { "positive values" } else { "values below 1" };
                let hint = format!("a logarithmic {owner} has only {has}; choose `spacing: Linear` or another range");
                return broken(format!("{path}.{end}"), format!("is {value}, and {hint}"));
            }
        }
        self.check_distances(path, owner)
    }

    /// Returns the first fault of the distances between the values.
    fn check_distances(&self, path: &str, owner: &str) -> Result<(), SpecError> {
        const WIDEST: f64 = 1e300;
        let ValueRange { from, to, count, spacing, is_whole } = *self;
        let too_far = |than: &str| {
            let hint = format!("further apart than {than}; choose ends that are nearer to each other");
            broken(format!("{path}.to"), format!("is {to}, and `{path}.from` is {from}, {hint}"))
        };
        let quotient = spacing.quotient([from, to]);
        if quotient.is_some_and(|quotient| !(1.0 / WIDEST..=WIDEST).contains(&quotient)) {
            return too_far(&format!("a logarithmic {owner} can span"));
        }
        if !(to - from).is_finite() {
            return too_far("the largest number");
        }
        if count.get() > 1 && from == to {
            let complaint = format!("is {to}, the same as `{path}.from`; its range must not be empty");
            return broken(format!("{path}.to"), complaint);
        }
        if is_whole && self.values().windows(2).any(|pair| pair[0] == pair[1]) {
            let hint = "the same whole number would come twice; choose a smaller count or a wider range";
            let count = count.get();
            return broken(format!("{path}.count"), format!("asks for {count} values from {from} to {to}, and {hint}"));
        }
        Ok(())
    }
}

/// Returns `count` numbers from `from` to `to`, both included; a single one is `from`.
pub(super) fn spread(from: f64, to: f64, count: usize, spacing: Spacing) -> Vec<f64> {
    let position = |index: usize| if count == 1 { 0.0 } else { index as f64 / (count - 1) as f64 };
    (0..count).map(|index| spacing.value([from, to], position(index))).collect()
}
