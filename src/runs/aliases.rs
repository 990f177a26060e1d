//! The names under which metrics are shown, and proposals of metrics to be shown together.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use valleyscope_runs::atomic_file::{Overwrite, write_file};
use valleyscope_runs::plain_file::{self, Links};
use valleyscope_runs::{Better, MetricId, MetricInfo};

/// The largest file of aliases, in bytes.
const MOST_BYTES: u64 = 1 << 20;

/// The number of metrics that are proposed to be shown together with another.
const MOST_PROPOSED: usize = 12;

/// The likeness of names, from 0 to 1, from which metrics are proposed though their better directions differ.
const SIMILAR: f64 = 0.5;

/// The names under which metrics are shown, by their names in the events of runs. The user's choice counts for the
/// plots of the window, that of a command for its columns.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct MetricAliases(BTreeMap<String, String>);

impl MetricAliases {
    /// The user's file of aliases, if the system has a folder for settings.
    pub fn file_of_user() -> Option<PathBuf> {
        Some(directories::ProjectDirs::from("", "", "valleyscope")?.config_dir().join("metrics.ron"))
    }

    /// Reads a file of aliases; a missing file has none.
    ///
    /// # Errors
    ///
    /// Returns a sentence with the file, what was expected and what was found.
    pub fn read(file: &Path) -> Result<MetricAliases, String> {
        let failed = |error: &dyn std::fmt::Display| {
            let expected =
                r#"expected the names of metrics with those under which to show them, {"val/loss": "val_loss"}"#;
            format!("cannot read {}: {expected}: {error}", file.display())
        };
        let text = match plain_file::read_text(file, Links::Followed, MOST_BYTES) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(MetricAliases::default()),
            Err(error) => return Err(failed(&error)),
        };
        let read: BTreeMap<String, String> = ron::from_str(&text).map_err(|error| failed(&error))?;
        let mut aliases = MetricAliases::default();
        for (name, shown) in read {
            aliases.set(&name, &shown).map_err(|error| failed(&error))?;
        }
        Ok(aliases)
    }

    pub fn write(&self, file: &Path) -> io::Result<()> {
        if let Some(folder) = file.parent() {
            std::fs::create_dir_all(folder)?;
        }
        let text = ron::ser::to_string_pretty(self, ron::ser::PrettyConfig::new().new_line("\n"))
            .expect("texts hold nothing that RON cannot express");
        write_file(file, Overwrite::Yes, (text + "\n").as_bytes())
    }

    /// Shows a metric under another name, with all that is shown under its own.
    ///
    /// # Errors
    ///
    /// Returns a sentence about a name that no metric can have.
    pub fn set(&mut self, name: &str, shown: &str) -> Result<(), String> {
        for name in [name, shown] {
            if MetricId::named(name).is_none() {
                return Err(format!("expected the name of a metric, such as val_loss, found `{name}`"));
            }
        }
        let shown = self.0.get(shown).cloned().unwrap_or_else(|| shown.to_owned());
        self.0.values_mut().filter(|other| *other == name).for_each(|other| other.clone_from(&shown));
        self.0.insert(name.to_owned(), shown);
        self.0.retain(|name, shown| name != shown);
        Ok(())
    }

    /// Shows a metric under its own name again.
    pub fn remove(&mut self, name: &str) {
        self.0.remove(name);
    }

    /// Lists the metrics that are shown under the name of another one.
    pub fn shown_as<'a>(&'a self, shown: &'a str) -> impl Iterator<Item = &'a str> {
        self.0.iter().filter(move |(_, other)| *other == shown).map(|(name, _)| name.as_str())
    }

    /// The metrics of a run with their descriptions as they are shown. Where the run also logs the metric under whose
    /// name another one would be shown, both keep their own names.
    pub fn apply(&self, metrics: Vec<MetricInfo>) -> Vec<(MetricId, MetricInfo)> {
        let names = metrics.iter().map(|info| info.name.clone());
        let mut taken: BTreeSet<String> = names.filter(|name| !self.0.contains_key(name)).collect();
        let shown = |info: MetricInfo| {
            let metric = info.metric()?;
            let Some(shown) = self.0.get(&info.name).filter(|shown| taken.insert((*shown).clone())) else {
                return Some((metric, info));
            };
            let known = MetricId::named(shown)?.info();
            let (better, source) =
                if known.better == Better::Neither { (info.better, info.source) } else { (known.better, known.source) };
            Some((metric, MetricInfo { name: shown.clone(), title: known.title, better, source, ..info }))
        };
        metrics.into_iter().filter_map(shown).collect()
    }
}

