//! Failures and output of commands, progress of long work, and Ctrl-C. Text from files is escaped so that it
//! cannot act on a terminal.

use std::borrow::Cow;
use std::fmt::Arguments;
use std::io::{IsTerminal, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use std::{fmt, io};

use anyhow::anyhow;
use indicatif::{HumanDuration, ProgressBar, ProgressState, ProgressStyle};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;
use valleyscope_engine::terminal_escape::{shortened, visible, visible_lines};
use valleyscope_experiments::difference::{DifferenceRow, DifferenceTable, SettingColumn};

/// The reason why a command ends early.
pub(crate) enum Failure {
    /// An argument, or a file that it names, is wrong.
    BadInput(anyhow::Error),
    Failed(anyhow::Error),
    /// The command was interrupted by Ctrl-C or by a signal.
    Interrupted,
    /// The run was stopped before it finished.
    Stopped,
}

impl Failure {
    pub(super) fn bad_input(error: impl Into<anyhow::Error>) -> Failure {
        Failure::BadInput(error.into())
    }
}

impl From<anyhow::Error> for Failure {
    fn from(error: anyhow::Error) -> Self {
        Failure::Failed(error)
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Failure::Failed(error.into())
    }
}

/// Finds what the ending of the file stands for that an option names.
pub(super) fn by_ending<T: Copy>(option: &str, path: &Path, endings: &[(&str, T)]) -> Result<T, Failure> {
    let found = path.extension().unwrap_or_default();
    let known = endings.iter().find(|(ending, _)| found.eq_ignore_ascii_case(ending)).map(|(_, meaning)| *meaning);
    known.ok_or_else(|| {
        let endings: Vec<String> = endings.iter().map(|(ending, _)| format!(".{ending}")).collect();
        let endings = endings.join(", ");
        let endings = endings.rsplit_once(", ").map_or(endings.clone(), |(first, last)| format!("{first} or {last}"));
        Failure::BadInput(anyhow!("{option} must be a file that ends in {endings}, found {}", path.display()))
    })
}

pub(super) fn cannot_write(path: &Path) -> String {
    format!("cannot write {}", path.display())
}

/// Writes one or more lines to stderr. A closed stderr is not an error.
pub(super) fn say(line: Arguments<'_>) {
    let _ = writeln!(io::stderr(), "{}", visible_lines(&line.to_string()));
}

pub(super) fn print(text: &str) -> Result<(), Failure> {
    write(&visible_lines(text))
}

/// Prints the content of a file: unchanged to a file or another program, which may read it in turn; escaped to a
/// terminal.
pub(super) fn print_content(text: &str) -> Result<(), Failure> {
    write(&on_stdout(text))
}

/// Escapes a field of a table for stdout, if that is a terminal.
pub(super) fn on_stdout(text: &str) -> Cow<'_, str> {
    if io::stdout().is_terminal() { visible_lines(text) } else { Cow::Borrowed(text) }
}

/// Formats a cell of a list: the first characters of a text, in one line.
pub(super) fn cell(text: &str, longest: usize) -> String {
    shortened(&visible(text), longest).into_owned()
}

fn write(text: &str) -> Result<(), Failure> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(text.as_bytes())?;
    Ok(stdout.flush()?)
}

pub(super) fn indented(text: &str) -> String {
    text.lines().map(|line| format!("  {line}\n")).collect()
}

/// Formats rows of equal lengths with aligned columns, each after an indent.
pub(super) fn table<R: AsRef<[String]>>(rows: &[R], indent: &str) -> String {
    // Combining accents take no column.
    let columns = |cell: &str| cell.chars().filter(|c| !('\u{300}'..='\u{36f}').contains(c)).count();
    let count = rows.first().map_or(0, |row| row.as_ref().len());
    let width = |column: usize| rows.iter().map(|row| columns(&row.as_ref()[column])).max().unwrap_or(0);
    let widths: Vec<usize> = (0..count).map(width).collect();
    let line = |row: &R| {
        let padded = |(cell, width): (&String, &usize)| cell.clone() + &" ".repeat(width + 3 - columns(cell));
        let cells: String = row.as_ref().iter().zip(&widths).map(padded).collect();
        format!("{indent}{}\n", cells.trim_end())
    };
    rows.iter().map(line).collect()
}

const LONGEST: usize = 60;

