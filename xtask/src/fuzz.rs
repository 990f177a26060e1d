//! The command `cargo xtask fuzz`: runs mutated inputs for a given time, with little memory.

use std::process::Stdio;

use crate::cargo::step;
use crate::test::{linted, pytorch};
use crate::{Stop, USAGE, say};

/// Parses the target and the minutes from the arguments; without a target, all are run.
fn asked(arguments: &[String]) -> Result<(Option<&str>, u64), Stop> {
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let (target, minutes) = match arguments[..] {
        [] => (None, Some("1")),
        ["--minutes", minutes] => (None, Some(minutes)),
        [target] => (Some(target), Some("1")),
        [target, "--minutes", minutes] | ["--minutes", minutes, target] => (Some(target), Some(minutes)),
        _ => (None, None),
    };
    if target.is_some_and(|target| target.starts_with('-')) {
        return Err(Stop::refused(USAGE));
    }
    let minutes = minutes.ok_or_else(|| Stop::refused(USAGE))?.parse().ok().filter(|minutes| *minutes > 0);
    Ok((target, minutes.ok_or_else(|| Stop::refused("xtask: --minutes takes a whole number from 1"))?))
}

/// Runs the targets whose names contain the asked one. Each time other inputs are tried, unless
/// `VALLEYSCOPE_FUZZ_SEED` chooses them.
pub fn fuzz(arguments: &[String], with_worker: bool) -> Result<(), Stop> {
    let (target, minutes) = asked(arguments)?;
    let pytorch = pytorch(with_worker);
    let tests = |options: &[&str]| {
        let mut tests = linted("test", pytorch.as_ref());
        tests.args(["--package", "valleyscope", "--test", "fuzz"]);
        if pytorch.is_some() {
            tests.args(["--package", "valleyscope-training"]);
        }
        tests.arg("--").args(options).args(target);
        tests
    };
    say("building the targets");
    let listed = tests(&["--list", "--format", "terse"]).stderr(Stdio::inherit()).output();
    let listed = listed.map_err(|error| Stop::failed(format!("xtask: cannot start cargo: {error}")))?;
    if !listed.status.success() {
        return Err(Stop::failed("xtask: the targets cannot be built"));
    }
    if !String::from_utf8_lossy(&listed.stdout).contains(": test") {
        let target = target.unwrap_or_default();
        return Err(Stop::refused(format!("xtask: no target in tests/fuzz has {target} in its name")));
    }
    let mut run = tests(&["--nocapture", "--test-threads", "1"]);
    if std::env::var_os("VALLEYSCOPE_FUZZ_SEED").is_none() {
        let seed = std::time::UNIX_EPOCH.elapsed().map_or(1, |since| since.as_secs());
        run.env("VALLEYSCOPE_FUZZ_SEED", seed.to_string());
    }
    run.env("VALLEYSCOPE_FUZZ_MINUTES", minutes.to_string());
    step("trying inputs", &mut run)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_and_minutes_are_told_apart() {
        let of = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        for (line, target, minutes) in
            [("", None, 1), ("presets --minutes 10", Some("presets"), 10), ("--minutes 2 npz", Some("npz"), 2)]
        {
            assert_eq!(asked(&of(line)), Ok((target, minutes)));
        }
        for wrong in ["--minutes", "--minutes 0", "--minutes x", "--hours 2", "two names"] {
            assert!(asked(&of(wrong)).is_err(), "{wrong}");
        }
    }
}
