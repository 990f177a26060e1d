//! Tables of a run's points as comma-separated values.

use std::io::BufRead;
use std::path::Path;
use std::time::UNIX_EPOCH;

use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use serde_json::Value;
use valleyscope_runs::plain_file::{self, Links};
use valleyscope_runs::{Better, MetricId, Timestamp};

use super::RunError;
use super::names::Words;
use super::rows::{RowError, Rows};
use super::scalars::{MOST_TAGS, Scalars};

/// The names of columns with the step, the time of day, and the seconds of training, in lower case.
const STEPS: [&str; 6] = ["step", "_step", "global_step", "steps", "iteration", "iter"];
const TIMES: [&str; 4] = ["time", "time_s", "_timestamp", "wall time"];
const SECONDS: [&str; 2] = ["wall_s", "_runtime"];
/// The names of columns of a long table, which has a row for each value, with the run, and with the name of the tag.
const RUNS: [&str; 3] = ["run", "run_name", "dir_name"];
const TAGS: [&str; 4] = ["tag", "metric", "variable", "key"];
const VALUE: &str = "value";

/// The smallest number that is a time of day, in seconds since 1970: a day in 1973. A training of as many seconds would
/// take three years.
const EARLIEST: f64 = 1e8;
/// The smallest number that is a time of day in milliseconds; micro- and nanoseconds follow by factors of 1000.
const MILLISECONDS: f64 = 1e11;

/// The purpose of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Purpose {
    Step,
    /// A time of day: seconds or a fraction of them since 1970, or a date. Smaller numbers are seconds of training.
    Time,
    /// Seconds of training.
    Seconds,
    Run,
    /// The name of the tag of the row's value.
    Tag,
    /// The value of a long table.
    Value,
    Metric,
}

/// A column, and what its cells have been so far.
struct Column {
    name: String,
    purpose: Purpose,
    tag: Option<usize>,
    first: Option<String>,
    /// Whether all rows have the text of the first one.
    is_constant: bool,
    numbers: u64,
    /// Cells that are neither empty nor of the column's kind, and the first of them with its row.
    others: u64,
    other: String,
}

/// Reads the points of a table whose header has a column for the step, as `valleyscope runs export` and many programs
/// write it. Columns with one value in all rows are settings.
pub(super) fn read_table(into: &Path, path: &Path) -> Result<Scalars, RunError> {
    let failed = |source| RunError::Read { path: path.to_owned(), source };
    let file = plain_file::open(path, Links::Refused).map_err(failed)?;
    // Where the table has no times of day, its file's time dates the run.
    let modified = file.metadata().and_then(|data| data.modified()).ok();
    let modified =
        modified.and_then(|time| time.duration_since(UNIX_EPOCH).ok()).map_or(0.0, |since| since.as_secs_f64());
    parse(std::io::BufReader::new(file), modified, Scalars::new(into)).map_err(|error| match error {
        RunError::Row(RowError::Read(source)) => failed(source),
        error => error,
    })
}

fn parse(file: impl BufRead, modified: f64, scalars: Scalars) -> Result<Scalars, RunError> {
    let mut rows = Rows::new(file);
    let header = rows.next()?.map(|row| row.cells().map(str::to_owned).collect()).unwrap_or_default();
    let mut table = Table::new(header, modified, scalars).map_err(RunError::Unfit)?;
    while let Some(row) = rows.next()? {
        table.add(row.number(), &row.cells().map(str::trim).collect::<Vec<_>>())?;
    }
    Ok(table.finish())
}

struct Table {
    columns: Vec<Column>,
    /// The columns of each purpose but that of metrics.
    places: [Option<usize>; Purpose::Metric as usize],
    modified: f64,
    rows: u64,
    scalars: Scalars,
}

