//! Checking and repairing the folder of a sweep.

use std::collections::HashSet;
use std::path::Path;

use valleyscope_experiments::preset::Preset;
use valleyscope_runs::plain_file::Links;
use valleyscope_runs::{Findings, RunRefused, plain_file, replace};

use super::arrays::SweepResult;
use super::store::{ReadRecords, SweepHeader, SweepRecords};
use super::table::write_table;

/// The description of a diagram that the window saves, in the diagram's folder.
pub const LIBRARY_RECORD: &str = "kept.ron";

/// Whether a path is the folder of an unfinished or complete sweep, or of a part of one.
pub fn is_sweep(path: &Path) -> bool {
    [SweepResult::ARRAYS, SweepResult::SPEC, SweepRecords::FILE]
        .iter()
        .any(|name| path.join(name).symlink_metadata().is_ok())
}

/// Reads everything in the folder of a sweep, and reports what is intact and what is damaged: the arrays, the preset
/// and the table against each other, and the records one by one. With `repair`, the preset and the table are written
/// again from the arrays, from which they follow; replaced files stay under a name that ends in `.kept-` and a number.
///
/// # Errors
///
/// Fails with `repair` if a sweep is running in the folder.
pub fn check_sweep(folder: &Path, repair: bool) -> Result<Findings, RunRefused> {
    let mut findings = Findings::new(repair);
    // As long as these live, no sweep begins to write.
    let mut records = None;
    if folder.join(SweepRecords::FILE).symlink_metadata().is_ok() {
        match SweepRecords::open(folder) {
            Err(error) => findings.damaged(SweepRecords::FILE, error.to_string()),
            Ok(None) => {
                findings.note(SweepRecords::FILE, "holds nothing: the sweep was stopped as it began".to_owned());
            }
            Ok(Some(found)) if found.is_at_work && repair => {
                return Err(RunRefused::Busy(folder.display().to_string()));
            }
            Ok(Some(found)) if found.is_at_work => {
                findings.note(SweepRecords::FILE, "a sweep is at work, and goes on with it".to_owned());
                return Ok(findings);
            }
            Ok(found) => records = found,
        }
    }
    if let Some(records) = &records {
        check_records(records, &mut findings);
    }
    results(folder, records.as_ref(), &mut findings);
    findings.left_behind(folder);
    Ok(findings)
}

fn check_records(records: &SweepRecords, findings: &mut Findings) {
    const FILE: &str = SweepRecords::FILE;
    let mut known = HashSet::new();
    let read = records.read(|_, finished| {
        known.insert(finished.pixel);
    });
    let ReadRecords { damaged, cut, .. } = match read {
        Ok(read) => read,
        Err(error) => return findings.damaged(FILE, error.to_string()),
    };
    let SweepHeader { preset, part, .. } = &records.header;
    let (known, all) = (known.len(), preset.sweep.shape().iter().product::<usize>());
    let text = match part {
        None => format!("{known} of {all} pixels; `valleyscope sweep … --resume` goes on with them"),
        Some(part) => format!("{known} pixels of part {part}; repeating its command goes on with them"),
    };
    if damaged > 0 {
        findings.damaged(FILE, format!("records that have changed, and are computed again: {damaged}; {text}"));
    } else {
        findings.intact(FILE, text);
    }
    if cut > 0 {
        findings.note(FILE, format!("ends with {cut} bytes of a record that was cut off, which is computed again"));
    }
}

fn results(folder: &Path, records: Option<&SweepRecords>, findings: &mut Findings) {
    const ARRAYS: &str = SweepResult::ARRAYS;
    let [arrays, spec, table] = [ARRAYS, SweepResult::SPEC, SweepResult::TABLE].map(|name| folder.join(name));
    if arrays.symlink_metadata().is_err() {
        if records.is_none() {
            findings.damaged(ARRAYS, "is missing, and nothing else holds the results; compute them again".to_owned());
        }
        return;
    }
    let opened = plain_file::check(&arrays).map_err(|error| error.to_string());
    let result = match opened.and_then(|()| SweepResult::open(&arrays).map_err(|error| error.to_string())) {
        Ok(result) => result,
        Err(error) => return findings.damaged(ARRAYS, error),
    };
    let diagram = &result.diagram;
    let all = diagram.spec().shape().iter().product::<usize>();
    if diagram.is_complete() {
        findings.intact(ARRAYS, format!("{all} pixels, \"{}\"", result.title));
    } else {
        findings.damaged(ARRAYS, format!("holds {} of {all} pixels", diagram.complete()));
    }
    if records.is_some_and(|records| records.header.preset.sweep != **diagram.spec()) {
        findings.damaged(SweepRecords::FILE, format!("is of another sweep than {ARRAYS}"));
    }
    let preset = result.preset();
    match Preset::read(&spec) {
        Ok(read) if read == preset => findings.intact(SweepResult::SPEC, format!("repeats {ARRAYS}")),
        other => {
            let wrong = other.map_or_else(|error| error.to_string(), |_| format!("is not the spec in {ARRAYS}"));
            findings.repair(SweepResult::SPEC, wrong, || {
                Ok(format!("it was written again from {ARRAYS}{}", replace(&spec, preset.to_ron().as_bytes())?))
            });
        }
    }
    // A diagram that the window saves has no table.
    if folder.join(LIBRARY_RECORD).is_file() && table.symlink_metadata().is_err() {
        return;
    }
    let mut expected = Vec::new();
    write_table(&mut expected, &[(None, diagram)]).expect("memory takes all that is written");
    match plain_file::read(&table, Links::Refused, expected.len() as u64) {
        Ok(found) if found == expected => findings.intact(SweepResult::TABLE, format!("says what {ARRAYS} says")),
        other => {
            let wrong = other.map_or_else(|error| error.to_string(), |_| format!("says other than {ARRAYS}"));
            findings.repair(SweepResult::TABLE, wrong, || {
                Ok(format!("it was written again from {ARRAYS}{}", replace(&table, &expected)?))
            });
        }
    }
}
