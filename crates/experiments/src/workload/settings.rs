use valleyscope_engine::optimizer::ShownSetting;

use crate::view::ticks::grouped;

/// The fields of all workloads that titles and legends omit or show otherwise: they distinguish replicates, do not
/// affect learning, or are among the [common ones](super::Common).
const OMITTED: [&str; 14] = [
    "name",
    "seed",
    "data",
    "device",
    "processes",
    "shard_optimizer",
    "log_every",
    "eval_every",
    "checkpoint_every",
    "keep_every",
    "not_finite",
    "optimizer",
    ShownSetting::LEARNING_RATE,
    "batch_size",
];

/// The meaning of the number of steps among the shown settings.
pub const STEPS: &str = "steps";

/// Returns the field at a path in a run as titles and legends show it; none if they omit it or show it otherwise.
pub(super) fn shown_field(path: &str, value: &str) -> Option<ShownSetting> {
    let words = match (path, value) {
        _ if OMITTED.contains(&path.split('.').next()?) => return None,
        (STEPS, _) => format!("{} steps", value.parse().map_or_else(|_| value.to_owned(), grouped)),
        ("precision", _) => value.to_lowercase(),
        (_, "true") => field_name(path),
        (_, "false") => format!("no {}", field_name(path)),
        _ => format!("{} {value}", field_name(path)),
    };
    Some(ShownSetting::new(path, words))
}

/// Returns the last name of a path, as words.
pub(super) fn field_name(path: &str) -> String {
    path.rsplit('.').next().unwrap_or(path).replace('_', " ")
}
