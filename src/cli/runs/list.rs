//! `valleyscope runs list`: a table of all runs.

use std::io;

use console::Term;
use jiff::Timestamp;
use valleyscope_engine::optimizer::{ShownSetting, differing};
use valleyscope_engine::terminal_escape::visible_path;
use valleyscope_experiments::preset::Preset;
use valleyscope_experiments::workload::STEPS;
use valleyscope_runs::{Concern, MetricId, Ranks, RunFolder, RunHistory, RunReader, Started, now};

use super::find::{RunsLocation, began};
use super::{cell, in_force, left, newest, notes, print, progress, rate};
use crate::cli::{Failure, say};

const HEADER: [&str; 10] =
    ["RUN", "STATUS", "STEP", "RATE", "LEFT", "RANKS", "LOSS", "EVALUATED", "OPTIMIZER", "TITLE"];

/// The largest number of characters in each column. A name is never cut, as users type it; the system limits its
/// length.
const LONGEST: [usize; HEADER.len()] = [usize::MAX, 40, 45, 20, 20, 30, 40, 1000, 1000, 1000];

/// The largest width of lines in a file, a pipe or a narrow terminal, unless names or numbers are long.
const WIDTH: usize = 100;

/// The columns whose texts are shortened in the middle to fit, and the fewest characters left of each.
const SHORTENED: [(usize, usize); 3] = [(7, 30), (OPTIMIZER, 30), (TITLE, 12)];

/// Spaces between two columns.
const GAP: usize = 2;

/// The columns of the optimizer and of the title.
const OPTIMIZER: usize = 8;
const TITLE: usize = 9;

type Row = [String; HEADER.len()];

/// A run with its row.
struct Listed {
    began: Timestamp,
    row: Row,
    /// The settings to be named where they differ from other runs'.
    settings: Vec<ShownSetting>,
}

pub(super) fn run(place: &RunsLocation) -> Result<(), Failure> {
    // An unreadable run does not hide the others.
    let listed = |run: &RunFolder| row(run).unwrap_or_else(|error| unreadable(run, &error));
    let mut runs: Vec<Listed> = place.list()?.iter().map(listed).collect();
    if runs.is_empty() {
        say(format_args!("there are no runs in {}", place.folder.display()));
        return Ok(());
    }
    runs.sort_by_key(|run| std::cmp::Reverse(run.began));
    name_differences(&mut runs);
    let rows: Vec<Row> =
        std::iter::once(HEADER.map(str::to_owned)).chain(runs.into_iter().map(|run| run.row)).collect();
    print(&aligned(&rows, width()))
}

/// Adds to each optimizer the settings in which its run differs from others, besides those that each row has.
fn name_differences(runs: &mut [Listed]) {
    let settings: Vec<Vec<ShownSetting>> = runs.iter_mut().map(|run| std::mem::take(&mut run.settings)).collect();
    for (run, words) in runs.iter_mut().zip(differing(&settings)) {
        let text = std::iter::once(run.row[OPTIMIZER].clone()).filter(|text| !text.is_empty()).chain(words);
        let text = text.collect::<Vec<_>>().join(", ");
        run.row[OPTIMIZER] = cell(&text, LONGEST[OPTIMIZER]);
    }
}

/// Returns the settings of a run that its row does not have anyway.
fn other_settings(training: Option<&Preset>) -> Vec<ShownSetting> {
    let settings = training.map(Preset::shown_settings).unwrap_or_default();
    let is_shown = |setting: &ShownSetting| ["η ", "batch ", "seed "].iter().any(|it| setting.words.starts_with(it));
    settings.into_iter().filter(|setting| setting.meaning != STEPS && !is_shown(setting)).collect()
}

/// Returns the row of a run whose files cannot be read; the reason is printed separately.
fn unreadable(run: &RunFolder, error: &io::Error) -> Listed {
    say(format_args!("warning: cannot read {}: {error}", visible_path(&run.events())));
    let mut row = Row::default();
    (row[0], row[1]) = (run.name(), "unreadable".to_owned());
    Listed { began: began(run, &RunHistory::default()), row: in_a_line(row), settings: Vec::new() }
}

/// Returns the row with each cell in one line, and no wider than its column may be.
fn in_a_line(row: Row) -> Row {
    let mut longest = LONGEST.into_iter();
    row.map(|text| cell(&text, longest.next().expect("there is one for each column")))
}

/// Returns a run with its row.
fn row(run: &RunFolder) -> io::Result<Listed> {
    let mut reader = RunReader::brief(run.clone());
    let status = reader.status(now())?;
    let history = reader.history();
    let title = notes(run).title;
    let training = in_force(run, history);
    let title = if title.is_empty() { history.started().map_or("", |started| &started.title) } else { &title };
    let open = status.is_open();
    let concerns = Concern::summary(&Concern::of(&status, history, now()));
    let row = [
        run.name(),
        [status.word(), concerns].into_iter().filter(|words| !words.is_empty()).collect::<Vec<_>>().join(", "),
        progress(history) + &fork(history),
        rate(history).filter(|_| open).unwrap_or_default(),
        left(history).filter(|_| open).unwrap_or_default(),
        Ranks::of(history).map(|ranks| ranks.brief()).unwrap_or_default(),
        newest(history, &[("", MetricId::LOSS.info())]).concat(),
        evaluation(history),
        optimizer(history.started(), training.as_ref()),
        title.lines().next().unwrap_or_default().to_owned() + &synthetic(history),
    ];
    Ok(Listed { began: began(run, history), row: in_a_line(row), settings: other_settings(training.as_ref()) })
}

