//! Checks and repairs the folder of a run.
//!
//! The whole folder is read. The check finds lines that are not events, checkpoints whose bytes or steps differ from
//! their descriptions, a config other than the one that the run was begun with, left-overs of killed workers, and
//! special files instead of regular ones. A run can be removed unless a worker trains it.

use std::path::{Path, PathBuf};
use std::{fs, io};

use valleyscope_engine::terminal_escape::visible_path;

use super::atomic_file::{AtomicFile, Overwrite, write_file};
use super::checkpoint::{Checkpoint, CheckpointOrigin, orphans};
use super::command::Inbox;
use super::event::{Started, now};
use super::folder::{Notes, RunFolder};
use super::history::RunHistory;
use super::lock::{Lock, LockRefusal, LockState};
use super::plain_file;
use super::reader::RunReader;
use super::session::bytes_after_lines;
use super::status::Status;

/// The reason why a run is neither repaired nor removed.
#[derive(Debug, thiserror::Error)]
pub enum RunRefused {
    #[error("{0} is being written; wait until that has ended, or stop it first")]
    Busy(String),
    #[error("{run} may still be trained, on another machine: {status}")]
    MayLive { run: String, status: Status },
    #[error("cannot {action} {run}: {source}")]
    File { action: &'static str, run: String, source: io::Error },
}

/// Reads and compares configs for a check: this crate treats them as text only.
pub trait ConfigReader {
    /// Describes a config, such as `Mnist, "Batch 64"`, or returns why the run cannot resume with the config in its
    /// folder.
    fn check(&self, run: &RunFolder, history: &RunHistory) -> Result<String, String>;

    fn is_readable(&self, config: &str) -> bool;

    fn compute_the_same(&self, one: &str, other: &str) -> bool;
}

impl RunFolder {
    /// Reads everything in the folder, and reports what is intact and what is damaged. With `repair`, locks the run and
    /// repairs damage where possible. No file is lost: each replaced one is renamed to `NAME.kept-1` and so on. The
    /// events are never changed.
    ///
    /// In a run that is being trained, the files that its worker is writing are not checked.
    ///
    /// # Errors
    ///
    /// Fails with `repair` if the run is, or may be, being trained.
    pub fn check(&self, repair: bool, configs: &dyn ConfigReader) -> Result<Findings, RunRefused> {
        let mut reader = RunReader::new(self.clone());
        let lock_state = LockState::of(self);
        let alive = matches!(lock_state, LockState::Held(_));
        let status = reader.poll().map(|_| Status::of(self, lock_state, reader.history(), now()));
        let open = status.as_ref().map_or(alive, |status| status.is_open() && !status.is_lost());
        let _lock = if repair {
            check_closed(self, open, status.as_ref().ok())?;
            Some(lock(self)?)
        } else {
            None
        };
        // The lines that a worker wrote before the run was locked.
        let status = status.and_then(|status| reader.poll().map(|_| status));
        let (history, findings) = (reader.history(), Findings::new(repair));
        let mut check = Check { run: self, configs, alive, open, history, intact: Vec::new(), findings };
        check.config();
        check.fork();
        check.reserve();
        check.checkpoints();
        check.events(&status);
        check.others();
        check.left_behind();
        Ok(check.findings)
    }
}

/// Refuses a run that a worker trains or may train (`open`), as its status shows.
fn check_closed(run: &RunFolder, open: bool, status: Option<&Status>) -> Result<(), RunRefused> {
    let name = visible_path(run.path());
    match status {
        _ if !open => Ok(()),
        Some(status @ Status::Silent { .. }) => Err(RunRefused::MayLive { run: name, status: status.clone() }),
        _ => Err(RunRefused::Busy(name)),
    }
}

fn lock(run: &RunFolder) -> Result<Lock, RunRefused> {
    Lock::take(run).map_err(|refusal| match refusal {
        LockRefusal::Held(_) => RunRefused::Busy(visible_path(run.path())),
        LockRefusal::File(source) => RunRefused::of_file("lock", run, source),
    })
}

struct Check<'r> {
    run: &'r RunFolder,
    configs: &'r dyn ConfigReader,
    /// Whether a worker on this machine trains the run.
    alive: bool,
    /// Whether a worker trains the run, or may do so, here or on another machine.
    open: bool,
    history: &'r RunHistory,
    /// Steps of the intact checkpoints, in order.
    intact: Vec<u64>,
    findings: Findings,
}

