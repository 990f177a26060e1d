//! A run as a column of a comparison.

use valleyscope_experiments::difference::SettingColumn;
use valleyscope_experiments::preset::{ListedSetting, SettingOwner};
use valleyscope_experiments::run::RunConfig;
use valleyscope_runs::{Better, Notes, RunFolder, RunReader, SettingChange, now};

use super::aliases::MetricAliases;
use super::column::{Column, Columns};
use super::facts::{CHANGED, FORK, OPTIMIZER, RunFacts, RunSettings, RunSource};
use super::value::Format::Exact;

/// Lists the results and the settings of a run that are in force, with the facts about it that its config leaves open:
/// the changes while it was trained, the data, the device, and the origin of a fork.
///
/// # Errors
///
/// Returns a sentence where neither the config nor the description in the events can be read.
pub fn run_column(run: &RunFolder, name: String) -> Result<SettingColumn, String> {
    let mut reader = RunReader::brief(run.clone());
    let status = reader.status(now()).map_err(|error| format!("cannot read {}: {error}", run.events().display()))?;
    let (history, settings) = (reader.history(), RunSettings::read(run));
    let (notes, aliases) = (&Notes::default(), &MetricAliases::default());
    let source = RunSource { run, settings: &settings, history, status: &status, notes, concerns: &[], aliases };
    let facts = RunFacts::of(source);
    let columns = Columns::of(&[&facts], true);
    let listed = |is_listed: fn(&Column) -> bool| -> Vec<ListedSetting> {
        let known = columns.iter().filter(|column| is_listed(column) && column.of(&facts).is_some());
        known.map(|column| ListedSetting::new(&column.field, &column.title, column.text(&facts))).collect()
    };
    let mut all = match settings.in_force(history) {
        Some(training) => training.listed_settings(),
        None if history.started().is_some() => {
            let name = facts.text(OPTIMIZER).unwrap_or_default().into_owned();
            let owner = SettingOwner { list: "runs", index: 0, name };
            let own = listed(|column| column.is_setting || column.field == OPTIMIZER).into_iter();
            own.map(|setting| ListedSetting { owner: Some(owner.clone()), ..setting }).collect()
        }
        None => {
            let reason = RunConfig::read(run).err().map(|error| format!(": {error}")).unwrap_or_default();
            return Err(format!("the settings of {} are not known{reason}", run.name()));
        }
    };
    // A command for other steps changes those of the run, and no setting of its training.
    let setting = all.iter_mut().find(|setting| setting.path == SettingChange::STEPS);
    if let Some((setting, steps)) = setting.zip(facts.get(SettingChange::STEPS)) {
        setting.value = Exact.text(steps).into_owned();
    }
    all.extend(listed(|column| [FORK, CHANGED].contains(&&*column.field) || column.field.starts_with("started.")));
    let results = listed(|column| column.is_usual && column.better != Better::Neither).into_iter();
    let results = results.map(|result| ListedSetting { path: String::new(), ..result }).collect();
    Ok(SettingColumn { name, folder: run.name(), results, settings: all })
}
