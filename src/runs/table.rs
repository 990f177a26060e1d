//! Tables of runs and of groups of runs, as text, CSV and JSON.

use std::cmp::Reverse;

use serde_json::{Map, json};
use valleyscope_engine::terminal_escape::visible;
use valleyscope_experiments::view::ticks::with_edge;
use valleyscope_runs::Better;

use super::column::{Column, Columns};
use super::facts::{NAME, OPTIMIZER, PROBLEM, RUN, RunFacts, STATE, STEP};
use super::value::{Aggregate, Format, Value};
use super::{Group, Grouping};
use crate::export::{CsvCell, CsvWriter};

/// The largest number of characters of a text where the width of the lines is not limited.
const LONGEST: usize = 60;
/// The number of characters to which longer texts are shortened before a column is left out.
const SHORTEST: usize = 20;
const GAP: usize = 2;

/// A table of runs, or of groups of runs.
pub struct PrintedTable {
    header: Vec<Heading>,
    rows: Vec<Vec<Cell>>,
}

struct Heading {
    field: String,
    /// The title in the text; a column without one is only in files.
    title: String,
    /// Whether files have a column for the deviation.
    deviates: bool,
    /// Whether its texts can be shortened.
    is_text: bool,
    worth: u8,
}

/// The worth of a column that a narrow table keeps.
const KEPT: u8 = u8::MAX;
/// The worth from which a column is kept longer than others, also where its values are equal.
const KEPT_IF_EQUAL: u8 = 6;

/// How much a column says about runs: a narrow table leaves out those of the least worth first.
fn worth(column: &Column) -> u8 {
    match &*column.field {
        RUN | NAME => KEPT,
        STATE | PROBLEM => KEPT_IF_EQUAL,
        field if field.starts_with("best_") => 5,
        OPTIMIZER => 4,
        _ if column.is_setting => 3,
        STEP => 2,
        _ if column.better != Better::Neither => 1,
        _ => 0,
    }
}

impl Heading {
    fn of(column: &Column) -> Heading {
        // Users type the names of runs.
        let is_text = column.format == Format::Text && column.field != RUN;
        let (field, title) = (column.field.clone(), column.heading.clone());
        Heading { field, title, deviates: false, is_text, worth: worth(column) }
    }

    /// Makes the heading of a column that belongs to groups.
    fn of_group(field: impl Into<String>, title: &str) -> Heading {
        Heading { field: field.into(), title: title.to_owned(), deviates: false, is_text: false, worth: KEPT }
    }
}

/// A cell: its text for users, and its values for programs.
struct Cell {
    text: String,
    value: Option<Value>,
    deviation: Option<f64>,
    /// Whether the runs of the row have the column's field, even if its value is not known.
    has_field: bool,
}

impl Cell {
    fn of(column: &Column, run: &RunFacts) -> Cell {
        let has_field = run.has_field(&column.field);
        Cell { has_field, ..Cell::of_row(column.text(run), column.of(run).cloned()) }
    }

    /// Makes the cell of a value that belongs to the row itself.
    fn of_row(text: impl Into<String>, value: Option<Value>) -> Cell {
        Cell { text: text.into(), value, deviation: None, has_field: true }
    }

    fn mean(column: &Column, aggregate: &Aggregate) -> Cell {
        let deviation = if let Aggregate::Mean { deviation, .. } = aggregate { Some(*deviation) } else { None };
        let value = aggregate.value().map(|value| value.into_owned());
        Cell { deviation, ..Cell::of_row(aggregate.text(column.format), value) }
    }
}

