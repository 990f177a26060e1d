//! Progress of long work on stderr: a bar on a terminal, else a plain line every few seconds.

use std::fmt::Write;
use std::io::IsTerminal;
use std::time::{Duration, Instant};

use indicatif::{HumanDuration, ProgressBar, ProgressState, ProgressStyle};

use super::say;

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
    /// The unit for steps that are bytes.
    pub(super) const MEGABYTES: ProgressUnit = ProgressUnit { name: "MB", size: 1e6 };

    fn of(self, count: f64) -> f64 {
        count / self.size
    }
}

/// The progress of a command.
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
                format!("{{bar:30}} {{done}} of {{all}} {}, {{rate}} a second, {{eta}} left{{msg}}", unit.name);
            let style = ProgressStyle::with_template(&template).expect("the template is well-formed");
            let shown = |of: fn(&ProgressState) -> f64| {
                move |state: &ProgressState, text: &mut dyn Write| {
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

    /// Sets the number of all steps.
    pub(super) fn set_total(&mut self, total: u64) {
        self.total = total;
        if let Some(bar) = &self.bar {
            bar.set_length(total);
        }
    }

    /// Sets the number of finished steps.
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
                say(format_args!("{done:.0} of {total:.0} {name}, {rate:.0} a second, {left} left{}", self.note));
            }
            None => {}
        }
    }

    /// Sets the text after the rest.
    pub(super) fn note(&mut self, note: String) {
        match &self.bar {
            Some(bar) => bar.set_message(note),
            None => self.note = note,
        }
    }

    /// Removes the bar.
    pub(super) fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
