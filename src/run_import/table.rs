//! Tables of a run's points as comma-separated values.

use std::path::Path;
use std::time::UNIX_EPOCH;

use jiff::Timestamp;
use valleyscope_runs::plain_file::{self, Links};

use super::RunError;
use crate::tensorboard::{MOST_POINTS, MOST_TAGS, Scalars};

/// The largest size of a table in bytes.
const MOST_BYTES: u64 = 1 << 30;
/// The names of columns with the step, the time of day, and the seconds of training, in lower case.
const STEPS: [&str; 6] = ["step", "_step", "global_step", "steps", "iteration", "iter"];
const TIMES: [&str; 4] = ["time", "time_s", "_timestamp", "wall time"];
const SECONDS: [&str; 2] = ["wall_s", "_runtime"];

/// The smallest number that is a time of day, in seconds since 1970: a day in 1973. A training of as many seconds would
/// take three years.
const EARLIEST: f64 = 1e8;

/// The purpose of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Purpose {
    Step,
    /// A time of day: seconds since 1970, or RFC 3339. Smaller numbers are seconds of training.
    Time,
    /// Seconds of training.
    Seconds,
    Metric,
}

/// Reads the points of a table whose header has a column for the step, as `valleyscope runs export` and many programs
/// write it. Cells that are empty are no points; columns of texts are left out.
pub(super) fn read_table(path: &Path) -> Result<Scalars, RunError> {
    let failed = |source| RunError::Read { path: path.to_owned(), source };
    let text = plain_file::read_text(path, Links::Refused, MOST_BYTES).map_err(failed)?;
    // Where the table has no times of day, its file's time dates the run.
    let modified = path.metadata().and_then(|data| data.modified()).ok();
    let modified =
        modified.and_then(|time| time.duration_since(UNIX_EPOCH).ok()).map_or(0.0, |since| since.as_secs_f64());
    parse(&text, modified).map_err(RunError::Unfit)
}

fn parse(text: &str, modified: f64) -> Result<Scalars, String> {
    let mut rows = Rows { rest: text.strip_prefix('\u{feff}').unwrap_or(text) };
    let header = rows.next().unwrap_or_default();
    let purpose = |name: &String| match name.trim().to_lowercase() {
        name if STEPS.contains(&name.as_str()) => Purpose::Step,
        name if TIMES.contains(&name.as_str()) => Purpose::Time,
        name if SECONDS.contains(&name.as_str()) => Purpose::Seconds,
        _ => Purpose::Metric,
    };
    let purposes: Vec<Purpose> = header.iter().map(purpose).collect();
    let place = |wanted: Purpose| purposes.iter().position(|purpose| *purpose == wanted);
    let step_at = place(Purpose::Step).ok_or_else(|| {
        let found = header.iter().take(5).map(|name| format!("`{}`", name.trim())).collect::<Vec<_>>().join(", ");
        format!("expected a header with a column `step`, found {}", if found.is_empty() { "nothing" } else { &found })
    })?;
    if header.iter().any(|name| name == "run" || name == "metric") {
        return Err("it has points of several runs; export each run to a file of its own".to_owned());
    }
    let metrics = purposes.iter().filter(|purpose| **purpose == Purpose::Metric).count();
    if metrics > MOST_TAGS {
        return Err(format!("it has {metrics} columns of numbers, and a run has at most {MOST_TAGS} metrics"));
    }
    let (time_at, seconds_at) = (place(Purpose::Time), place(Purpose::Seconds));
    let mut scalars = Scalars::default();
    let mut points = 0;
    for (row, line) in rows.zip(2_u64..) {
        let cell =
            |at: Option<usize>| at.and_then(|at| row.get(at)).map(|cell| cell.trim()).filter(|cell| !cell.is_empty());
        let Some(step) = cell(Some(step_at)).and_then(step) else {
            let found = cell(Some(step_at)).unwrap_or("nothing");
            scalars.damage.push(format!("row {line}: expected a whole number as the step, found `{found}`"));
            continue;
        };
        let seconds = cell(seconds_at).and_then(|cell| cell.parse::<f64>().ok());
        let seconds = seconds.map(|seconds| modified + seconds);
        let time = cell(time_at).and_then(|cell| time(cell, modified)).or(seconds).unwrap_or(modified);
        for ((name, purpose), value) in header.iter().zip(&purposes).zip(&row) {
            let Some(value) = Some(value.trim()).filter(|_| *purpose == Purpose::Metric).and_then(number) else {
                continue;
            };
            points += 1;
            if points > MOST_POINTS {
                return Err(format!("it has more than {MOST_POINTS} points; that is too much for a run"));
            }
            scalars.tags.entry(name.trim().to_owned()).or_default().insert(step, (time, value));
        }
    }
    Ok(scalars)
}

