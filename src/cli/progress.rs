//! Progress of long work on stderr: a bar on a terminal, else a plain line every few seconds.

use std::fmt::Write;
use std::io::IsTerminal;
use std::time::{Duration, Instant};

use indicatif::{HumanDuration, ProgressBar, ProgressState, ProgressStyle};

use super::say;

const BETWEEN_LINES: Duration = Duration::from_secs(5);

/// How far a command has come.
pub struct Progress {
    unit: &'static str,
    total: u64,
    bar: Option<ProgressBar>,
    started: Instant,
    last_line: Instant,
}

impl Progress {
    /// Work of `total` units, such as "steps".
    ///
    /// No bar is drawn where results go to the same terminal.
    pub fn new(total: u64, unit: &'static str, results_on_stdout: bool) -> Self {
        let shares_terminal = results_on_stdout && std::io::stdout().is_terminal();
        let bar = (std::io::stderr().is_terminal() && !shares_terminal).then(|| {
            let template = format!("{{bar:30}} {{pos}} of {{len}} {unit}, {{rate}} a second, {{eta}} left");
            let style = ProgressStyle::with_template(&template).expect("the template is well-formed");
            let rate = |state: &ProgressState, text: &mut dyn Write| {
                // Writing into the bar's own text does not fail.
                let _ = write!(text, "{:.0}", state.per_sec());
            };
            ProgressBar::new(total).with_style(style.with_key("rate", rate))
        });
        let now = Instant::now();
        Progress { unit, total, bar, started: now, last_line: now }
    }

    /// `done` units are done.
    pub fn update(&mut self, done: u64) {
        match &self.bar {
            Some(bar) => bar.set_position(done),
            None if self.last_line.elapsed() >= BETWEEN_LINES => {
                self.last_line = Instant::now();
                let (unit, total) = (self.unit, self.total);
                let rate = done as f64 / self.started.elapsed().as_secs_f64();
                let left = Duration::try_from_secs_f64((total - done) as f64 / rate).unwrap_or(Duration::MAX);
                say(format_args!("{done} of {total} {unit}, {rate:.0} a second, {} left", HumanDuration(left)));
            }
            None => {}
        }
    }

    /// Takes the bar away.
    pub fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