impl Check<'_> {
    fn config(&mut self) {
        const NAME: &str = RunFolder::CONFIG;
        match self.run.other_settings() {
            Ok(None) => {}
            Ok(Some(settings)) => {
                let description = format!("of another program, with {} settings", settings.len());
                return self.findings.intact(RunFolder::OTHER_CONFIG, description);
            }
            Err(error) => return self.findings.damaged(RunFolder::OTHER_CONFIG, error.to_string()),
        }
        let path = self.run.config();
        let begun = self.history.started().map(|started| started.config.as_str());
        // A config of another version of Valleyscope is unusable.
        let begun = begun.filter(|text| self.configs.is_readable(text));
        let wrong = match self.configs.check(self.run, self.history) {
            Ok(description) => return self.findings.intact(NAME, description),
            Err(wrong) => wrong,
        };
        match begun {
            Some(begun) => self.findings.repair(NAME, wrong, || {
                let renamed = replace(&path, begun.as_bytes())?;
                Ok(format!("the config that the run was begun with is back{renamed}"))
            }),
            None => self.findings.damaged(NAME, wrong),
        }
    }

    fn fork(&mut self) {
        let Some(forked) = self.history.forked() else { return };
        let missing = self.history.missing().map(|missing| format!("; {missing}"));
        self.findings.note("fork", forked.sentence() + &missing.unwrap_or_default());
    }

    fn events(&mut self, status: &io::Result<Status>) {
        const NAME: &str = RunFolder::EVENTS;
        let history = self.history;
        match status {
            Ok(status) => {
                let steps = history.steps().map(|steps| format!(" of {steps}")).unwrap_or_default();
                self.findings.note("status", format!("{}, step {}{steps}", status.label(), history.step()));
            }
            Err(error) => return self.findings.damaged(NAME, format!("cannot be read: {error}")),
        }
        self.end_of_events();
        if self.run.checkpoints().is_ok_and(|steps| history.is_gone(&steps)) {
            let go_on = "`valleyscope train --resume` resumes from the newest, without the curves";
            self.findings.damaged(NAME, format!("holds no events, though there are checkpoints; {go_on}"));
        } else if history.skipped() > 0 {
            self.findings.damaged(NAME, format!("lines: {}; {}", history.lines(), history.skipped_text()));
        } else {
            self.findings.intact(NAME, format!("lines: {}, sessions: {}", history.lines(), history.sessions()));
        }
    }

    /// Checks for bytes after the last whole line, unless a worker is writing them.
    fn end_of_events(&mut self) {
        const NAME: &str = RunFolder::EVENTS;
        if self.alive {
            return;
        }
        match bytes_after_lines(self.run) {
            Ok(0) => {}
            Ok(bytes) => {
                let what = format!("ends with {bytes} bytes of an incomplete line");
                self.findings.note(NAME, format!("{what}, which is not read; a resumed training removes it"));
            }
            Err(error) => self.findings.damaged(NAME, format!("cannot be read: {error}")),
        }
    }

    /// Checks for the reserve of a killed worker.
    fn reserve(&mut self) {
        let reserve = self.run.reserve();
        if !self.open && reserve.symlink_metadata().is_ok_and(|file| file.is_file()) {
            let what = "was reserved for a full disk by a worker that was killed".to_owned();
            self.findings.useless(RunFolder::RESERVE, what, &reserve);
        }
    }

    fn checkpoints(&mut self) {
        let steps = match self.run.checkpoints() {
            Ok(steps) => steps,
            Err(error) => return self.findings.damaged("checkpoints", error.to_string()),
        };
        let mut lone = Vec::new();
        for step in steps {
            let tensors = self.run.checkpoint_tensors(step);
            let about = tensors.with_extension("ron");
            if tensors.symlink_metadata().is_err() && about.symlink_metadata().is_ok() {
                lone.push(about);
                continue;
            }
            match Checkpoint::examine(self.run, step).and_then(|found| self.is_own(&found)) {
                Ok(()) => self.intact.push(step),
                // The worker may have removed it meanwhile.
                Err(_) if self.open && about.symlink_metadata().is_err() => {}
                Err(wrong) => {
                    let wrong = format!("{wrong}; a training resumes from the one before");
                    self.findings.damaged(&name(&tensors), wrong);
                }
            }
        }
        for about in lone.iter().filter(|_| !self.open) {
            let what = "has no tensors beside it".to_owned();
            match self.intact.is_empty() {
                // While it exists, the run does not start from step 0 again.
                true => self.findings.damaged(&name(about), format!("{what}, and no other checkpoint is intact")),
                false => self.findings.repair(&name(about), what, || set_aside(about)),
            }
        }
        if !self.intact.is_empty() {
            let steps: Vec<String> = self.intact.iter().map(u64::to_string).collect();
            self.findings.intact("checkpoints", format!("{}, of steps {}", steps.len(), steps.join(", ")));
        }
    }

    /// Checks that a checkpoint is of this run, as far as the events record its origin.
    fn is_own(&self, found: &Checkpoint) -> Result<(), String> {
        if self.history.forked().is_some_and(|forked| found.is_origin_of(forked)) {
            return Ok(());
        }
        let Some(started) = self.history.started() else { return Ok(()) };
        let foreign = |what: &str, expected: &str, found: &str| {
            Err(format!("it is of another run: expected {what} {expected}, found {found}"))
        };
        let Started { fingerprint, config_sha256, config, .. } = started;
        if !fingerprint.is_empty() && found.data != *fingerprint {
            return foreign("data", fingerprint, &found.data);
        }
        let origin =
            CheckpointOrigin { config: config_sha256.clone(), preset: config.clone(), ..CheckpointOrigin::default() };
        if !config_sha256.is_empty()
            && !origin.has_config_of(found, |one, other| self.configs.compute_the_same(one, other))
        {
            return foreign("config", config_sha256, &found.config);
        }
        Ok(())
    }

    fn others(&mut self) {
        let (run, findings) = (self.run, &mut self.findings);
        for path in [run.lock(), run.heartbeat(), run.log(), run.notes(), run.commands(), run.reserve()] {
            if let Err(error) = plain_file::check(&path) {
                findings.damaged(&name(&path), error.to_string());
            }
        }
        if plain_file::check(&run.notes()).is_ok()
            && let Err(error) = Notes::read(run)
        {
            findings.damaged(RunFolder::NOTES, error.to_string());
        }
        if plain_file::check(&run.commands()).is_ok() {
            match Inbox::new(run).read_new() {
                Ok(asked) => match asked.iter().filter(|asked| asked.command.is_err()).count() {
                    0 => {}
                    bad => findings.note(RunFolder::COMMANDS, format!("invalid lines, which are refused: {bad}")),
                },
                Err(error) => findings.damaged(RunFolder::COMMANDS, error.to_string()),
            }
        }
    }

    fn left_behind(&mut self) {
        if self.open {
            return;
        }
        // While they exist, a run that had checkpoints does not start from step 0 again.
        let needed = self.intact.is_empty() && self.history.may_have_checkpoints();
        // A folder that cannot be read is reported below.
        for path in orphans(self.run).unwrap_or_default() {
            let what = "is an incomplete checkpoint: its description, the file .ron, is missing".to_owned();
            match needed {
                true => self.findings.damaged(&name(&path), format!("{what}, and no other checkpoint is intact")),
                false => self.findings.repair(&name(&path), what, || set_aside(&path)),
            }
        }
        self.findings.left_behind(self.run.path());
    }
}

