//! `valleyscope runs export`.

use std::path::Path;

use anyhow::{Context, anyhow};

use crate::cli::{Failure, say};
use crate::export::{Aside, Overwrite};
use crate::run::{RunFolder, RunReader, write_csv};

pub fn run(run: RunFolder, out: &Path) -> Result<(), Failure> {
    if !out.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("csv")) {
        return Err(Failure::BadInput(anyhow!("--out must be a file that ends in .csv, found {}", out.display())));
    }
    let name = run.name();
    let events = run.events();
    let mut reader = RunReader::new(run);
    reader.poll().with_context(|| format!("cannot read {}", events.display()))?;
    let to_file = || format!("cannot write {}", out.display());
    let mut aside = Aside::for_target(out).with_context(to_file)?;
    let rows = write_csv(reader.history(), &mut aside).with_context(to_file)?;
    aside.commit(Overwrite::Yes).with_context(to_file)?;
    let damaged = reader.history().unreadable();
    if damaged > 0 {
        say(format_args!("{damaged} lines of {} were no events, and were passed over", events.display()));
    }
    say(format_args!("{rows} rows of {name} are in {}", out.display()));
    Ok(())
}