impl PrintedTable {
    /// Makes a table of runs in their order.
    pub fn of_runs<'f>(runs: impl Iterator<Item = &'f RunFacts>, shown: &[&Column]) -> PrintedTable {
        let row = |run| shown.iter().map(|column| Cell::of(column, run)).collect();
        PrintedTable { header: shown.iter().map(|column| Heading::of(column)).collect(), rows: runs.map(row).collect() }
    }

    /// Makes a table of groups: the fields that their runs share, the number of runs, and a statistic of numbers. A
    /// column whose values differ in a group is left out unless `keeps_all`.
    pub fn of_groups(
        runs: &[&RunFacts],
        groups: &[Group],
        grouping: &Grouping,
        columns: &Columns,
        shown: &[&Column],
        keeps_all: bool,
    ) -> PrintedTable {
        let shared: Vec<&Column> = grouping.by.iter().filter_map(|field| columns.get(field)).collect();
        let best_over = grouping.best_over.as_ref().and_then(|field| columns.get(field));
        let of_all = |column: &Column, group: &Group| {
            column.of_group(group.shown.iter().map(|index| runs[*index]), grouping.statistic)
        };
        let is_common = |column: &Column| {
            let is_same = |group: &Group| !matches!(of_all(column, group), Aggregate::Several(_));
            keeps_all || (column.format.is_number() && !column.is_setting) || groups.iter().all(is_same)
        };
        let is_key = |column: &Column| shared.iter().copied().chain(best_over).any(|key| key.field == column.field);
        let others: Vec<&Column> =
            shown.iter().copied().filter(|column| !is_key(column) && is_common(column)).collect();
        let row = |group: &Group| {
            let first = runs[group.shown[0]];
            let mut cells: Vec<Cell> = shared.iter().map(|column| Cell::of(column, first)).collect();
            if let Some(column) = best_over {
                let best = Cell::mean(column, &of_all(column, group));
                let mark = group.edge().map(|edge| Value::Text(edge.mark().trim_end().to_owned()));
                let text = with_edge(group.edge(), &best.text);
                cells.extend([Cell { text, ..best }, Cell::of_row("", mark)]);
            }
            let count = group.shown.len();
            cells.push(Cell::of_row(count.to_string(), Some(Value::Whole(count as u64))));
            cells.extend(others.iter().map(|column| {
                let has_field = group.shown.iter().any(|index| runs[*index].has_field(&column.field));
                Cell { has_field, ..Cell::mean(column, &of_all(column, group)) }
            }));
            cells
        };
        let measured = |column: &&Column| Heading {
            deviates: column.format.is_number()
                && !column.is_setting
                && grouping.statistic.has_deviation(column.better),
            ..Heading::of(column)
        };
        let key = |column: &Column| Heading { worth: KEPT, ..Heading::of(column) };
        let mut header: Vec<Heading> = shared.iter().map(|column| key(column)).collect();
        // Only files have the mark of an edge in a separate column.
        let edge = |column: &Column| Heading::of_group(format!("{}_edge", column.field), "");
        header.extend(best_over.into_iter().flat_map(|column| [key(column), edge(column)]));
        header.push(Heading::of_group("runs", "RUNS"));
        header.extend(others.iter().map(measured));
        PrintedTable { header, rows: groups.iter().map(row).collect() }
    }

    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Formats the table as lines with aligned columns. If lines have at most `most` characters, columns of little
    /// worth are left out and texts are shortened in the middle, unless names of runs alone are longer.
    pub fn text(&self, most: Option<usize>) -> String {
        let longest = most.unwrap_or(LONGEST);
        let text = |(cell, heading): (&Cell, &Heading)| match heading.is_text {
            true => without_middle(&visible(&cell.text), longest),
            false => visible(&cell.text).into_owned(),
        };
        let texts = |row: &Vec<Cell>| row.iter().zip(&self.header).map(text).collect();
        let titles = self.header.iter().map(|heading| heading.title.clone()).collect();
        let rows: Vec<Vec<String>> = std::iter::once(titles).chain(self.rows.iter().map(texts)).collect();
        let shown = self.fitting(&rows, most);
        let line = |row: &Vec<String>| {
            let cells = shown.iter().map(|(column, width)| format!("{:width$}", without_middle(&row[*column], *width)));
            cells.collect::<Vec<_>>().join(&" ".repeat(GAP)).trim_end().to_owned() + "\n"
        };
        rows.iter().map(line).collect()
    }

    /// Selects the columns that fit into lines of at most `most` characters, with their widths.
    fn fitting(&self, rows: &[Vec<String>], most: Option<usize>) -> Vec<(usize, usize)> {
        let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
        let titled = (0..self.header.len()).filter(|column| !self.header[*column].title.is_empty());
        let mut shown: Vec<(usize, usize)> = titled.map(|column| (column, width(column))).collect();
        let Some(most) = most else { return shown };
        let least =
            |(column, width): (usize, usize)| if self.header[column].is_text { width.min(SHORTEST) } else { width };
        let worth = |&(column, _): &(usize, usize)| {
            let worth = self.header[column].worth;
            let varies = rows[1..].iter().any(|row| row[column] != rows[1][column]);
            (worth >= KEPT_IF_EQUAL || varies, worth)
        };
        let mut by_worth = shown.clone();
        by_worth.sort_by_key(|it| Reverse(worth(it)));
        let mut room = most + GAP;
        by_worth.retain(|it| {
            let (width, is_kept) = (least(*it) + GAP, self.header[it.0].worth == KEPT);
            let fits = width <= room || is_kept;
            room = room.saturating_sub(if fits { width } else { 0 });
            fits
        });
        shown.retain(|it| by_worth.contains(it));
        while shown.iter().map(|(_, width)| width + GAP).sum::<usize>() > most + GAP {
            let spare = |it: (usize, usize)| it.1 - least(it);
            let Some(widest) = shown.iter_mut().max_by_key(|it| spare(**it)).filter(|it| spare(**it) > 0) else {
                break;
            };
            widest.1 -= 1;
        }
        shown
    }

    /// Formats the table as CSV, with all digits.
    pub fn csv(&self) -> Vec<u8> {
        let mut header = Vec::new();
        for Heading { field, deviates, .. } in &self.header {
            header.push(field.clone());
            header.extend(deviates.then(|| format!("{field}_std")));
        }
        let header: Vec<&str> = header.iter().map(String::as_str).collect();
        let written = CsvWriter::new(Vec::new(), &header).and_then(|mut table| {
            for row in &self.rows {
                let mut cells = Vec::new();
                for (cell, heading) in row.iter().zip(&self.header) {
                    cells.push(cell.value.as_ref().map_or(CsvCell::Text(""), Value::csv_cell));
                    if heading.deviates {
                        cells.push(cell.deviation.map_or(CsvCell::Text(""), CsvCell::Number));
                    }
                }
                table.row(&cells)?;
            }
            Ok(table.into_inner())
        });
        written.expect("a vector can be written")
    }

    /// Writes the rows as objects. Each has the fields of its own runs, or all columns, with `null` for unknown values;
    /// so its keys do not depend on other runs. Numbers that are not finite are texts, as in the events of a run.
    pub fn json(&self, has_all: bool) -> String {
        let number = |number: f64| match number {
            number if number.is_finite() => json!(number),
            number => json!(number.to_string()),
        };
        let object = |row: &Vec<Cell>| {
            let mut object = Map::new();
            for (cell, heading) in row.iter().zip(&self.header).filter(|(cell, _)| has_all || cell.has_field) {
                let value = match &cell.value {
                    None => serde_json::Value::Null,
                    Some(Value::Text(text)) => json!(text),
                    Some(Value::Whole(whole)) => json!(whole),
                    Some(Value::Number(value)) => number(*value),
                };
                object.insert(heading.field.clone(), value);
                if heading.deviates {
                    let deviation = cell.deviation.map_or(serde_json::Value::Null, number);
                    object.insert(format!("{}_std", heading.field), deviation);
                }
            }
            object
        };
        let all: Vec<Map<String, serde_json::Value>> = self.rows.iter().map(object).collect();
        serde_json::to_string_pretty(&all).expect("texts and finite numbers can be written") + "\n"
    }
}

