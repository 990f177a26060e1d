//! Checks that messages use only words that a user knows.

/// Words of the program's source, of the RON reader and of serde, between bars.
const FOREIGN: &str = "struct |enum |variant|tuple|identifier|serde|RON|Option|Vec<|boolean|integer |u8|u32|u64|f64|usize|\
    i64|Expected |Unexpected|Invalid|Exceeded|Identifier|Preset`|Spec`|Spec |Settings|SymLog|Camera|SweepOptimizer|\
    ScanOptimizer|RuleSpec|RatedRule|RuleKind|LearningRates|LessonStep|Claim|Comparison|FormatVersion|DataChoice|\
    DeviceChoice|PointCount";

/// Checks that a message contains no word of the source, except for those in the input itself.
#[track_caller]
pub fn expect_plain(message: &str, input: &str) {
    for word in FOREIGN.split('|') {
        assert!(!message.contains(word) || input.contains(word.trim()), "{word:?} in: {message}");
    }
}
