//! Messages use words of the user.

/// Words of the program's source, of the RON reader and of serde, between bars.
const FOREIGN: &str = "struct |enum |variant|tuple|identifier|serde|RON|Option|Vec<|boolean|integer |u8|u32|u64|f64|usize|\
    i64|Expected |Unexpected|Invalid|Exceeded|Identifier|Preset`|Spec`|Spec |Settings|SymLog|Camera|SweepOptimizer|\
    ScanOptimizer|RuleSpec|RatedRule|RuleKind|LearningRates|LessonStep|FormatVersion|DataChoice|DeviceChoice|PointCount";

/// Checks that a message holds no such word, except those that are in the input itself.
#[track_caller]
pub fn expect_plain(message: &str, input: &str) {
    for word in FOREIGN.split('|') {
        assert!(!message.contains(word) || input.contains(word.trim()), "{word:?} in: {message}");
    }
}