/// Prints the results and the settings that differ, a line each, and the number of those that are equal.
pub(super) fn print_differences(columns: &[SettingColumn]) -> Result<(), Failure> {
    let differences = DifferenceTable::of(columns);
    let name = |name: &String| cell(name, LONGEST);
    let head = ["SETTING".to_owned(), "KEY".to_owned()].into_iter().chain(differences.names.iter().map(name)).collect();
    let row = |row: &DifferenceRow| -> Vec<String> {
        let own = [&row.label, &row.path].map(|text| cell(text, LONGEST));
        own.into_iter().chain(row.shown(LONGEST).iter().map(|value| visible(value).into_owned())).collect()
    };
    let all = || differences.results.iter().chain(&differences.rows);
    let rows: Vec<Vec<String>> = std::iter::once(head).chain(all().map(row)).collect();
    let rows = if all().next().is_none() { String::new() } else { table(&rows, "") + "\n" };
    print(&format!("{rows}{}\n", differences.equal_text()))
}

const BETWEEN_LINES: Duration = Duration::from_secs(5);

/// The unit of progress.
#[derive(Clone, Copy)]
pub(super) struct ProgressUnit {
    name: &'static str,
    /// The number of steps in one unit.
    size: f64,
}

impl ProgressUnit {
    #[cfg(feature = "app")]
    pub(super) const FRAMES: ProgressUnit = ProgressUnit { name: "frames", size: 1.0 };
    pub(super) const STEPS: ProgressUnit = ProgressUnit { name: "steps", size: 1.0 };
    pub(super) const MILLION_STEPS: ProgressUnit = ProgressUnit { name: "million steps", size: 1e6 };
    pub(super) const MEGABYTES: ProgressUnit = ProgressUnit { name: "MB", size: 1e6 };

    fn of(self, count: f64) -> f64 {
        count / self.size
    }
}

pub(super) struct ProgressLine {
    unit: ProgressUnit,
    total: u64,
    /// The text after the rest.
    note: String,
    bar: Option<ProgressBar>,
    started: Instant,
    last_line: Instant,
}

impl ProgressLine {
    /// Creates the progress of `total` steps, shown in the unit.
    ///
    /// No bar is drawn where results go to the same terminal.
    pub(super) fn new(total: u64, unit: ProgressUnit, results_on_stdout: bool) -> Self {
        let shares_terminal = results_on_stdout && std::io::stdout().is_terminal();
        let bar = (std::io::stderr().is_terminal() && !shares_terminal).then(|| {
            let template =
                format!("{{bar:30}} {{done}} of {{all}} {0}, {{rate}} {0} a second, {{eta}} left{{msg}}", unit.name);
            let style = ProgressStyle::with_template(&template).expect("the template is well-formed");
            let shown = |of: fn(&ProgressState) -> f64| {
                move |state: &ProgressState, text: &mut dyn fmt::Write| {
                    // Writing into a string does not fail.
                    let _ = write!(text, "{:.0}", unit.of(of(state)));
                }
            };
            let style = style
                .with_key("done", shown(|state| state.pos() as f64))
                .with_key("all", shown(|state| state.len().unwrap_or(0) as f64))
                .with_key("rate", shown(ProgressState::per_sec));
            ProgressBar::new(total).with_style(style)
        });
        let now = Instant::now();
        ProgressLine { unit, total, note: String::new(), bar, started: now, last_line: now }
    }

    pub(super) fn set_total(&mut self, total: u64) {
        self.total = total;
        if let Some(bar) = &self.bar {
            bar.set_length(total);
        }
    }

    pub(super) fn update(&mut self, done: u64) {
        match &self.bar {
            Some(bar) => bar.set_position(done),
            None if self.last_line.elapsed() >= BETWEEN_LINES => {
                self.last_line = Instant::now();
                let (unit, total) = (self.unit, self.total);
                let name = unit.name;
                let rate = done as f64 / self.started.elapsed().as_secs_f64();
                let left =
                    Duration::try_from_secs_f64(total.saturating_sub(done) as f64 / rate).unwrap_or(Duration::MAX);
                let [done, total, rate] = [done as f64, total as f64, rate].map(|count| unit.of(count));
                let left = HumanDuration(left);
                say(format_args!(
                    "{done:.0} of {total:.0} {name}, {rate:.0} {name} a second, {left} left{}",
                    self.note
                ));
            }
            None => {}
        }
    }

    pub(super) fn note(&mut self, note: String) {
        match &self.bar {
            Some(bar) => bar.set_message(note),
            None => self.note = note,
        }
    }

    pub(super) fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

/// Becomes true when the user interrupts the command.
pub(super) struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    /// Installs the handlers: from now on a first signal only raises the flag, and a second one ends the program at
    /// once.
    pub(super) fn listen() -> io::Result<Interrupt> {
        let raised = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM] {
            // This handler is registered first, so that the first signal finds the flag lowered.
            flag::register_conditional_shutdown(signal, 130, Arc::clone(&raised))?;
            flag::register(signal, Arc::clone(&raised))?;
        }
        Ok(Interrupt(raised))
    }

    pub(super) fn is_raised(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
