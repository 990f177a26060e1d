//! The command `cargo xtask fuzz`: runs mutated inputs for a given time, with little memory.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::cargo::{MESSAGES, built, status};
use crate::test::{linted, pytorch};
use crate::{Stop, say};

/// The arguments of the command.
#[derive(Debug, PartialEq, Eq)]
struct FuzzArguments {
    /// The target; `None` for all targets.
    target: Option<String>,
    minutes: u64,
    with_worker: bool,
}

impl FuzzArguments {
    fn of(arguments: &[String]) -> Result<FuzzArguments, Stop> {
        let mut asked = FuzzArguments { target: None, minutes: 1, with_worker: true };
        let mut arguments = arguments.iter();
        while let Some(argument) = arguments.next() {
            match argument.as_str() {
                "--no-worker" => asked.with_worker = false,
                "--minutes" => {
                    let number = arguments.next().and_then(|number| number.parse().ok()).filter(|minutes| *minutes > 0);
                    asked.minutes =
                        number.ok_or_else(|| Stop::refused("xtask: expected a whole number from 1 as --minutes"))?;
                }
                option if option.starts_with('-') => {
                    return Err(Stop::refused(format!("xtask: fuzz has no option {option}\n{}", crate::USAGE)));
                }
                target => asked.target = Some(target.to_owned()),
            }
        }
        Ok(asked)
    }
}

/// The limit of the test program's address space in KiB: enough for libtorch, which reserves 2 GiB of it without using
/// them.
const MOST_KIB: u64 = 8 << 20;

/// Builds the targets and runs one or all of them. Each run tries other inputs, unless `VALLEYSCOPE_FUZZ_SEED` fixes
/// them.
pub fn fuzz(arguments: &[String]) -> Result<(), Stop> {
    let asked = FuzzArguments::of(arguments)?;
    let pytorch = pytorch(asked.with_worker);
    let mut build = linted("test", pytorch.as_ref());
    build.args(["--package", "valleyscope", "--test", "fuzz", "--no-run", MESSAGES]);
    if pytorch.is_some() {
        build.args(["--features", "torch"]);
    }
    say("building the targets");
    let output = build.stderr(Stdio::inherit()).output();
    let output = output.map_err(|error| Stop::failed(format!("xtask: cannot start cargo: {error}")))?;
    let program = built(&String::from_utf8_lossy(&output.stdout), "fuzz");
    let Some(program) = program.filter(|_| output.status.success()) else {
        return Err(Stop::failed("xtask: the targets cannot be built"));
    };
    let mut run = if cfg!(unix) {
        let mut shell = Command::new("sh");
        shell.arg("-c").arg(format!("ulimit -v {MOST_KIB}; exec \"$0\" \"$@\"")).arg(&program);
        shell
    } else {
        Command::new(&program)
    };
    let seed = std::time::UNIX_EPOCH.elapsed().map_or(1, |since| since.as_secs());
    if std::env::var_os("VALLEYSCOPE_FUZZ_SEED").is_none() {
        run.env("VALLEYSCOPE_FUZZ_SEED", seed.to_string());
    }
    run.env("VALLEYSCOPE_FUZZ_MINUTES", asked.minutes.to_string());
    run.args(["--nocapture", "--test-threads", "1"]);
    if let Some(target) = &asked.target {
        let targets = targets(&program)?;
        if !targets.contains(target) {
            return Err(Stop::refused(format!("xtask: there is no target {target}; expected {}", targets.join(", "))));
        }
        run.args(["--exact", target]);
    }
    let status = status(&mut run)?;
    if status.success() { Ok(()) } else { Err(Stop::failed(format!("xtask: fuzzing has found a fault ({status})"))) }
}

/// Lists the targets of the test program.
fn targets(program: &Path) -> Result<Vec<String>, Stop> {
    let listed = Command::new(program).args(["--list", "--format", "terse"]).output();
    let listed = listed.map_err(|error| Stop::failed(format!("xtask: cannot start {}: {error}", program.display())))?;
    let lines = String::from_utf8_lossy(&listed.stdout).into_owned();
    Ok(lines.lines().filter_map(|line| line.strip_suffix(": test")).map(str::to_owned).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_targets_and_minutes() {
        let of = |line: &str| FuzzArguments::of(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>());
        let asked = |target: Option<&str>, minutes, with_worker| {
            Ok(FuzzArguments { target: target.map(str::to_owned), minutes, with_worker })
        };
        assert_eq!(of(""), asked(None, 1, true));
        assert_eq!(of("presets --minutes 10"), asked(Some("presets"), 10, true));
        assert_eq!(of("--no-worker --minutes 2 npz"), asked(Some("npz"), 2, false));
        for wrong in ["--minutes", "--minutes 0", "--minutes x", "--hours 2"] {
            assert!(of(wrong).is_err(), "{wrong}");
        }
    }
}