impl Table {
    fn new(header: Vec<String>, modified: f64, scalars: Scalars) -> Result<Table, String> {
        let lower: Vec<String> = header.iter().map(|name| name.trim().to_lowercase()).collect();
        let has = |names: &[&str]| lower.iter().any(|name| names.contains(&name.as_str()));
        let is_long = has(&TAGS) && has(&[VALUE]);
        let mut seen = Vec::new();
        let mut purpose = |name: &str| {
            let kind = match name {
                name if STEPS.contains(&name) => Purpose::Step,
                name if TIMES.contains(&name) => Purpose::Time,
                name if SECONDS.contains(&name) => Purpose::Seconds,
                name if RUNS.contains(&name) => Purpose::Run,
                name if is_long && TAGS.contains(&name) => Purpose::Tag,
                VALUE if is_long => Purpose::Value,
                _ => return Purpose::Metric,
            };
            // The second one of a kind is a number like others.
            let is_first = !seen.contains(&kind);
            seen.push(kind);
            if is_first { kind } else { Purpose::Metric }
        };
        let column = |(name, lower): (&String, &String)| Column {
            // `valleyscope runs export` writes an apostrophe before what a spreadsheet would take for a formula.
            name: name.trim().strip_prefix('\'').unwrap_or(name.trim()).to_owned(),
            purpose: purpose(lower),
            tag: None,
            first: None,
            is_constant: true,
            numbers: 0,
            others: 0,
            other: String::new(),
        };
        let columns: Vec<Column> = header.iter().zip(&lower).map(column).collect();
        if !columns.iter().any(|column| column.purpose == Purpose::Step) {
            let found: Vec<String> = header.iter().take(5).map(|name| format!("`{}`", name.trim())).collect();
            let found = if found.is_empty() { "nothing".to_owned() } else { found.join(", ") };
            let hint = match &header[..] {
                [only] if only.contains([';', '\t']) => "; separate the columns by commas",
                _ => "",
            };
            return Err(format!("expected a header with a column `step`, found {found}{hint}"));
        }
        let metrics = columns.iter().filter(|column| column.purpose == Purpose::Metric).count();
        if metrics > MOST_TAGS {
            return Err(format!("it has {metrics} columns of numbers, and a run has at most {MOST_TAGS} metrics"));
        }
        let mut places = [None; Purpose::Metric as usize];
        for (at, column) in columns.iter().enumerate().filter(|(_, column)| column.purpose != Purpose::Metric) {
            places[column.purpose as usize] = Some(at);
        }
        Ok(Table { columns, places, modified, rows: 0, scalars })
    }

