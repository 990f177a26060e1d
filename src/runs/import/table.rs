//! Tables of a run's points as comma-separated values.

use std::io;
use std::io::BufRead;
use std::path::Path;
use std::time::UNIX_EPOCH;

use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use serde_json::Value;
use valleyscope_runs::plain_file::Links;
use valleyscope_runs::{Better, MetricId, Timestamp, Words, plain_file};

use super::RunError;
use super::scalars::{MOST_TAGS, Scalars};
use crate::export::without_apostrophe;

/// The names of columns with the step, the time of day, and the seconds of training, in lower case.
const STEPS: [&str; 6] = ["step", "_step", "global_step", "steps", "iteration", "iter"];
const TIMES: [&str; 7] = ["time", "time_s", "_timestamp", "wall time", "timestamp", "datetime", "date"];
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
    Value,
    Metric,
}

/// A column, and the kinds of its cells so far.
struct Column {
    name: String,
    purpose: Purpose,
    tag: Option<usize>,
    first: Option<String>,
    /// Whether all rows have the text of the first one, and whether another one has it.
    is_constant: bool,
    repeats: bool,
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
    // If the table has no times of day, its file's time dates the run.
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
    let header = rows.next()?.unwrap_or_default();
    let mut row = rows.next()?;
    let mut table = Table::new(header, row.as_deref().unwrap_or_default(), scalars).map_err(RunError::Unfit)?;
    while let Some(cells) = row {
        table.add(rows.number, &cells.iter().map(|cell| cell.trim()).collect::<Vec<_>>())?;
        row = rows.next()?;
    }
    Ok(table.finish(modified))
}

struct Table {
    columns: Vec<Column>,
    /// The indices of the columns of each purpose except that of metrics.
    indices: [Option<usize>; Purpose::Metric as usize],
    rows: u64,
    /// The largest number of seconds of training.
    longest: f64,
    scalars: Scalars,
}

impl Table {
    fn new(header: Vec<String>, first: &[String], scalars: Scalars) -> Result<Table, String> {
        let lower: Vec<String> = header.iter().map(|name| name.trim().to_lowercase()).collect();
        let is_long = is_long(&lower, first);
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
            // The second column of a kind is an ordinary metric.
            let is_first = !seen.contains(&kind);
            seen.push(kind);
            if is_first { kind } else { Purpose::Metric }
        };
        let column = |(name, lower): (&String, &String)| Column {
            name: without_apostrophe(name.trim()).to_owned(),
            purpose: purpose(lower),
            tag: None,
            first: None,
            is_constant: true,
            repeats: false,
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
        let mut indices = [None; Purpose::Metric as usize];
        for (index, column) in columns.iter().enumerate().filter(|(_, column)| column.purpose != Purpose::Metric) {
            indices[column.purpose as usize] = Some(index);
        }
        Ok(Table { columns, indices, rows: 0, longest: 0.0, scalars })
    }