/// Returns the mark of synthetic data, whose numbers are not those of real ones.
fn synthetic(history: &RunHistory) -> String {
    let started = history.started().filter(|started| started.synthetic);
    started.map_or_else(String::new, |started| format!(" ({})", started.data))
}

/// Returns the step at which a fork begins. The name of the other run does not fit into a line.
fn fork(history: &RunHistory) -> String {
    history.forked().map_or_else(String::new, |forked| format!(", forked at {}", forked.from_step))
}

fn evaluation(history: &RunHistory) -> String {
    newest(history, &history.evaluated().into_iter().map(|info| ("", info)).collect::<Vec<_>>()).join(", ")
}

/// Returns the optimizer with its learning rate and batch size, as far as there is one of each: those of the training or,
/// if its config cannot be read, those with which the run began.
fn optimizer(started: Option<&Started>, training: Option<&Preset>) -> String {
    let common = training.and_then(Preset::training);
    let name = started.map(|started| started.optimizer.clone()).or_else(|| Some(common.as_ref()?.label().to_owned()));
    let rate = common.as_ref().map(|common| common.learning_rate.get()).or_else(|| started?.learning_rate);
    let batch = common.as_ref().map(|common| common.batch_size).or_else(|| started?.batch_size);
    let parts = [name, rate.map(|rate| format!("lr {rate}")), batch.map(|batch| format!("batch {batch}"))];
    parts.into_iter().flatten().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(", ")
}

/// Returns the largest width of lines: that of the terminal, if there is a wide one.
fn width() -> usize {
    Term::stdout().size_checked().map_or(WIDTH, |(_, columns)| usize::from(columns).max(WIDTH))
}

/// Returns the rows as lines with aligned columns, narrowed to a width. Columns with nothing in them are left out.
fn aligned(rows: &[Row], width: usize) -> String {
    let longest = |rows: &[Row], column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let mut widths: [usize; HEADER.len()] = std::array::from_fn(|column| match longest(&rows[1..], column) {
        0 => 0,
        _ => longest(rows, column),
    });
    narrow(&mut widths, width);
    let titles: Vec<&str> = rows[1..].iter().map(|row| row[TITLE].as_str()).collect();
    let common = common_beginning(&titles);
    let line = |row: &Row| {
        let shown = row.iter().zip(widths).enumerate().filter(|(_, (_, width))| *width > 0);
        let cells = shown.map(|(column, (cell, width))| {
            let is_cut = cell.chars().count() > width;
            // Of a cut title the part stays in which it differs from the others.
            let rest = (column == TITLE && is_cut && common > 0).then(|| cell.get(common..)).flatten();
            let cell = rest.map_or_else(|| cell.clone(), |rest| format!("…{rest}"));
            format!("{:width$}", without_middle(&cell, width))
        });
        cells.collect::<Vec<_>>().join(&" ".repeat(GAP)).trim_end().to_owned() + "\n"
    };
    rows.iter().map(line).collect()
}

/// Returns the number of bytes of the words with which all texts begin, if there are several different ones.
fn common_beginning(texts: &[&str]) -> usize {
    let Some(first) = texts.first().filter(|first| texts.iter().any(|text| text != *first)) else { return 0 };
    let same =
        |text: &&str| first.chars().zip(text.chars()).take_while(|(a, b)| a == b).map(|(a, _)| a.len_utf8()).sum();
    let bytes: usize = texts.iter().map(same).min().unwrap_or(0);
    first[..bytes].rfind(' ').map_or(0, |space| space + 1)
}

/// Narrows the widest columns until a line has at most `most` characters.
fn narrow(widths: &mut [usize; HEADER.len()], most: usize) {
    let shown = widths.iter().filter(|&&width| width > 0);
    let line = shown.map(|width| width + GAP).sum::<usize>().saturating_sub(GAP);
    for _ in most..line {
        let spare = SHORTENED.map(|(column, fewest)| (widths[column].saturating_sub(fewest), column));
        let Some((1.., column)) = spare.into_iter().max() else { return };
        widths[column] -= 1;
    }
}

/// Returns the text, without its middle where it has more than `most` characters. More of its beginning stays.
fn without_middle(text: &str, most: usize) -> String {
    let count = text.chars().count();
    if count <= most {
        return text.to_owned();
    }
    let end = most.saturating_sub(1) / 3;
    let beginning = text.chars().take(most.saturating_sub(1 + end));
    beginning.chain(['…']).chain(text.chars().skip(count - end)).collect()
}