/// The metrics that may be shown together with another one, those of the most similar names first: of the same unit,
/// with the same better direction or a similar name, and logged by no run that logs the other, too.
pub fn proposals<'m>(of: &MetricInfo, all: &'m [MetricInfo], runs: &[&[MetricInfo]]) -> Vec<&'m MetricInfo> {
    let has = |run: &&&[MetricInfo], name: &str| run.iter().any(|info| info.name == name);
    let are_together = |name: &str| runs.iter().any(|run| has(&run, &of.name) && has(&run, name));
    let words = |name: &str| name.to_lowercase().replace(|c: char| !c.is_alphanumeric(), " ");
    let likeness = |info: &MetricInfo| strsim::normalized_damerau_levenshtein(&words(&info.name), &words(&of.name));
    let is_alike = |info: &MetricInfo| info.better == of.better || likeness(info) > SIMILAR;
    let fits = |info: &&MetricInfo| {
        info.name != of.name && info.unit == of.unit && is_alike(info) && !are_together(&info.name)
    };
    let mut found: Vec<&MetricInfo> = all.iter().filter(fits).collect();
    found.sort_by(|a, b| likeness(b).total_cmp(&likeness(a)));
    found.truncate(MOST_PROPOSED);
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn infos(names: &[&str]) -> Vec<MetricInfo> {
        names.iter().map(|name| MetricId::named(name).expect("a name").info()).collect()
    }

    fn shown(aliases: &MetricAliases, names: &[&str]) -> Vec<String> {
        aliases.apply(infos(names)).into_iter().map(|(_, info)| info.name).collect()
    }

    #[test]
    fn metrics_are_shown_under_one_name_unless_a_run_logs_both() {
        let mut aliases = MetricAliases::default();
        aliases.set("test_loss", "val/loss").expect("names");
        aliases.set("val/loss", "val_loss").expect("names");
        assert_eq!(shown(&aliases, &["loss", "test_loss"]), ["loss", "val_loss"]);
        assert_eq!(shown(&aliases, &["val/loss"]), ["val_loss"]);
        assert_eq!(shown(&aliases, &["test_loss", "val_loss"]), ["test_loss", "val_loss"]);
        assert_eq!(shown(&aliases, &["test_loss", "val/loss"]), ["val_loss", "val/loss"]);
        assert_eq!(aliases.apply(infos(&["val/loss"]))[0].1.title, "Validation loss");
        // The other way round, the first name is its own again.
        aliases.set("val_loss", "test_loss").expect("names");
        assert_eq!(shown(&aliases, &["val_loss"]), ["val_loss"]);
        aliases.remove("test_loss");
        assert_eq!(aliases.shown_as("val_loss").collect::<Vec<_>>(), ["val/loss"]);
        assert!(aliases.set("a name", "time").is_err());
    }

    #[test]
    fn aliases_are_written_and_read_and_a_mistake_names_the_file() {
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        let file = folder.path().join("settings/metrics.ron");
        assert_eq!(MetricAliases::read(&file), Ok(MetricAliases::default()));
        let mut aliases = MetricAliases::default();
        aliases.set("val/loss", "val_loss").expect("names");
        aliases.write(&file).expect("it can be written");
        assert_eq!(MetricAliases::read(&file).as_ref(), Ok(&aliases));
        std::fs::write(&file, "{\"val/loss\": 3}").expect("it can be written");
        let error = MetricAliases::read(&file).expect_err("no name");
        assert!(error.contains("metrics.ron") && error.contains("\"val/loss\": \"val_loss\""), "{error}");
    }

    #[test]
    fn similar_names_are_proposed_first() {
        let [one, two] = [infos(&["loss", "test_loss", "test_accuracy"]), infos(&["loss", "val_loss", "grad_norm"])];
        let all = infos(&["loss", "grad_norm", "val_loss", "test_loss", "test_accuracy"]);
        let names = |of: &str| -> Vec<String> {
            let of = &infos(&[of])[0];
            proposals(of, &all, &[&one, &two]).iter().map(|info| info.name.clone()).collect()
        };
        assert_eq!(names("test_loss"), ["val_loss"]);
        assert!(names("loss").is_empty() && names("test_accuracy").is_empty());
    }
}
