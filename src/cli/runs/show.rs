//! `valleyscope runs show` and `check`: the description of a run, and checks of folders of runs and sweeps.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow};
use valleyscope_engine::terminal_escape::{visible, visible_path};
use valleyscope_experiments::preset::Preset;
use valleyscope_experiments::run::PresetConfigs;
use valleyscope_runs::{
    Concern, Condition, Findings, Measure, Ranks, RunFolder, RunHistory, RunReader, RunRefused, forked_run, now, span,
};

use super::{newest, notes};
use crate::cli::output::{cell, print, table};
use crate::cli::run_args::RunsLocation;
use crate::cli::{Failure, say};
use crate::runs::{Columns, MetricAliases, RunFacts, RunSettings, RunSource, progress};
use crate::sweep::pictures::check_pictures;
use crate::sweep::result::{check_sweep, is_sweep};

const EVENTS: usize = 12;
const LONGEST: usize = 2000;

pub(super) fn run(run: &RunFolder) -> Result<(), Failure> {
    let mut reader = RunReader::brief(run.clone());
    let status = reader.status(now());
    let status = status.and_then(|status| reader.poll().map(|_| status));
    let status = status.with_context(|| format!("cannot read {}", visible_path(&run.events())))?;
    let history = reader.history();
    let notes = notes(run);
    let (settings, concerns) = (RunSettings::read(run), Concern::of(&status, history, now()));
    let (settings, concerns, aliases) = (&settings, &concerns[..], &MetricAliases::default());
    let facts = RunFacts::of(RunSource { run, settings, history, status: &status, notes: &notes, concerns, aliases });
    let mut lines = Lines::default();
    lines.add("run", run.shown_name());
    lines.add("title", notes.title.clone());
    lines.add("status", status.to_string());
    for Concern { kind, description } in concerns.iter().filter(|concern| !concern.kind.label().is_empty()) {
        lines.add(kind.label(), description.clone());
    }
    lines.add("fork", fork(run, history));
    lines.add("progress", progress(history, status.is_open()));
    lines.add("trained for", span(history.wall_s() as u64));
    if history.sessions() > 1 {
        lines.add("sessions", history.sessions().to_string());
    }
    if let Some(started) = history.started() {
        lines.add("preset", format!("{}, {}", started.kind, started.title));
        for (name, number) in [("tokens a step", started.tokens_per_step), ("parameters", started.parameters)] {
            lines.add(name, number.map(|number| number.to_string()).unwrap_or_default());
        }
        lines.add("precision", started.precision.clone());
    }
    for column in Columns::of(&[&facts], true).iter() {
        let is_fact = ["optimizer", "began", "tags"].contains(&&*column.field) || column.field.starts_with("started.");
        if is_fact || column.is_setting {
            lines.add(&column.field, visible(&column.text(&facts)).into_owned());
        }
    }
    let typed = settings.preset.as_ref().and_then(Preset::training).and_then(|common| common.rule.kind().typed());
    lines.add("its text", typed.map(|typed| typed.text().trim_end().to_owned()).unwrap_or_default());
    let changes = history.changes().iter().map(|(step, change)| format!("{} after step {step}", change.text()));
    lines.add("changed", changes.collect::<Vec<_>>().join("\n"));
    lines.add("ranks", Ranks::of(history).map(|ranks| ranks.to_string()).unwrap_or_default());
    for info in history.metrics() {
        let name = info.name.clone();
        lines.add(&name, newest(history, &[("", info)]).concat());
    }
    lines.add(Measure::WHICH_BATCH, Measure::which_batch(history).unwrap_or_default());
    lines.add("last checkpoint", last_checkpoint(run, history));
    if run.checkpoints().is_ok_and(|steps| history.is_gone(&steps)) {
        lines.add("damaged", format!("{}: is gone or empty, and there are checkpoints", RunFolder::EVENTS));
    } else if history.skipped() > 0 {
        lines.add("damaged", format!("{}: {}", RunFolder::EVENTS, history.skipped_text()));
    }
    lines.add("note", notes.note);
    lines.add("folder", visible_path(run.path()));
    let config = if run.config().exists() { run.config() } else { run.other_config() };
    lines.add("config", visible_path(&config));
    lines.add("log", visible_path(&run.log()));
    print(&(lines.text() + &last_events(history)))
}

fn fork(run: &RunFolder, history: &RunHistory) -> String {
    let Some(forked) = history.forked() else { return String::new() };
    match forked_run(forked, run) {
        Some(other) => format!("{}\nthat run is in {}", forked.sentence(), visible_path(other.path())),
        None => format!("{}\n{}", forked.sentence(), forked.missing()),
    }
}

fn last_checkpoint(run: &RunFolder, history: &RunHistory) -> String {
    match run.newest_checkpoint() {
        Ok(Some(step)) => format!("{}, of step {step}", RunFolder::checkpoint_name(step)),
        Ok(None) if history.checkpoints().is_empty() => String::new(),
        Ok(None) => "none is in the folder any more".to_owned(),
        Err(error) => format!("unknown, as the folder cannot be read: {error}"),
    }
}

fn last_events(history: &RunHistory) -> String {
    let recent = history.recent();
    let skipped = recent.len().saturating_sub(EVENTS);
    let lines = recent.skip(skipped).map(|record| {
        let time = record.time.strftime("%Y-%m-%d %H:%M:%S UTC");
        format!("  {time}  step {}  {}\n", record.step, cell(&record.event.sentence(), LONGEST))
    });
    let lines: String = lines.collect();
    if lines.is_empty() { lines } else { format!("last events\n{lines}") }
}

