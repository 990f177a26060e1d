//! The axes of a parameter tensor that have a statistic, for rules that [need](super::Need::Axes) them.

use super::{RuleKind, RuleSpec};

/// The longest axis with a statistic. That of a vocabulary would not fit into memory.
pub const LONGEST_AXIS: i64 = 10_000;

impl RuleSpec {
    /// The lengths of the axes of a parameter tensor of this shape that have a statistic: of the rows and of the
    /// columns of a matrix, and in place of the rows those of a vector's elements, which SOAP steps without a
    /// statistic unless `precondition_1d` is on.
    pub fn statistics(&self, shape: &[i64]) -> [Option<i64>; 2] {
        let has_of_vectors = match self.kind() {
            RuleKind::Soap => self.choice("precondition_1d").is_some_and(|vectors| vectors.key == "On"),
            kind => kind == RuleKind::Shampoo,
        };
        let axes = match (self.kind(), shape) {
            (RuleKind::Shampoo | RuleKind::Soap, &[rows, columns]) => [Some(rows), Some(columns)],
            _ if has_of_vectors => [Some(shape.iter().product()), None],
            _ => [None; 2],
        };
        axes.map(|axis| axis.filter(|length| *length <= LONGEST_AXIS))
    }
}