    /// Returns the place and the cell of the column of a purpose, unless the cell is empty.
    fn of<'c>(&self, purpose: Purpose, cells: &[&'c str]) -> Option<(usize, &'c str)> {
        let at = self.places[purpose as usize]?;
        Some((at, *cells.get(at)?)).filter(|(_, cell)| !cell.is_empty())
    }

    /// Adds the points of a row.
    fn add(&mut self, row: u64, cells: &[&str]) -> Result<(), RunError> {
        self.rows += 1;
        if cells.iter().skip(self.columns.len()).any(|cell| !cell.is_empty()) {
            let what = format!("rows with more cells than the header, which has {},", self.columns.len());
            let hint = if cells.len() > self.columns.len() { "; a decimal comma needs quotes, or a point" } else { "" };
            self.scalars.left_out.add(&what, 1, || format!("row {row} with {}{hint}", cells.len()));
            return Ok(());
        }
        let step_cell = self.of(Purpose::Step, cells).map_or("nothing", |(_, cell)| cell);
        let Some(step) = step(step_cell) else {
            let what = "rows without a whole number of at least 0 as the step";
            self.scalars.left_out.add(what, 1, || format!("`{step_cell}` in row {row}"));
            return Ok(());
        };
        let times = self.times(row, cells);
        if let Some((_, name)) = self.of(Purpose::Tag, cells) {
            if let Some(value) = self.value_of_tag(row, cells) {
                let tag = self.scalars.tag(name)?;
                self.scalars.push(step, tag, times, value)?;
            }
        } else if self.places[Purpose::Tag as usize].is_some() {
            self.scalars.left_out.add("rows without the name of a tag", 1, || format!("row {row}"));
        }
        for (column, cell) in self.columns.iter_mut().zip(cells.iter().chain(std::iter::repeat(&""))) {
            column.compare(cell);
            if column.purpose == Purpose::Run && !column.is_constant {
                let what = "it has points of several runs; export each run to a file of its own".to_owned();
                return Err(RunError::Unfit(what));
            }
            if column.purpose != Purpose::Metric || cell.is_empty() {
                continue;
            }
            let Ok(value) = cell.parse() else {
                column.set_other(row, cell);
                continue;
            };
            column.numbers += 1;
            let tag = match column.tag {
                Some(tag) => tag,
                None if column.name.is_empty() => {
                    column.set_other(row, cell);
                    continue;
                }
                None => *column.tag.insert(self.scalars.new_tag(&column.name)?),
            };
            self.scalars.push(step, tag, times, value)?;
        }
        Ok(())
    }

    fn value_of_tag(&mut self, row: u64, cells: &[&str]) -> Option<f64> {
        let (at, cell) = self.of(Purpose::Value, cells)?;
        let value = cell.parse().ok();
        if value.is_none() {
            self.columns[at].set_other(row, cell);
        }
        value
    }

    /// Returns the time of day and the seconds of training of a row.
    fn times(&mut self, row: u64, cells: &[&str]) -> [f64; 2] {
        let mut seconds = f64::NAN;
        let mut day = None;
        if let Some((at, cell)) = self.of(Purpose::Seconds, cells) {
            match cell.parse::<f64>() {
                Ok(number) if number.is_finite() => seconds = number,
                _ => self.columns[at].set_other(row, cell),
            }
        }
        if let Some((at, cell)) = self.of(Purpose::Time, cells) {
            match time(cell) {
                Some(Time::OfDay(time)) => day = Some(time),
                Some(Time::Training(time)) => seconds = time,
                None => self.columns[at].set_other(row, cell),
            }
        }
        let dated = if seconds.is_nan() { self.modified } else { self.modified + seconds };
        [day.unwrap_or(dated), seconds]
    }

    /// Returns the points, with the columns of one value as settings.
    fn finish(mut self) -> Scalars {
        for column in self.columns {
            let Column { name, purpose, tag, first, is_constant, numbers, others, other } = column;
            let is_whole = numbers + others == self.rows && self.rows > 1;
            if is_constant && is_whole && purpose == Purpose::Metric && !name.is_empty() {
                let number = first.as_ref().and_then(|text| serde_json::from_str::<serde_json::Number>(text).ok());
                match (number, first) {
                    (None, Some(text)) if numbers == 0 => drop(self.scalars.settings.insert(name, Value::String(text))),
                    (Some(number), _) if may_be_setting(&name) => {
                        // The learning rate is also drawn.
                        if let Some(tag) = tag.filter(|_| name != MetricId::LEARNING_RATE.name()) {
                            self.scalars.tags[tag].is_setting = true;
                        }
                        self.scalars.settings.insert(name, Value::Number(number));
                    }
                    _ => {}
                }
                continue;
            }
            if purpose == Purpose::Metric && others == self.rows && numbers == 0 {
                self.scalars.varying_text.get_or_insert(name.clone());
            }
            let kind = match purpose {
                Purpose::Time => "times",
                _ => "numbers",
            };
            let what = match name.as_str() {
                "" => "cells of a column without a name".to_owned(),
                name => format!("cells of the column `{name}` that are no {kind}"),
            };
            let has_comma = |cell: &str| cell.contains(',') && cell.replace(',', ".").parse::<f64>().is_ok();
            let comma = purpose != Purpose::Time && other.split('`').nth(1).is_some_and(has_comma);
            let hint = if comma { "; write numbers with a decimal point" } else { "" };
            self.scalars.left_out.add(&what, others, || format!("{other}{hint}"));
        }
        self.scalars
    }
}

impl Column {
    fn compare(&mut self, cell: &str) {
        if self.is_constant {
            let first = self.first.get_or_insert_with(|| cell.to_owned());
            self.is_constant = first == cell;
        }
    }

