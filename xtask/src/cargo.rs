//! Calling cargo and its kin.

use std::env;
use std::path::PathBuf;
use std::process::{Command, ExitStatus, Stdio};

use crate::{Stop, say};

/// The cargo that runs this program, told to work on this project wherever it is called from.
pub fn cargo(subcommand: &str) -> Command {
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.arg(subcommand).arg("--manifest-path").arg(manifest());
    command
}

fn manifest() -> PathBuf {
    project().join("Cargo.toml")
}

/// The folder of this project.
pub fn project() -> PathBuf {
    // Set by `cargo run`, so that it is right even after the folder has been moved.
    let own = env::var_os("CARGO_MANIFEST_DIR").map_or_else(|| env!("CARGO_MANIFEST_DIR").into(), PathBuf::from);
    own.parent().map(PathBuf::from).unwrap_or(own)
}

/// Runs a command to its end, after saying what it is.
pub fn step(what: &str, command: &mut Command) -> Result<(), Stop> {
    say(what);
    let status = status(command)?;
    if status.success() {
        return Ok(());
    }
    Err(Stop::failed(format!("xtask: failed ({status}): {what}")))
}

/// Runs a command to its end.
pub fn status(command: &mut Command) -> Result<ExitStatus, Stop> {
    command.status().map_err(|error| {
        let program = command.get_program().to_string_lossy().into_owned();
        Stop::failed(format!("xtask: cannot start {program}: {error}"))
    })
}

/// Has cargo tell on stdout, in objects of JSON, what it has built.
pub const MESSAGES: &str = "--message-format=json-render-diagnostics";

/// Builds valleyscope and returns where it is.
pub fn build_valleyscope() -> Result<PathBuf, Stop> {
    let what = "building valleyscope";
    say(what);
    let mut command = cargo("build");
    command.args(["--release", "--package", "valleyscope", "--bin", "valleyscope", MESSAGES]);
    let output = command.stderr(Stdio::inherit()).output();
    let output = output.map_err(|error| Stop::failed(format!("xtask: cannot start cargo: {error}")))?;
    if !output.status.success() {
        return Err(Stop::failed(format!("xtask: failed ({}): {what}", output.status)));
    }
    let program = built(&String::from_utf8_lossy(&output.stdout), "valleyscope");
    program.ok_or_else(|| Stop::failed("xtask: cargo does not say where it has put valleyscope"))
}

/// The program of this name that cargo's messages tell of.
pub fn built(messages: &str, name: &str) -> Option<PathBuf> {
    let name = format!(r#""name":"{name}""#);
    let artifact = |line: &&str| line.contains(r#""reason":"compiler-artifact""#) && line.contains(&name);
    messages.lines().filter(artifact).find_map(|line| Some(PathBuf::from(json_text(line, "executable")?)))
}

/// The first text of this name in an object of JSON.
pub fn json_text(json: &str, name: &str) -> Option<String> {
    let (_, after) = json.split_once(&format!("\"{name}\":"))?;
    let mut characters = after.trim_start().strip_prefix('"')?.chars();
    let mut text = String::new();
    loop {
        match characters.next()? {
            '"' => return Some(text),
            '\\' => match characters.next()? {
                'n' => text.push('\n'),
                't' => text.push('\t'),
                // Such as \u00e9, which may stay as it is: nothing here depends on it.
                'u' => text.push_str("\\u"),
                other => text.push(other),
            },
            other => text.push(other),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cargo_tells_where_a_program_is() {
        let messages = concat!(
            r#"{"reason":"compiler-artifact","target":{"name":"tch"},"executable":null,"fresh":true}"#,
            "\n",
            r#"{"reason":"compiler-artifact","target":{"name":"valleyscope"},"executable":null,"fresh":true}"#,
            "\n",
            r#"{"reason":"compiler-artifact","target":{"name":"valleyscope-train"},"executable":"/t/a \"b\"/valleyscope-train"}"#,
            "\n",
            r#"{"reason":"compiler-artifact","target":{"name":"valleyscope"},"executable":"/t/valleyscope"}"#,
            "\n",
            r#"{"reason":"build-finished","success":true}"#,
        );
        assert_eq!(built(messages, "valleyscope-train"), Some(PathBuf::from("/t/a \"b\"/valleyscope-train")));
        assert_eq!(built(messages, "valleyscope"), Some(PathBuf::from("/t/valleyscope")));
        assert_eq!(built(r#"{"reason":"build-finished","success":true}"#, "valleyscope"), None);
    }
}