    fn cell<'c>(&self, purpose: Purpose, cells: &[&'c str]) -> Option<&'c str> {
        cells.get(self.indices[purpose as usize]?).copied().filter(|cell| !cell.is_empty())
    }

    /// Parses the cell of the column of a purpose, and counts one without a value.
    fn read<T>(&mut self, purpose: Purpose, row: u64, cells: &[&str], of: fn(&str) -> Option<T>) -> Option<T> {
        let cell = self.cell(purpose, cells)?;
        let value = of(cell);
        if let (None, Some(index)) = (&value, self.indices[purpose as usize]) {
            self.columns[index].set_other(row, cell);
        }
        value
    }

    fn add(&mut self, row: u64, cells: &[&str]) -> Result<(), RunError> {
        if cells.iter().skip(self.columns.len()).any(|cell| !cell.is_empty()) {
            let what = format!("rows with more cells than the header, which has {},", self.columns.len());
            let hint = if cells.len() > self.columns.len() { "; a decimal comma needs quotes, or a point" } else { "" };
            self.scalars.left_out.add(&what, 1, || format!("row {row} with {}{hint}", cells.len()));
            return Ok(());
        }
        let step_cell = self.cell(Purpose::Step, cells).unwrap_or("nothing");
        let Some(step) = step(step_cell) else {
            let what = "rows without a whole number of at least 0 as the step";
            self.scalars.left_out.add(what, 1, || format!("`{step_cell}` in row {row}"));
            return Ok(());
        };
        self.rows += 1;
        let times = self.times(row, cells);
        if let Some(name) = self.cell(Purpose::Tag, cells) {
            if let Some(value) = self.read(Purpose::Value, row, cells, |cell| cell.parse().ok()) {
                let tag = self.scalars.tag(without_apostrophe(name))?;
                self.scalars.push(step, tag, times, value)?;
            }
        } else if self.indices[Purpose::Tag as usize].is_some() {
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

    /// Parses the time of day and the seconds of training of a row; NaN if unknown.
    fn times(&mut self, row: u64, cells: &[&str]) -> [f64; 2] {
        let finite = |cell: &str| cell.parse().ok().filter(|number: &f64| number.is_finite());
        let mut seconds = self.read(Purpose::Seconds, row, cells, finite).unwrap_or(f64::NAN);
        let mut day = f64::NAN;
        match self.read(Purpose::Time, row, cells, time) {
            Some(Time::OfDay(time)) => day = time,
            Some(Time::Training(time)) => seconds = time,
            None => {}
        }
        self.longest = self.longest.max(seconds);
        [day, seconds]
    }

    /// Completes the points, with the columns of one value as settings. Points without a time of day end when the file
    /// was modified.
    fn finish(mut self, modified: f64) -> Scalars {
        self.scalars.began = modified - self.longest;
        for column in self.columns {
            let Column { name, purpose, tag, first, is_constant, repeats, numbers, others, other } = column;
            let is_whole = numbers + others == self.rows && self.rows > 1;
            if is_constant && is_whole && purpose == Purpose::Metric && !name.is_empty() {
                let words = Words::of(&name);
                let number = first.as_ref().and_then(|text| serde_json::from_str::<serde_json::Number>(text).ok());
                match (number, first) {
                    (None, Some(text)) if numbers == 0 && words.better() == Better::Neither => {
                        let text = without_apostrophe(&text).to_owned();
                        self.scalars.settings.insert(name, Value::String(text));
                        continue;
                    }
                    (Some(number), _) if words.is_setting() => {
                        // The learning rate is also drawn.
                        if let Some(tag) = tag.filter(|_| name != MetricId::LEARNING_RATE.name()) {
                            self.scalars.tags[tag].is_setting = true;
                        }
                        self.scalars.settings.insert(name, Value::Number(number));
                        continue;
                    }
                    _ => {}
                }
            } else if purpose == Purpose::Metric && others == self.rows && numbers == 0 && repeats {
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
        match &self.first {
            None => self.first = Some(cell.to_owned()),
            Some(first) => {
                self.is_constant &= first == cell;
                self.repeats |= first == cell;
            }
        }
    }

    fn set_other(&mut self, row: u64, cell: &str) {
        self.others += 1;
        if self.others == 1 {
            self.other = format!("`{}` in row {row}", cell.chars().take(60).collect::<String>());
        }
    }
}

/// Whether a table has a row for each value of a tag, by its header in lower case and its first row: its tags are no
/// numbers, and only counters and settings have columns of numbers.
fn is_long(header: &[String], first: &[String]) -> bool {
    let has = |names: &[&str]| header.iter().any(|name| names.contains(&name.as_str()));
    let known = [&STEPS[..], &TIMES, &SECONDS, &RUNS, &["epoch", VALUE]].concat();
    let is_other = |(name, cell): (&String, &String)| {
        let is_number = cell.trim().parse::<f64>().is_ok();
        is_number && !known.contains(&name.as_str()) && !Words::of(name).is_setting()
    };
    has(&TAGS) && has(&[VALUE]) && !header.iter().zip(first).any(is_other)
}

/// Parses a step, which some programs write as `100.0`.
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

/// Parses the time in a cell. A date without an offset is of UTC.
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

/// The most bytes and cells of a row.
const MOST_BYTES: usize = 4 << 20;
const MOST_CELLS: usize = 4096;

/// Why a row cannot be read.
#[derive(Debug, thiserror::Error)]
pub(super) enum RowError {
    #[error(transparent)]
    Read(#[from] io::Error),
    #[error("row {0} has more than {MOST_CELLS} cells or {MOST_BYTES} bytes; that is no table of a run")]
    Long(u64),
    #[error("a quotation mark in row {0} is not closed")]
    OpenQuote(u64),
    #[error("expected UTF-8, found other bytes in row {0}")]
    NotText(u64),
}

/// The rows of a file, without empty ones.
struct Rows<R> {
    file: R,
    /// The number of the last row, from 1.
    number: u64,
}

impl<R: BufRead> Rows<R> {
    fn new(file: R) -> Rows<R> {
        Rows { file, number: 0 }
    }

    /// Reads the cells of the next row, without their quotes; none at the end of the file.
    fn next(&mut self) -> Result<Option<Vec<String>>, RowError> {
        let mut cells = vec![Vec::new()];
        while cells.len() == 1 && cells[0].is_empty() {
            match self.read()? {
                Some(row) => cells = row,
                None => return Ok(None),
            }
        }
        self.number += 1;
        if self.number == 1 && cells[0].starts_with("\u{feff}".as_bytes()) {
            // A byte-order mark is not part of the first name.
            cells[0].drain(.."\u{feff}".len());
        }
        let cells = cells.into_iter().map(String::from_utf8).collect::<Result<_, _>>();
        cells.map(Some).map_err(|_| RowError::NotText(self.number))
    }

    /// Reads the bytes of the cells of a row; none at the end of the file.
    fn read(&mut self) -> Result<Option<Vec<Vec<u8>>>, RowError> {
        let Rows { file, number } = self;
        let (mut cells, mut cell, mut bytes) = (Vec::new(), Vec::new(), 0);
        // Whether the position is in quotes, or after a quote that may be the first of two.
        let (mut is_quoted, mut is_after_quote, mut is_begun) = (false, false, false);
        loop {
            let piece = file.fill_buf()?;
            if piece.is_empty() {
                if is_quoted {
                    return Err(RowError::OpenQuote(*number + 1));
                }
                cells.push(cell);
                return Ok(is_begun.then_some(cells));
            }
            is_begun = true;
            for (at, &byte) in piece.iter().enumerate() {
                bytes += 1;
                match byte {
                    b'"' if is_quoted => (is_quoted, is_after_quote) = (false, true),
                    byte if is_quoted => cell.push(byte),
                    b'"' if is_after_quote => {
                        cell.push(b'"');
                        (is_quoted, is_after_quote) = (true, false);
                    }
                    b'"' if cell.is_empty() => is_quoted = true,
                    b'\n' => {
                        cells.push(cell);
                        file.consume(at + 1);
                        return Ok(Some(cells));
                    }
                    b',' => {
                        is_after_quote = false;
                        cells.push(std::mem::take(&mut cell));
                    }
                    b'\r' => {}
                    byte => {
                        is_after_quote = false;
                        cell.push(byte);
                    }
                }
                if bytes > MOST_BYTES || cells.len() >= MOST_CELLS {
                    return Err(RowError::Long(*number + 1));
                }
            }
            let read = piece.len();
            file.consume(read);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::runs::import::RunError;
    use crate::runs::import::scalars::{Point, Scalars, ScalarsError};

    fn parse(text: &str, modified: f64) -> Result<Scalars, String> {
        let folder = std::env::temp_dir();
        super::parse(text.as_bytes(), modified, Scalars::new(&folder)).map_err(|error: RunError| error.to_string())
    }

    fn table(text: &str) -> Scalars {
        parse(text, 1000.0).expect("it is a table")
    }

    /// Lists step, time, seconds of training, and value of the points of a tag.
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
        assert_eq!(points(&mut scalars, "val, loss"), [(2, 1000.0, 1.5, 3.0)]);
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
        // The training ended when the file was written.
        assert_eq!(times(["0.5", "100"]), [900.5, 1000.0]);
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
    fn measured_columns_of_one_value_and_texts_of_metrics_are_no_settings() {
        let scalars = table(
            "step,loss,grad_norm,tokens,throughput,beta1,seed,acc\n1,2,0,512,9,0.9,1,n/a\n2,1,0,512,9,0.9,1,n/a\n\
             end,1,,,,,,\n",
        );
        // The last row is left out, and does not count.
        assert_eq!(serde_json::Value::from(scalars.settings.clone()), json!({"beta1": 0.9, "seed": 1}));
        let shown: Vec<&str> = scalars.metric_tags().map(|tag| scalars.tags[tag].name.as_str()).collect();
        assert_eq!(shown, ["loss", "grad_norm", "tokens", "throughput"]);
        assert!(lines(&scalars).iter().any(|line| line.starts_with("cells of the column `acc`")));
    }

    #[test]
    fn texts_that_never_repeat_name_no_curves() {
        let of = |texts: [&str; 3]| {
            table(&format!("step,loss,saved\n1,3,{}\n2,2,{}\n2,1,{}\n", texts[0], texts[1], texts[2])).varying_text
        };
        assert_eq!(of(["a", "b", "c"]), None);
        assert_eq!(of(["a", "b", "a"]).as_deref(), Some("saved"));
        for name in ["date", "datetime", "timestamp"] {
            let day = "2026-01-01 00:00:00";
            let mut scalars = table(&format!("step,{name},loss\n1,{day},3\n2,{day},2\n2,{day},1\n"));
            assert_eq!(points(&mut scalars, "loss")[0].1, 1_767_225_600.0, "{name}");
        }
    }

    #[test]
    fn tables_with_numbers_as_keys_or_other_numbers_are_not_long() {
        let names = |text: &str| table(text).tags.into_iter().map(|tag| tag.name).collect::<Vec<_>>();
        assert_eq!(names("step,key,value,loss\n1,10,0.5,2\n2,11,0.25,1\n"), ["key", "value", "loss"]);
        assert_eq!(names("step,key,value\n1,10,0.5\n2,11,0.25\n"), ["key", "value"]);
        assert_eq!(names("step,key,value,loss\n1,a,0.5,2\n2,b,0.25,1\n"), ["value", "loss"]);
        assert_eq!(names("step,tag,value,seed,epoch\n1,a,2,3,0\n2,a,1,3,1\n"), ["a", "seed", "epoch"]);
    }

    #[test]
    fn apostrophes_are_removed_only_before_formulas() {
        let names = |text: &str| table(text).tags.into_iter().map(|tag| tag.name).collect::<Vec<_>>();
        assert_eq!(names("step,'a,'=b,''=c\n1,1,1,1\n"), ["'a", "=b", "'=c"]);
        assert_eq!(names("step,tag,value\n1,'+a,1\n"), ["+a"]);
        let scalars = table("step,loss,rule\n1,2,'@a\n2,1,'@a\n");
        assert_eq!(serde_json::Value::from(scalars.settings), json!({"rule": "@a"}));
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

#[cfg(test)]
mod rows_tests {
    use super::Rows;

    fn rows(text: &str) -> Vec<Vec<String>> {
        let mut rows = Rows::new(std::io::BufReader::with_capacity(3, text.as_bytes()));
        let mut all = Vec::new();
        while let Some(row) = rows.next().expect("rows") {
            all.push(row);
        }
        all
    }

    #[test]
    fn quotes_hold_commas_lines_and_quotes() {
        let text = "\u{feff}a,\"b, \"\"c\"\"\"\r\n\n,\n\"two\nlines\",\"\"\n5\",x";
        assert_eq!(
            rows(text),
            [vec!["a", "b, \"c\""], vec!["", ""], vec!["two\nlines", ""], vec!["5\"", "x"]]
                .map(|row| row.iter().map(|cell| (*cell).to_owned()).collect::<Vec<_>>())
        );
        assert_eq!(rows(""), Vec::<Vec<String>>::new());
    }
}