    fn set_other(&mut self, row: u64, cell: &str) {
        self.others += 1;
        if self.others == 1 {
            self.other = format!("`{}` in row {row}", cell.chars().take(60).collect::<String>());
        }
    }
}

/// Returns whether a column with one value may be a setting, by its name: losses and counters of epochs are measured.
fn may_be_setting(name: &str) -> bool {
    let words = Words::of(name);
    words.better() == Better::Neither && !name.eq_ignore_ascii_case("epoch") && !words.is_evaluation()
}

/// Returns a step, which some programs write as `100.0`.
fn step(cell: &str) -> Option<u64> {
    cell.parse().ok().or_else(|| {
        let number: f64 = cell.parse().ok()?;
        (number >= 0.0 && number.fract() == 0.0 && number < 1e18).then_some(number as u64)
    })
}

enum Time {
    /// Seconds since 1970.
    OfDay(f64),
    /// Seconds of training.
    Training(f64),
}

/// Returns the time in a cell. A date without an offset is of UTC.
fn time(cell: &str) -> Option<Time> {
    let seconds = match cell.parse::<f64>() {
        Ok(number) if number.is_finite() && number < EARLIEST => return Some(Time::Training(number)),
        Ok(number) => {
            let factors = [1.0, 1e3, 1e6, 1e9];
            let limits = [1.0, 1e3, 1e6, f64::INFINITY].map(|factor| factor * MILLISECONDS);
            let unit = limits.iter().position(|limit| number < *limit)?;
            number / factors[unit]
        }
        Err(_) => {
            let dated = || Some(cell.parse::<DateTime>().ok()?.to_zoned(TimeZone::UTC).ok()?.timestamp());
            cell.parse::<Timestamp>().ok().or_else(dated)?.as_duration().as_secs_f64()
        }
    };
    Timestamp::from_microsecond((seconds * 1e6).round() as i64).ok().map(|_| Time::OfDay(seconds))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::RunError;
    use super::super::scalars::{Point, Scalars, ScalarsError};

    fn parse(text: &str, modified: f64) -> Result<Scalars, String> {
        let folder = std::env::temp_dir();
        super::parse(text.as_bytes(), modified, Scalars::new(&folder)).map_err(|error: RunError| error.to_string())
    }

    fn table(text: &str) -> Scalars {
        parse(text, 1000.0).expect("it is a table")
    }

    /// Returns step, time, seconds of training, and value of the points of a tag.
    fn points(scalars: &mut Scalars, name: &str) -> Vec<(u64, f64, f64, f64)> {
        let tag = scalars.tags.iter().position(|tag| tag.name == name).expect("it is a tag");
        let mut points = Vec::new();
        let take = |row: &[Point]| {
            let own = row.iter().filter(|point| point.tag == tag);
            points.extend(own.map(|point| (point.step, point.time, point.wall_s, point.value)));
            Ok::<(), ScalarsError>(())
        };
        scalars.for_each_step(take).expect("they can be sorted");
        points
    }

    fn lines(scalars: &Scalars) -> Vec<String> {
        scalars.left_out.lines().collect()
    }

    #[test]
    fn points_are_read_from_a_header_with_a_step() {
        let mut scalars = table(
            "\u{feff}step,time,wall_s,loss,\"val, loss\",note\n1,2026-01-01T00:00:00Z,0.5,2.5,,first\n\n2,,1.5,NaN,\"3\",\r\n",
        );
        assert_eq!(scalars.tags.iter().map(|tag| tag.name.as_str()).collect::<Vec<_>>(), ["loss", "val, loss"]);
        assert_eq!(points(&mut scalars, "val, loss"), [(2, 1001.5, 1.5, 3.0)]);
        let loss = points(&mut scalars, "loss");
        assert!(loss[0] == (1, 1_767_225_600.0, 0.5, 2.5) && loss[1].3.is_nan());
        assert_eq!(
            lines(&scalars),
            ["cells of the column `note` that are no numbers are left out (1, such as `first` in row 2)"]
        );
    }

    #[test]
    fn times_are_dates_units_of_seconds_or_seconds_of_training() {
        let times = |cells: [&str; 2]| {
            let mut scalars = table(&format!("step,time,loss\n1,{},2\n2,{},1\n", cells[0], cells[1]));
            points(&mut scalars, "loss").iter().map(|point| point.1).collect::<Vec<_>>()
        };
        let expected = [1_700_000_000.0, 1_700_000_001.0];
        for cells in [
            ["1700000000", "1700000001"],
            ["1700000000000", "1700000001000"],
            ["1700000000000000", "1700000001000000"],
            ["1700000000000000000", "1700000001000000000"],
            ["2023-11-14 22:13:20", "2023-11-14T22:13:21"],
            ["2023-11-14T23:13:20+01:00", "2023-11-14 22:13:21Z"],
        ] {
            assert_eq!(times(cells), expected, "{cells:?}");
        }
        assert_eq!(times(["0.5", "86400"]), [1000.5, 87_400.0]);
        let mut scalars = table("step,time,loss\n1,-inf,2\n2,yesterday,1\n3,1e300,0\n");
        assert_eq!(points(&mut scalars, "loss").iter().map(|point| point.1).collect::<Vec<_>>(), [1000.0; 3]);
        assert_eq!(
            lines(&scalars),
            ["cells of the column `time` that are no times are left out (3, such as `-inf` in row 2)"]
        );
    }

    #[test]
    fn long_tables_have_the_tags_of_their_rows() {
        let mut scalars = table("step,tag,value\n0,loss,2\n1,loss,1.5\n0,val_loss,9\n1,,3\n");
        assert_eq!(points(&mut scalars, "loss").iter().map(|point| point.3).collect::<Vec<_>>(), [2.0, 1.5]);
        assert_eq!(points(&mut scalars, "val_loss").len(), 1);
        assert_eq!(lines(&scalars), ["rows without the name of a tag are left out (1, such as row 5)"]);
        let several = parse("run,metric,step,value\na,loss,1,2\nb,loss,1,2\n", 0.0).err().expect("it has several runs");
        assert!(several.starts_with("it has points of several runs"));
    }

    #[test]
    fn columns_of_one_value_are_settings() {
        let scalars = table("step,loss,lr,batch,epoch,rule,note\n1,2,0.1,32,0,Adam,a\n2,2,0.1,32,0,Adam,\n");
        assert_eq!(serde_json::Value::from(scalars.settings.clone()), json!({"batch": 32, "lr": 0.1, "rule": "Adam"}));
        let shown: Vec<&str> = scalars.metric_tags().map(|tag| scalars.tags[tag].name.as_str()).collect();
        assert_eq!(shown, ["loss", "lr", "epoch"]);
    }

    #[test]
    fn cells_and_rows_that_are_left_out_are_counted() {
        let scalars = table("step,loss,val_loss\n0,2.0,\"2,1\"\n1,oops,\"2,0\"\n2,1,9,1\n-1,1,1\nx,1,1\n3.0,2\n");
        assert_eq!(
            lines(&scalars),
            [
                "rows with more cells than the header, which has 3, are left out (1, such as row 4 with 4; a decimal comma \
                 needs quotes, or a point)",
                "rows without a whole number of at least 0 as the step are left out (2, such as `-1` in row 5)",
                "cells of the column `loss` that are no numbers are left out (1, such as `oops` in row 3)",
                "cells of the column `val_loss` that are no numbers are left out (2, such as `2,1` in row 2; write \
                 numbers with a decimal point)",
            ]
        );
    }

    #[test]
    fn other_headers_are_named() {
        let error = |text: &str| parse(text, 0.0).err().expect("there is no step");
        assert_eq!(error("epoch,loss\n1,2\n"), "expected a header with a column `step`, found `epoch`, `loss`");
        assert_eq!(error(""), "expected a header with a column `step`, found nothing");
        assert!(error("step;loss\n1;2\n").ends_with("found `step;loss`; separate the columns by commas"));
        assert!(error(&",".repeat(1_000_000)).starts_with("row 1 has more than"));
    }
}
