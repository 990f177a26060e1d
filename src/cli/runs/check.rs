//! `valleyscope runs check`: checks and repairs folders of runs and sweeps.

use std::ffi::{OsStr, OsString};
use std::fmt::Write;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::anyhow;
use valleyscope_engine::terminal_escape::visible_path;
use valleyscope_experiments::run::PresetConfigs;
use valleyscope_runs::RepairRefused;
use valleyscope_runs::{Condition, Findings, RunFolder};

use super::find::RunsLocation;
use super::{cell, print};
use crate::cli::{Failure, say};
use crate::figure::check_pictures;
use crate::result::{check_sweep, is_sweep};

/// The largest number of characters of a file's name, and of a finding about it.
const LONGEST: [usize; 2] = [60, 2000];

pub(super) fn run(place: &RunsLocation, names: &[OsString], repair: bool) -> Result<(), Failure> {
    let mut folders = Vec::new();
    for name in names {
        match several(Path::new(name))? {
            found if found.is_empty() => folders.push((Folder::find(place, name)?, false)),
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

/// Returns the runs and sweeps in a folder that is neither.
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
    fn find(place: &RunsLocation, name: &OsStr) -> Result<Folder, Failure> {
        let path = Path::new(name);
        if path.is_dir() && is_sweep(path) && !RunFolder::is_at(path) {
            return Ok(Folder::Sweep(path.to_owned()));
        }
        place.find(name).map(Folder::Run)
    }

    fn path(&self) -> &Path {
        match self {
            Folder::Run(run) => run.path(),
            Folder::Sweep(path) => path,
        }
    }

    fn check(&self, repair: bool) -> Result<Findings, RepairRefused> {
        match self {
            Folder::Run(run) => run.check(repair, &PresetConfigs),
            Folder::Sweep(path) => check_sweep(path, repair).map(|mut findings| {
                check_pictures(path, &mut findings);
                findings
            }),
        }
    }
}

/// Returns a line for one of several folders: intact, or the damaged parts.
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
        Some(format!("{}: {}{more}", condition.name(), cell(first, LONGEST[0])))
    };
    let wrong: Vec<String> =
        [Condition::Damaged, Condition::Repairable, Condition::Repaired].into_iter().filter_map(parts_of).collect();
    let how = if wrong.is_empty() { Condition::Intact.name().to_owned() } else { wrong.join("; ") };
    format!("{name}  {how}\n")
}

/// Returns a line for each finding.
fn text(folder: &Path, findings: &Findings) -> String {
    let rows = findings.list().iter().map(|found| {
        let (part, words) = (cell(&found.part, LONGEST[0]), cell(&found.words, LONGEST[1]));
        [found.condition.name().to_owned(), part, words]
    });
    let rows: Vec<[String; 3]> = rows.collect();
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let (first, second) = (width(0), width(1));
    let mut text = format!("{}\n", visible_path(folder));
    for [condition, part, words] in rows {
        writeln!(text, "  {condition:first$}  {part:second$}  {words}").expect("a text can be written to");
    }
    text
}
