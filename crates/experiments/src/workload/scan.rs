use serde::{Deserialize, Serialize};
use valleyscope_engine::optimizer::RuleSpec;

/// The largest number of optimizers in a scan, and of batch sizes.
pub const MOST_SCANNED: usize = 64;
/// The largest number of trainings of one optimizer and batch size.
pub const LARGEST_STACK: usize = 10_000;

/// The reason why a scan is not trained by several processes.
pub const ONE_PROCESS_ONLY: &str =
    "expected a run of one training, found a scan, which several processes cannot train together";

/// An optimizer of a scan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScanOptimizer {
    /// The name in the legend; without it, the rule's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Red, green, blue; without it, the rule's colour, or another if that is too much like those of other optimizers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub color: Option<[u8; 3]>,
    #[serde(deserialize_with = "RuleSpec::deserialize_in_training")]
    pub rule: RuleSpec,
}

impl ScanOptimizer {
    pub fn label(&self) -> &str {
        self.name.as_deref().unwrap_or(self.rule.name())
    }
}
