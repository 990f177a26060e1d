//! The settings of a run.

use valleyscope_runs::{Better, Forked, MetricId, MetricInfo, RunFolder, RunHistory, RunReader, Started, Unit};

use super::listed::{ListedSetting, SettingOwner};
use super::table::SettingColumn;
use crate::run::RunConfig;
use crate::view::ticks::significant;

/// Lists the results and the settings of a run, with the facts about it that its config leaves open: the changes while it was trained,
/// the data, the device, the number of steps after a command changed it, and the origin of a fork.
///
/// # Errors
///
/// Returns a sentence where neither the config nor the description in the events can be read.
pub fn run_column(run: &RunFolder, name: String) -> Result<SettingColumn, String> {
    let mut reader = RunReader::brief(run.clone());
    let polled = reader.poll().map_err(|error| format!("cannot read {}: {error}", run.events().display()));
    let history = reader.history();
    let mut settings = match (RunConfig::read(run), history.started()) {
        (Ok(config), _) => config.preset.listed_settings(),
        (Err(_), Some(started)) if polled.is_ok() => {
            let others = run.other_settings().ok().flatten().unwrap_or_default().into_iter();
            let text = |value: &serde_json::Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            let others = others.map(|(path, value)| ListedSetting::new(path.clone(), path, text(&value)));
            described(started).into_iter().chain(others).collect()
        }
        (Err(error), _) => return Err(format!("the settings of {} are not known: {error}", run.name())),
    };
    polled?;
    set_steps(&mut settings, history);
    settings.extend(facts(history));
    Ok(SettingColumn { name, place: run.name(), results: results(history), settings })
}

/// Returns the last training loss, and the best values of evaluations.
fn results(history: &RunHistory) -> Vec<ListedSetting> {
    let loss = MetricId::LOSS.info();
    let last = history.latest(MetricId::LOSS).map(|value| (format!("Last {}", lower_first(&loss.title)), loss, value));
    let best = history.evaluated().into_iter().filter_map(|info| {
        let values = history.curve(info.metric()?).value.iter().copied().filter(|value| !value.is_nan());
        let best = match info.better {
            Better::Lower => values.reduce(f64::min)?,
            Better::Higher => values.reduce(f64::max)?,
            Better::Neither => return None,
        };
        Some((format!("Best {}", lower_first(&info.title)), info, best))
    });
    let value = |info: &MetricInfo, value: f64| match info.unit {
        Unit::Fraction => info.value(value),
        _ => significant(value, 4),
    };
    let results = last.into_iter().chain(best);
    results.map(|(label, info, number)| ListedSetting::new("", label, value(&info, number))).collect()
}

fn lower_first(title: &str) -> String {
    let mut chars = title.chars();
    chars.next().map_or_else(String::new, |first| first.to_lowercase().chain(chars).collect())
}

/// Returns the settings in the description of a run whose config cannot be read, such as an imported one.
fn described(started: &Started) -> Vec<ListedSetting> {
    let Started { optimizer, learning_rate, batch_size, seed, precision, .. } = started;
    let owner = SettingOwner { list: "runs", index: 0, name: optimizer.clone() };
    let text = |number: &Option<u64>| number.map(|number| number.to_string());
    let known = [
        ("optimizer", "Rule", Some(optimizer.clone()).filter(|name| !name.is_empty())),
        ("learning_rate", "Learning rate η", learning_rate.map(|rate| rate.to_string())),
        ("batch_size", "Batch size", text(batch_size)),
        ("seed", "Seed", text(seed)),
        ("precision", "Precision", Some(precision.clone()).filter(|name| !name.is_empty())),
    ];
    let listed = known.into_iter().filter_map(|(path, label, value)| Some(ListedSetting::new(path, label, value?)));
    listed.map(|setting| ListedSetting { owner: Some(owner.clone()), ..setting }).collect()
}

/// Sets the number of steps of a training to that of its history, which a command may have changed.
fn set_steps(settings: &mut [ListedSetting], history: &RunHistory) {
    let is_scan = history.started().is_none_or(|started| started.scan.is_some());
    let steps = history.steps().filter(|_| !is_scan);
    if let (Some(steps), Some(setting)) = (steps, settings.iter_mut().find(|setting| setting.path == "steps")) {
        setting.value = steps.to_string();
    }
}

/// Returns the facts that the events hold.
fn facts(history: &RunHistory) -> Vec<ListedSetting> {
    let Some(Started { data, fingerprint, device, version, .. }) = history.started() else { return Vec::new() };
    let fork = history.forked().map(|Forked { from_run, from_step, .. }| format!("{from_run} at step {from_step}"));
    let known = [
        ("changed", "Changed while it ran", Some(history.changes_in_words())),
        ("started.data", "Data that were read", Some(data.clone())),
        ("started.fingerprint", "Fingerprint of the data", Some(fingerprint.clone())),
        ("started.device", "Device that was used", Some(device.clone())),
        ("started.version", "Version of the worker", Some(version.clone())),
        ("forked", "Fork of", fork),
    ];
    let known = known.into_iter().filter_map(|(path, label, value)| Some((path, label, value?)));
    known
        .filter(|(.., value)| !value.is_empty())
        .map(|(path, label, value)| ListedSetting::new(path, label, value))
        .collect()
}
