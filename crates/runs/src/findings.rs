//! The findings of a check of a folder.

use std::io;
use std::path::{Path, PathBuf};

use super::atomic_file::{AtomicFile, Overwrite, write_file};

/// The state of a part of a folder.
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
    /// The finding in one line.
    pub words: String,
}

/// The findings about a folder, in the order of the checks.
#[derive(Clone, Debug)]
pub struct Findings {
    list: Vec<Finding>,
    /// Whether to repair damage.
    repair: bool,
}

impl Findings {
    pub fn new(repair: bool) -> Findings {
        Findings { list: Vec::new(), repair }
    }

    pub fn list(&self) -> &[Finding] {
        &self.list
    }

    /// Returns whether no damage is left.
    pub fn is_intact(&self) -> bool {
        !self.list.iter().any(|found| matches!(found.condition, Condition::Damaged | Condition::Repairable))
    }

    /// Returns whether a repair would help.
    pub fn can_be_repaired(&self) -> bool {
        self.list.iter().any(|found| found.condition == Condition::Repairable)
    }

    pub fn intact(&mut self, part: &str, words: String) {
        self.add(part, Condition::Intact, words);
    }

    pub fn note(&mut self, part: &str, words: String) {
        self.add(part, Condition::Note, words);
    }

    pub fn damaged(&mut self, part: &str, words: String) {
        self.add(part, Condition::Damaged, words);
    }

    /// Adds damage that `how` repairs; `how` returns a description of the repair, and is called only if a repair is
    /// requested.
    pub fn repair(&mut self, part: &str, words: String, how: impl FnOnce() -> io::Result<String>) {
        if !self.repair {
            return self.add(part, Condition::Repairable, words);
        }
        let was = first_line(&words);
        match how() {
            Ok(done) => self.add(part, Condition::Repaired, format!("{was}: {done}")),
            Err(error) => self.add(part, Condition::Damaged, format!("{was}, and it cannot be repaired: {error}")),
        }
    }

    /// Adds a harmless, unneeded file, and removes it if a repair is requested.
    pub(super) fn useless(&mut self, part: &str, words: String, path: &Path) {
        if !self.repair {
            return self.note(part, format!("{words}; --repair removes it"));
        }
        self.repair(part, words, || std::fs::remove_file(path).map(|()| "it was removed".to_owned()));
    }

    fn add(&mut self, part: &str, condition: Condition, words: String) {
        let words = first_line(&words).to_owned();
        self.list.push(Finding { part: part.to_owned(), condition, words });
    }
}

/// Returns the first line of a message, without those that show the place in a file.
fn first_line(words: &str) -> &str {
    words.lines().next().unwrap_or_default()
}

/// Renames a useless file to the first free name of `NAME.kept-1` and so on, and returns a sentence with that name.
pub(super) fn set_aside(path: &Path) -> io::Result<String> {
    for number in 1.. {
        let mut kept = path.as_os_str().to_owned();
        kept.push(format!(".kept-{number}"));
        let kept = PathBuf::from(kept);
        if kept.symlink_metadata().is_err() {
            std::fs::rename(path, &kept)?;
            let name = kept.file_name().unwrap_or(kept.as_os_str()).display();
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

/// Replaces the content of a file. An existing file is kept under another name, which is returned in a sentence.
pub fn replace(path: &Path, content: &[u8]) -> io::Result<String> {
    let kept = if path.symlink_metadata().is_ok() { format!("; {}", set_aside(path)?) } else { String::new() };
    write_file(path, Overwrite::No, content)?;
    Ok(kept)
}

fn name(path: &Path) -> String {
    path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}