/// Removes the middle of a text of more than `most` characters. More of its beginning stays.
fn without_middle(text: &str, most: usize) -> String {
    let count = text.chars().count();
    if count <= most {
        return text.to_owned();
    }
    let end = most.saturating_sub(1) / 3;
    let beginning = text.chars().take(most.saturating_sub(1 + end));
    beginning.chain(['…']).chain(text.chars().skip(count - end)).collect()
}

#[cfg(test)]
mod tests {
    use super::{Cell, Heading, KEPT, KEPT_IF_EQUAL, PrintedTable};

    #[test]
    fn a_narrow_table_leaves_out_equal_columns_first_and_shortens_titles_last() {
        let heading = |title: &str, is_text, worth| {
            let (field, title) = (title.to_lowercase(), title.to_owned());
            Heading { field, title, deviates: false, is_text, worth }
        };
        let header = vec![
            heading("FOLDER", false, KEPT),
            heading("NAME", true, KEPT),
            heading("STATE", true, KEPT_IF_EQUAL),
            heading("STEP", false, 2),
            heading("TIME", false, 0),
        ];
        let row = |name: &str, seconds: &str| {
            ["a-run", name, "finished", "50", seconds].map(|text| Cell::of_row(text, None)).into()
        };
        let title = "A title that is longer than the shortest, of one";
        let table = PrintedTable { header, rows: vec![row(title, "1 s"), row("Two", "2 s")] };
        let first = |most| table.text(Some(most)).lines().next().map(str::to_owned).unwrap_or_default();
        let names = |most| first(most).split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(names(200), "FOLDER NAME STATE STEP TIME");
        assert_eq!(names(50), "FOLDER NAME STATE STEP TIME", "the name is shortened");
        assert_eq!(names(49), "FOLDER NAME STATE TIME", "the steps are equal");
        assert_eq!(names(40), "FOLDER NAME STATE");
        assert_eq!(names(20), "FOLDER NAME");
        assert!(table.text(Some(40)).lines().all(|line| line.chars().count() <= 40));
        assert!(table.text(Some(200)).contains(title) && table.text(None).contains(title));
        assert!(table.text(Some(20)).contains("  A title that …of one"), "{}", table.text(Some(20)));
    }
}
