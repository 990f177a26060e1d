//! `valleyscope runs check`.

use std::ffi::{OsStr, OsString};
use std::fmt::Write;
use std::path::{Path, PathBuf};

use anyhow::anyhow;

use super::find::Place;
use super::{cell, print};
use crate::cli::{Failure, say};
use crate::result::{check_sweep, is_sweep};
use crate::run::{Findings, MendRefused, RunFolder};

/// The most characters of the name of a file, and of what is said of it.
const LONGEST: [usize; 2] = [60, 2000];

pub fn run(place: &Place, names: &[OsString], mend: bool) -> Result<(), Failure> {
    let folders = names.iter().map(|name| Folder::find(place, name)).collect::<Result<Vec<_>, Failure>>()?;
    let (mut bad, mut mendable) = (0, false);
    for folder in &folders {
        match folder.check(mend) {
            Ok(findings) => {
                print(&text(folder.path(), &findings))?;
                bad += usize::from(!findings.is_whole());
                mendable |= findings.can_be_mended();
            }
            Err(refused) => {
                say(format_args!("error: {refused}"));
                bad += 1;
            }
        }
    }
    let hint = if mendable { "; --mend mends what is called mendable" } else { "" };
    match (bad, folders.len()) {
        (0, _) => Ok(()),
        (1, 1) => Err(Failure::Failed(anyhow!("the folder is not whole{hint}"))),
        (bad, all) => Err(Failure::Failed(anyhow!("{bad} of {all} folders are not whole{hint}"))),
    }
}

enum Folder {
    Run(RunFolder),
    Sweep(PathBuf),
}

impl Folder {
    fn find(place: &Place, name: &OsStr) -> Result<Folder, Failure> {
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

    fn check(&self, mend: bool) -> Result<Findings, MendRefused> {
        match self {
            Folder::Run(run) => run.check(mend),
            Folder::Sweep(path) => check_sweep(path, mend),
        }
    }
}

/// A line for each finding.
fn text(folder: &Path, findings: &Findings) -> String {
    let rows = findings.list().iter().map(|found| {
        let (part, words) = (cell(&found.part, LONGEST[0]), cell(&found.words, LONGEST[1]));
        [found.condition.name().to_owned(), part, words]
    });
    let rows: Vec<[String; 3]> = rows.collect();
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let (first, second) = (width(0), width(1));
    let mut text = format!("{}\n", folder.display());
    for [condition, part, words] in rows {
        writeln!(text, "  {condition:first$}  {part:second$}  {words}").expect("a text can be written to");
    }
    text
}