/// Lines of names and values.
#[derive(Default)]
struct Lines(Vec<(String, String)>);

impl Lines {
    fn add(&mut self, name: &str, value: String) {
        if !value.is_empty() {
            self.0.push((name.to_owned(), value));
        }
    }

    fn text(&self) -> String {
        let width = self.0.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
        let indent = format!("\n{:width$}  ", "");
        self.0.iter().map(|(name, value)| format!("{name:width$}  {}\n", value.replace('\n', &indent))).collect()
    }
}

/// The largest number of characters of a file's name, and of a finding about it.
const LONGEST_FINDING: [usize; 2] = [60, 2000];

pub(super) fn check(location: &RunsLocation, names: &[OsString], repair: bool) -> Result<(), Failure> {
    let mut folders = Vec::new();
    for name in names {
        match several(Path::new(name))? {
            found if found.is_empty() => folders.push((Folder::find(location, name)?, false)),
            found => folders.extend(found.into_iter().map(|folder| (folder, true))),
        }
    }
    let (mut bad, mut repairable) = (0, false);
    for (folder, one_of_several) in &folders {
        match folder.check(repair) {
            Ok(findings) => {
                let text = if *one_of_several { summary } else { text };
                print(&text(folder.path(), &findings))?;
                bad += usize::from(!findings.is_intact());
                repairable |= findings.can_be_repaired();
            }
            Err(refused) => {
                say(format_args!("error: {refused}"));
                bad += 1;
            }
        }
    }
    let hint = if repairable { "; --repair repairs what is listed as repairable" } else { "" };
    match (bad, folders.len()) {
        (0, _) => Ok(()),
        (1, 1) => Err(Failure::Failed(anyhow!("the folder is not intact{hint}"))),
        (1, all) => Err(Failure::Failed(anyhow!("1 of {all} folders is not intact{hint}"))),
        (bad, all) => Err(Failure::Failed(anyhow!("{bad} of {all} folders are not intact{hint}"))),
    }
}

/// Lists the runs and sweeps in a folder that is neither.
fn several(path: &Path) -> Result<Vec<Folder>, Failure> {
    if !path.is_dir() || RunFolder::is_at(path) || is_sweep(path) {
        return Ok(Vec::new());
    }
    let failed = |error: io::Error| Failure::Failed(anyhow!("cannot look into {}: {error}", visible_path(path)));
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(path).map_err(failed)? {
        paths.push(entry.map_err(failed)?.path());
    }
    paths.sort();
    let folders = paths.into_iter().filter_map(|path| match RunFolder::is_at(&path) {
        true => RunFolder::open(&path).ok().map(Folder::Run),
        false => (path.is_dir() && is_sweep(&path)).then_some(Folder::Sweep(path)),
    });
    Ok(folders.collect())
}

enum Folder {
    Run(RunFolder),
    Sweep(PathBuf),
}

impl Folder {
    fn find(location: &RunsLocation, name: &OsStr) -> Result<Folder, Failure> {
        let path = Path::new(name);
        if path.is_dir() && is_sweep(path) && !RunFolder::is_at(path) {
            return Ok(Folder::Sweep(path.to_owned()));
        }
        location.find(name).map(Folder::Run)
    }

    fn path(&self) -> &Path {
        match self {
            Folder::Run(run) => run.path(),
            Folder::Sweep(path) => path,
        }
    }

    fn check(&self, repair: bool) -> Result<Findings, RunRefused> {
        match self {
            Folder::Run(run) => run.check(repair, &PresetConfigs),
            Folder::Sweep(path) => check_sweep(path, repair).map(|mut findings| {
                check_pictures(path, &mut findings);
                findings
            }),
        }
    }
}

/// Formats a line for one of several folders: intact, or the damaged parts.
fn summary(folder: &Path, findings: &Findings) -> String {
    let name = visible_path(Path::new(folder.file_name().unwrap_or(folder.as_os_str())));
    let parts_of = |condition: Condition| -> Option<String> {
        let mut parts: Vec<&str> = Vec::new();
        for found in findings.list().iter().filter(|found| found.condition == condition) {
            if !parts.contains(&&*found.part) {
                parts.push(&found.part);
            }
        }
        let first = parts.first()?;
        let more = if parts.len() > 1 { format!(" and {} more", parts.len() - 1) } else { String::new() };
        Some(format!("{}: {}{more}", condition.name(), cell(first, LONGEST_FINDING[0])))
    };
    let wrong: Vec<String> =
        [Condition::Damaged, Condition::Repairable, Condition::Repaired].into_iter().filter_map(parts_of).collect();
    let how = if wrong.is_empty() { Condition::Intact.name().to_owned() } else { wrong.join("; ") };
    format!("{name}  {how}\n")
}

fn text(folder: &Path, findings: &Findings) -> String {
    let rows = findings.list().iter().map(|found| {
        let (part, description) = (cell(&found.part, LONGEST_FINDING[0]), cell(&found.description, LONGEST_FINDING[1]));
        [found.condition.name().to_owned(), part, description]
    });
    format!("{}\n{}", visible_path(folder), table(&rows.collect::<Vec<_>>(), "  "))
}
