//! The bytes that commands write, compared with those of an earlier version.

use std::fs;
use std::path::Path;

use sha2::{Digest, Sha256};

use crate::sandbox::{Sandbox, expect_code};

/// Commands after `$`, and below each the SHA-256 of the files that it writes.
const GOLDEN: &str = include_str!("bytes.txt");

fn sha256(path: &Path) -> String {
    let bytes = fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn commands_write_the_bytes_of_before() {
    let sandbox = Sandbox::new();
    let mut differing = Vec::new();
    for line in GOLDEN.lines().filter(|line| !line.starts_with('#')) {
        if let Some(command) = line.strip_prefix("$ valleyscope ") {
            expect_code(&sandbox.run(&command.split(' ').collect::<Vec<_>>()), 0);
        } else if let Some((expected, file)) = line.split_once("  ") {
            let found = sha256(&sandbox.join(file));
            if found != expected {
                differing.push(format!("{found}  {file}"));
            }
        }
    }
    assert!(differing.is_empty(), "these files have other bytes than in bytes.txt:\n{}", differing.join("\n"));
}
