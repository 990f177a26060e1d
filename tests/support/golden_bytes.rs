//! Comparison of files with the SHA-256 of those that an earlier version wrote.

use std::fs;
use std::path::PathBuf;

use sha2::{Digest, Sha256};

/// Runs commands, and compares the files that they write. In `golden`, a line with a command follows `$ valleyscope `,
/// and the lines below it have the SHA-256 and the name of each file; lines after `#` are comments. `run` runs a
/// command, and `find` returns the path of a file that the command wrote.
pub fn expect_same_bytes<'g>(golden: &'g str, mut run: impl FnMut(&'g str), find: impl Fn(&str, &str) -> PathBuf) {
    let mut command = "";
    let (mut same, mut differing) = (0, Vec::new());
    for line in golden.lines().filter(|line| !line.starts_with('#')) {
        if let Some(next) = line.strip_prefix("$ valleyscope ") {
            command = next;
            run(command);
        } else {
            let (expected, file) = line.split_once("  ").unwrap_or_else(|| panic!("no SHA-256 and file: {line}"));
            let path = find(command, file);
            let bytes = fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            let found: String = Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect();
            if found == expected {
                same += 1;
            } else {
                differing.push(format!("{found}  {file}"));
            }
        }
    }
    assert!(differing.is_empty(), "these files have other bytes than before:\n{}", differing.join("\n"));
    assert!(same > 0, "no file was compared");
}
