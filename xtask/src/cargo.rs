//! Running cargo and related commands.

use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};

use crate::{Stop, say};

/// Makes cargo's command, with this project as its target from any folder.
pub fn cargo(subcommand: &str) -> Command {
    cargo_for(&project().join("Cargo.toml"), subcommand)
}

/// Makes cargo's command for the package of a manifest, without the variables by which `cargo run` describes xtask.
/// Build scripts such as ring's depend on some of them, and would run again, with all their dependents, at each change
/// between `cargo xtask` and plain cargo.
fn cargo_for(manifest: &Path, subcommand: &str) -> Command {
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.arg(subcommand).arg("--manifest-path").arg(manifest);
    forget_package(&mut command);
    command
}

/// Removes the variables by which `cargo run` describes xtask from the environment of a command.
pub fn forget_package(command: &mut Command) {
    for (name, _) in env::vars_os() {
        if name.to_str().is_some_and(describes_package) {
            command.env_remove(name);
        }
    }
}

/// Whether cargo sets this variable for the programs that it starts, to describe their package. A user's settings for
/// cargo, such as `CARGO_TARGET_DIR`, are not among them.
fn describes_package(variable: &str) -> bool {
    const NAMES: [&str; 3] = ["OUT_DIR", "CARGO_CRATE_NAME", "CARGO_PRIMARY_PACKAGE"];
    const PREFIXES: [&str; 3] = ["CARGO_MANIFEST_", "CARGO_PKG_", "CARGO_BIN_"];
    NAMES.contains(&variable) || PREFIXES.iter().any(|prefix| variable.starts_with(prefix))
}

pub fn project() -> PathBuf {
    // `cargo run` sets it, so it is right even after the folder was moved.
    let own = env::var_os("CARGO_MANIFEST_DIR").map_or_else(|| env!("CARGO_MANIFEST_DIR").into(), PathBuf::from);
    own.parent().map(PathBuf::from).unwrap_or(own)
}

/// Prints a step's description and runs its command to the end.
pub fn step(what: &str, command: &mut Command) -> Result<(), Stop> {
    say(what);
    let status = status(command)?;
    if status.success() {
        return Ok(());
    }
    Err(Stop::failed(format!("xtask: failed ({status}): {what}")))
}

pub fn status(command: &mut Command) -> Result<ExitStatus, Stop> {
    command.status().map_err(|error| {
        let program = command.get_program().to_string_lossy().into_owned();
        Stop::failed(format!("xtask: cannot start {program}: {error}"))
    })
}

/// The option by which cargo lists the built programs on stdout, as objects of JSON.
pub const MESSAGES: &str = "--message-format=json-render-diagnostics";

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
    program.ok_or_else(|| Stop::failed("xtask: cargo does not report the path of valleyscope"))
}

/// Finds the path of the program with this name in cargo's messages.
pub fn built(messages: &str, name: &str) -> Option<PathBuf> {
    let name = format!(r#""name":"{name}""#);
    let artifact = |line: &&str| line.contains(r#""reason":"compiler-artifact""#) && line.contains(&name);
    messages.lines().filter(artifact).find_map(|line| Some(PathBuf::from(json_text(line, "executable")?)))
}

/// Finds the first text with this name in an object of JSON.
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
                // An escape such as \u00e9 may stay as it is: nothing here depends on it.
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
    use std::fs;

    /// A build script that runs again when one of the variables changes on which ring's build script depends.
    const BUILD_SCRIPT: &str = r#"fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    for name in ["CARGO_MANIFEST_DIR", "CARGO_MANIFEST_LINKS", "CARGO_PKG_NAME", "CARGO_PKG_VERSION_MAJOR",
        "CARGO_PKG_VERSION_MINOR", "CARGO_PKG_VERSION_PATCH", "CARGO_PKG_VERSION_PRE", "OUT_DIR",
        "CARGO_CFG_TARGET_ARCH", "CARGO_CFG_TARGET_OS", "CARGO_CFG_TARGET_ENV", "CARGO_CFG_TARGET_ENDIAN"] {
        println!("cargo::rerun-if-env-changed={name}");
    }
}
"#;

    /// Builds a package; returns for each of its parts whether it was already up to date.
    fn is_fresh(command: &mut Command, target: &Path) -> Vec<bool> {
        command.args(["--offline", "--quiet", "--message-format=json", "--target-dir"]).arg(target);
        let output = command.stderr(Stdio::inherit()).output().unwrap();
        assert!(output.status.success());
        let messages = String::from_utf8(output.stdout).unwrap();
        let artifacts = messages.lines().filter(|line| line.contains(r#""reason":"compiler-artifact""#));
        artifacts.map(|line| line.contains(r#""fresh":true"#)).collect()
    }

    #[test]
    fn xtask_and_plain_cargo_keep_each_others_builds_fresh() {
        // `cargo test` describes this package to this process as `cargo run` does to xtask.
        assert!(env::var_os("CARGO_MANIFEST_DIR").is_some() && env::var_os("CARGO_PKG_VERSION_MAJOR").is_some());
        let folder = env::temp_dir().join(format!("xtask-cargo-{}", std::process::id()));
        fs::create_dir_all(folder.join("src")).unwrap();
        let manifest = folder.join("Cargo.toml");
        let package = "[package]\nname = \"watching\"\nversion = \"7.8.9\"\nedition = \"2024\"\n[workspace]\n";
        for (file, text) in [("Cargo.toml", package), ("build.rs", BUILD_SCRIPT), ("src/lib.rs", "")] {
            fs::write(folder.join(file), text).unwrap();
        }
        let target = folder.join("target");
        let plain = || {
            let mut command = Command::new(env::var_os("CARGO").unwrap());
            // As in a terminal: cargo's own variables are unset, except those for its paths and its settings.
            let of_cargo = |name: &str| name.starts_with("CARGO_MANIFEST") || name.starts_with("CARGO_PKG");
            for (name, _) in env::vars_os().filter(|(name, _)| name.to_str().is_some_and(of_cargo)) {
                command.env_remove(name);
            }
            command.env_remove("OUT_DIR").arg("build").arg("--manifest-path").arg(&manifest);
            command
        };
        assert_eq!(is_fresh(&mut plain(), &target), [false, false]);
        assert_eq!(is_fresh(&mut cargo_for(&manifest, "build"), &target), [true, true]);
        assert_eq!(is_fresh(&mut plain(), &target), [true, true]);
        // The build script runs again with these variables.
        let mut described = plain();
        described.env("CARGO_MANIFEST_DIR", env!("CARGO_MANIFEST_DIR"));
        assert!(is_fresh(&mut described, &target).contains(&false));
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn reads_the_path_of_a_program_from_cargos_messages() {
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
