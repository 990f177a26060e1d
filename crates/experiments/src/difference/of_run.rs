//! The settings of a run.

use valleyscope_runs::{Forked, RunFolder, RunHistory, RunReader, Started};

use super::listed::{ListedSetting, SettingOwner};
use crate::run::RunConfig;

/// Lists the settings of a run, and the facts about it that its config leaves open: the data, the device, the number of
/// steps after a command changed it, and the origin of a fork.
///
/// # Errors
///
/// Returns a sentence where neither the config nor the description in the events can be read.
pub fn run_settings(run: &RunFolder) -> Result<Vec<ListedSetting>, String> {
    let mut reader = RunReader::brief(run.clone());
    let polled = reader.poll().map_err(|error| format!("cannot read {}: {error}", run.events().display()));
    let history = reader.history();
    let mut settings = match (RunConfig::read(run), history.started()) {
        (Ok(config), _) => config.preset.listed_settings(),
        (Err(_), Some(started)) if polled.is_ok() => described(started),
        (Err(error), _) => return Err(format!("the settings of {} are not known: {error}", run.name())),
    };
    polled?;
    set_steps(&mut settings, history);
    settings.extend(facts(history));
    Ok(settings)
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
