//! The axes of a parameter tensor that have a statistic, for rules that [need](super::Need::Axes) them.

use super::RuleKind;

/// The longest axis with a statistic. That of a vocabulary would not fit into memory.
pub const LONGEST_AXIS: i64 = 10_000;

impl RuleKind {
    /// The lengths of the axes of a parameter tensor of this shape that have a statistic: of the rows and of the
    /// columns of a matrix, and in place of the rows those of a vector's elements, which SOAP steps without a
    /// statistic.
    pub fn statistics(self, shape: &[i64]) -> [Option<i64>; 2] {
        let axes = match (self, shape) {
            (RuleKind::Shampoo | RuleKind::Soap, &[rows, columns]) => [Some(rows), Some(columns)],
            (RuleKind::Shampoo, _) => [Some(shape.iter().product()), None],
            _ => [None; 2],
        };
        axes.map(|axis| axis.filter(|length| *length <= LONGEST_AXIS))
    }
}