fn name(path: &Path) -> String {
    path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Condition {
    Intact,
    /// Harmless, but worth a remark.
    Note,
    Damaged,
    /// Damaged or in the way, and can be repaired.
    Repairable,
    Repaired,
}

impl Condition {
    pub fn name(self) -> &'static str {
        match self {
            Condition::Intact => "intact",
            Condition::Note => "note",
            Condition::Damaged => "damaged",
            Condition::Repairable => "repairable",
            Condition::Repaired => "repaired",
        }
    }
}

/// A finding about a part of a folder, usually a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    pub part: String,
    pub condition: Condition,
    pub description: String,
}

/// The findings about a folder, in the order of the checks.
#[derive(Clone, Debug)]
pub struct Findings {
    list: Vec<Finding>,
    repair: bool,
}

impl Findings {
    pub fn new(repair: bool) -> Findings {
        Findings { list: Vec::new(), repair }
    }

    pub fn list(&self) -> &[Finding] {
        &self.list
    }

    pub fn is_intact(&self) -> bool {
        !self.list.iter().any(|found| matches!(found.condition, Condition::Damaged | Condition::Repairable))
    }

    pub fn can_be_repaired(&self) -> bool {
        self.list.iter().any(|found| found.condition == Condition::Repairable)
    }

    pub fn intact(&mut self, part: &str, description: String) {
        self.add(part, Condition::Intact, description);
    }