/// Returns a step, which some programs write as `100.0`.
fn step(cell: &str) -> Option<u64> {
    cell.parse().ok().or_else(|| {
        let number: f64 = cell.parse().ok()?;
        (number >= 0.0 && number.fract() == 0.0 && number < 1e18).then_some(number as u64)
    })
}

/// Returns a time of day. A number below [`EARLIEST`] is the time of training of a file that was last `modified` then.
fn time(cell: &str, modified: f64) -> Option<f64> {
    match cell.parse::<f64>() {
        Ok(seconds) if seconds < EARLIEST => Some(modified + seconds),
        Ok(time) => Some(time).filter(|time| time.is_finite()),
        Err(_) => Some(cell.parse::<Timestamp>().ok()?.as_duration().as_secs_f64()),
    }
}

/// Returns a number, also one that is not finite.
fn number(cell: &str) -> Option<f64> {
    cell.parse().ok()
}

/// The rows of a text of comma-separated values (RFC 4180), without empty ones.
struct Rows<'t> {
    rest: &'t str,
}

impl Iterator for Rows<'_> {
    type Item = Vec<String>;

    fn next(&mut self) -> Option<Vec<String>> {
        while !self.rest.is_empty() {
            let row = self.row();
            if row.len() > 1 || !row[0].is_empty() {
                return Some(row);
            }
        }
        None
    }
}

impl Rows<'_> {
    fn row(&mut self) -> Vec<String> {
        let (mut cells, mut cell, mut is_quoted) = (Vec::new(), String::new(), false);
        let mut chars = self.rest.char_indices().peekable();
        let mut end = self.rest.len();
        while let Some((at, sign)) = chars.next() {
            match (sign, is_quoted) {
                ('"', true) if chars.peek().is_some_and(|(_, next)| *next == '"') => {
                    chars.next();
                    cell.push('"');
                }
                ('"', true) => is_quoted = false,
                ('"', false) if cell.is_empty() => is_quoted = true,
                (',', false) => cells.push(std::mem::take(&mut cell)),
                ('\r', false) => {}
                ('\n', false) => {
                    end = at + 1;
                    break;
                }
                (sign, _) => cell.push(sign),
            }
        }
        self.rest = &self.rest[end..];
        cells.push(cell);
        cells
    }
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn points_are_read_from_a_header_with_a_step() {
        let text =
            "step,time,wall_s,loss,\"val, loss\",note\n1,2026-01-01T00:00:00Z,0.5,2.5,,first\n\n2,,1.5,NaN,\"3\",\n";
        let scalars = parse(text, 1000.0).expect("it is a table");
        let points = |tag: &str| scalars.tags[tag].iter().map(|(step, (_, value))| (*step, *value)).collect::<Vec<_>>();
        assert_eq!(scalars.tags.keys().collect::<Vec<_>>(), ["loss", "val, loss"]);
        assert_eq!(points("val, loss"), [(2, 3.0)]);
        assert!(points("loss")[0] == (1, 2.5) && points("loss")[1].1.is_nan());
        assert_eq!(scalars.tags["loss"][&1].0, 1_767_225_600.0);
        assert_eq!(scalars.tags["loss"][&2].0, 1001.5);
        assert_eq!(scalars.damage.lines().next(), None);
    }

    #[test]
    fn small_times_are_seconds_of_training() {
        let scalars = parse("step,time,loss\n1,0.5,2\n2,86400,1\n3,1767225600,1\n", 2e9).expect("it is a table");
        let times: Vec<f64> = scalars.tags["loss"].values().map(|(time, _)| *time).collect();
        assert_eq!(times, [2e9 + 0.5, 2e9 + 86_400.0, 1_767_225_600.0]);
    }

    #[test]
    fn other_headers_and_rows_without_a_step_are_named() {
        let error = parse("epoch,loss\n1,2\n", 0.0).expect_err("there is no step");
        assert_eq!(error, "expected a header with a column `step`, found `epoch`, `loss`");
        assert_eq!(parse("", 0.0).expect_err("it is empty"), "expected a header with a column `step`, found nothing");
        let scalars = parse("Step,Value\nx,1\n3.0,2\n", 0.0).expect("it is a table");
        assert_eq!(
            scalars.damage.lines().collect::<Vec<_>>(),
            ["row 2: expected a whole number as the step, found `x`"]
        );
        assert_eq!(scalars.tags["Value"].len(), 1);
        let several = parse("run,metric,step,value\na,loss,1,2\n", 0.0).expect_err("it has several runs");
        assert!(several.starts_with("it has points of several runs"));
    }
}