    pub fn note(&mut self, part: &str, description: String) {
        self.add(part, Condition::Note, description);
    }

    pub fn damaged(&mut self, part: &str, description: String) {
        self.add(part, Condition::Damaged, description);
    }

    /// Adds damage that `how` repairs; `how` describes the repair, and is called only if a repair is requested.
    pub fn repair(&mut self, part: &str, description: String, how: impl FnOnce() -> io::Result<String>) {
        if !self.repair {
            return self.add(part, Condition::Repairable, description);
        }
        let was = first_line(&description);
        match how() {
            Ok(done) => self.add(part, Condition::Repaired, format!("{was}: {done}")),
            Err(error) => self.add(part, Condition::Damaged, format!("{was}, and it cannot be repaired: {error}")),
        }
    }

    /// Adds a harmless, unneeded file, and removes it if a repair is requested.
    pub(super) fn useless(&mut self, part: &str, description: String, path: &Path) {
        if !self.repair {
            return self.note(part, format!("{description}; --repair removes it"));
        }
        self.repair(part, description, || std::fs::remove_file(path).map(|()| "it was removed".to_owned()));
    }

    fn add(&mut self, part: &str, condition: Condition, description: String) {
        let description = first_line(&description).to_owned();
        self.list.push(Finding { part: part.to_owned(), condition, description });
    }
}

/// Takes the first line of a message, without those that quote the file.
fn first_line(description: &str) -> &str {
    description.lines().next().unwrap_or_default()
}

/// Renames a useless file to the first free name of `NAME.kept-1` and so on; returns a sentence with that name.
pub(super) fn set_aside(path: &Path) -> io::Result<String> {
    for number in 1.. {
        let mut renamed = path.as_os_str().to_owned();
        renamed.push(format!(".kept-{number}"));
        let renamed = PathBuf::from(renamed);
        if renamed.symlink_metadata().is_err() {
            std::fs::rename(path, &renamed)?;
            let name = renamed.file_name().unwrap_or(renamed.as_os_str()).display();
            return Ok(format!("it is kept as {name}"));
        }
    }
    unreachable!("some number is free")
}

impl Findings {
    /// Checks for temporary files that killed programs have left.
    pub fn left_behind(&mut self, folder: &Path) {
        match AtomicFile::left_behind(folder) {
            Ok(left) => {
                for path in left {
                    let what = "was never finished, as the program that wrote it was killed".to_owned();
                    self.useless(&name(&path), what, &path);
                }
            }
            Err(error) => self.damaged("folder", error.to_string()),
        }
    }
}

/// Replaces the content of a file. An existing file is renamed; returns a sentence with its new name.
pub fn replace(path: &Path, content: &[u8]) -> io::Result<String> {
    let renamed = if path.symlink_metadata().is_ok() { format!("; {}", set_aside(path)?) } else { String::new() };
    write_file(path, Overwrite::No, content)?;
    Ok(renamed)
}

impl RunRefused {
    fn of_file(action: &'static str, run: &RunFolder, source: io::Error) -> RunRefused {
        RunRefused::File { action, run: visible_path(run.path()), source }
    }
}

/// Checks that a run can be removed: no worker trains it, or may train it without being lost ([`Status::is_lost`]).
pub fn check_removable(run: &RunFolder) -> Result<(), RunRefused> {
    let status = RunReader::brief(run.clone()).status(now());
    let status = status.map_err(|source| RunRefused::of_file("remove", run, source))?;
    check_closed(run, status.is_open() && !status.is_lost(), Some(&status))
}

pub fn remove(run: &RunFolder) -> Result<(), RunRefused> {
    check_removable(run)?;
    // Held, so that no worker begins in the meantime.
    let _lock = lock(run)?;
    fs::remove_dir_all(run.path()).map_err(|source| RunRefused::of_file("remove", run, source))
}
