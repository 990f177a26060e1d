//! Filters of runs, typed as text.
//!
//! ```text
//! filter     = term { "," term }
//! term       = comparison | words
//! comparison = field operator value
//! operator   = "=" | "!=" | "<" | "<=" | ">" | ">=" | "~" | "!~"
//! ```
//!
//! A run must fit all terms. Words must all occur in its name, folder, note, tags, state or settings. `~` holds for a
//! part of a text. `=` compares numbers where both are numbers, else whole texts; case does not count, nor do hyphens
//! and spaces in names of optimizers. Quotes hold commas and operators. A run without a value fits only `!=` and `!~`.

use std::ops::Range;

use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;
use valleyscope_engine::identifier::folded;

use super::column::{Column, Columns};
use super::facts::{NAME, NOTE, OPTIMIZER, PROBLEM, RUN, RunFacts, STATE, TAGS, states};
use super::value::{Format, Value};

/// The condition that listed runs meet.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Filter(Vec<Term>);

#[derive(Clone, Debug, PartialEq)]
enum Term {
    Word(String),
    Comparison { field: String, format: Format, operator: Operator, operand: Operand },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operator {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Contains,
    ContainsNot,
}

/// The right side of a comparison, in lower case and as a number, where it is one.
#[derive(Clone, Debug, PartialEq)]
struct Operand {
    text: String,
    number: Option<f64>,
}

/// A mistake in a filter.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct FilterError {
    pub message: String,
    /// The mistaken bytes of the text; empty where something is missing.
    pub range: Range<usize>,
}

impl FilterError {
    /// The text with a mark below the mistake.
    pub fn marked(&self, text: &str) -> String {
        let before = text[..self.range.start].chars().count();
        let marks = text[self.range.clone()].chars().count().max(1);
        format!("{text}\n{}{}", " ".repeat(before), "^".repeat(marks))
    }
}

impl Operator {
    /// The operators in the order in which a text is compared with them.
    const ALL: [(&'static str, Operator); 10] = [
        ("!=", Operator::NotEqual),
        ("≠", Operator::NotEqual),
        ("!~", Operator::ContainsNot),
        ("<=", Operator::LessOrEqual),
        (">=", Operator::GreaterOrEqual),
        ("==", Operator::Equal),
        ("=", Operator::Equal),
        ("<", Operator::Less),
        (">", Operator::Greater),
        ("~", Operator::Contains),
    ];

    fn is_order(self) -> bool {
        matches!(self, Operator::Less | Operator::LessOrEqual | Operator::Greater | Operator::GreaterOrEqual)
    }

    fn is_negated(self) -> bool {
        matches!(self, Operator::NotEqual | Operator::ContainsNot)
    }
}

impl Filter {
    /// Parses a filter on runs with these columns.
    pub fn parse(text: &str, columns: &Columns) -> Result<Filter, FilterError> {
        let mut terms = Vec::new();
        for part in parts(text)? {
            match operator_in(text, part.clone()) {
                Some((at, sign, operator)) => {
                    terms.push(comparison(text, columns, part.start..at, operator, at + sign.len()..part.end)?);
                }
                None => terms.extend(words(&text[part]).map(Term::Word)),
            }
        }
        Ok(Filter(terms))
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The first word that none of some runs has, with the further texts in which it may occur.
    pub fn unknown_word<'r>(&self, runs: impl Iterator<Item = (&'r RunFacts, Vec<&'r str>)> + Clone) -> Option<&str> {
        let words = self.0.iter().filter_map(|term| match term {
            Term::Word(word) => Some(word.as_str()),
            Term::Comparison { .. } => None,
        });
        let mut unknown = words.filter(|word| !runs.clone().any(|(run, more)| has_word(run, &more, word)));
        unknown.next()
    }

    /// Whether a run fits all terms. `more` are further texts in which words may occur.
    pub fn admits(&self, run: &RunFacts, more: &[&str]) -> bool {
        self.0.iter().all(|term| match term {
            Term::Word(word) => has_word(run, more, word),
            Term::Comparison { field, format, operator, operand } => {
                let holds = compare(run, field, *format, *operator, operand);
                holds.unwrap_or(operator.is_negated())
            }
        })
    }
}

fn has_word(run: &RunFacts, more: &[&str], word: &str) -> bool {
    let contains = |text: &str| text.to_lowercase().contains(word);
    let own = [NAME, RUN, STATE, PROBLEM, OPTIMIZER, TAGS, NOTE].into_iter().filter_map(|field| run.get(field));
    let of_text = |value: &Value| matches!(value, Value::Text(text) if contains(text));
    let is_optimizer = |value: &Value| matches!(value, Value::Text(text) if folded(text) == folded(word));
    own.into_iter().any(of_text)
        || run.get(OPTIMIZER).is_some_and(is_optimizer)
        || more.iter().any(|text| contains(text))
}

/// Compares a run's value; `None` if it has none.
fn compare(run: &RunFacts, field: &str, format: Format, operator: Operator, operand: &Operand) -> Option<bool> {
    let value = run.get(field)?;
    if field == TAGS && matches!(operator, Operator::Equal | Operator::NotEqual) {
        let has = run.tags().iter().any(|tag| tag.to_lowercase() == operand.text);
        return Some(has != operator.is_negated());
    }
    if field == STATE && matches!(operator, Operator::Equal | Operator::NotEqual) {
        // A finished run may have diverged.
        let fields = [STATE, PROBLEM].into_iter().filter_map(|field| run.get(field));
        let is_it = |value: &Value| matches!(value, Value::Text(text) if text.split(", ").any(|it| it == operand.text));
        return Some(fields.into_iter().any(is_it) != operator.is_negated());
    }
    if operator.is_order() {
        let (own, other) = (value.number()?, operand.number?);
        return Some(match operator {
            Operator::Less => own < other,
            Operator::LessOrEqual => own <= other,
            Operator::Greater => own > other,
            _ => own >= other,
        });
    }
    let plain = |text: &str| if field == OPTIMIZER { folded(text) } else { text.to_lowercase() };
    let (text, other) = (|| plain(&format.text(value)), || plain(&operand.text));
    let holds = match operator {
        Operator::Contains | Operator::ContainsNot => text().contains(&other()),
        _ => match (value.number(), operand.number) {
            (Some(own), Some(other)) => own == other || (own.is_nan() && other.is_nan()),
            _ => text() == other(),
        },
    };
    Some(holds != operator.is_negated())
}

/// The names in a list separated by commas, which quotes may hold.
pub fn listed_fields(text: &str) -> impl Iterator<Item = &str> {
    // A quote that is not closed holds the rest.
    let whole = || std::iter::once(0..text.len()).collect();
    parts(text).unwrap_or_else(|_| whole()).into_iter().map(|part| &text[part])
}

/// The ranges of a text between commas outside of quotes, without spaces around them and empty ones.
fn parts(text: &str) -> Result<Vec<Range<usize>>, FilterError> {
    let (mut parts, mut begin, mut quote) = (Vec::new(), 0, None);
    for (at, sign) in text.char_indices() {
        match (sign, quote) {
            ('"', None) => quote = Some(at),
            ('"', Some(_)) => quote = None,
            (',', None) => {
                parts.push(begin..at);
                begin = at + 1;
            }
            _ => {}
        }
    }
    if let Some(at) = quote {
        let message = "expected a closing quote `\"`".to_owned();
        return Err(FilterError { message, range: at..text.len() });
    }
    parts.push(begin..text.len());
    let parts = parts.into_iter().map(|part| trimmed(text, part));
    Ok(parts.filter(|part| !part.is_empty()).collect())
}

fn trimmed(text: &str, range: Range<usize>) -> Range<usize> {
    let part = &text[range.clone()];
    let start = range.start + (part.len() - part.trim_start().len());
    start..(start + part.trim().len())
}

/// The position of the first operator outside of quotes.
fn operator_in(text: &str, part: Range<usize>) -> Option<(usize, &'static str, Operator)> {
    let mut is_quoted = false;
    for (at, sign) in text[part.clone()].char_indices() {
        is_quoted ^= sign == '"';
        let rest = &text[part.start + at..part.end];
        let found = Operator::ALL.iter().find(|(sign, _)| rest.starts_with(sign)).filter(|_| !is_quoted);
        if let Some((sign, operator)) = found {
            return Some((part.start + at, sign, *operator));
        }
    }
    None
}

fn comparison(
    text: &str,
    columns: &Columns,
    field: Range<usize>,
    operator: Operator,
    value: Range<usize>,
) -> Result<Term, FilterError> {
    let (field, value) = (trimmed(text, field), trimmed(text, value));
    let sign = text[field.end..value.start].trim();
    if field.is_empty() {
        return Err(FilterError { message: format!("expected a field before `{sign}`"), range: field });
    }
    let column = columns.find(&text[field.clone()]);
    let column = column.map_err(|error| FilterError { message: error.to_string(), range: field.clone() })?;
    if value.is_empty() {
        let message = format!("expected a value after `{}`", &text[field.start..value.start].trim_end());
        return Err(FilterError { message, range: value });
    }
    let operand = operand(column, &text[value.clone()]);
    if column.field == STATE && matches!(operator, Operator::Equal | Operator::NotEqual) {
        check_state(&operand).map_err(|message| FilterError { message, range: value.clone() })?;
    }
    if operator.is_order() {
        check_order(column, sign, &operand).map_err(|message| FilterError { message, range: value })?;
    }
    Ok(Term::Comparison { field: column.field.clone(), format: column.format, operator, operand })
}

/// Refuses a word that is no state.
fn check_state(operand: &Operand) -> Result<(), String> {
    if states().any(|state| state == operand.text) {
        return Ok(());
    }
    let likeness = |state: &&str| strsim::jaro_winkler(state, &operand.text);
    let alike = states().max_by(|a, b| likeness(a).total_cmp(&likeness(b))).filter(|state| likeness(state) > 0.75);
    let hint = alike.map_or_else(
        || format!("expected {}", states().collect::<Vec<_>>().join(", ")),
        |state| format!("did you mean `{state}`?"),
    );
    Err(format!("there is no state `{}`; {hint}", operand.text))
}

fn check_order(column: &Column, sign: &str, operand: &Operand) -> Result<(), String> {
    let Column { field, format, .. } = column;
    if !format.is_number() {
        return Err(format!("`{sign}` compares numbers, and `{field}` has texts; use = or ~"));
    }
    if operand.number.is_some() {
        return Ok(());
    }
    let expected = match format {
        Format::Duration => "a time such as 90 s, 5 min, 2 h or 1 d",
        Format::Moment => "a date such as 2026-03-01 or 2026-03-01T12:00",
        Format::Fraction => "a number such as 0.97 or 97 %",
        _ => "a number such as 0.01 or 1e-3",
    };
    Err(format!("expected {expected}, found `{}`", operand.text))
}

fn operand(column: &Column, typed: &str) -> Operand {
    let text = typed.trim_matches('"').to_lowercase();
    let plain = text.replace('−', "-");
    let unit = |ends: &[(&str, f64)]| {
        let of = |(end, factor): &(&str, f64)| Some(plain.strip_suffix(end)?.trim().parse::<f64>().ok()? * factor);
        ends.iter().find_map(of)
    };
    let number = plain.parse().ok().or_else(|| match column.format {
        Format::Fraction => unit(&[("%", 0.01)]),
        Format::Duration => unit(&[("min", 60.0), ("s", 1.0), ("m", 60.0), ("h", 3600.0), ("d", 86_400.0)]),
        Format::Moment => moment(typed.trim_matches('"')),
        _ => None,
    });
    Operand { text, number }
}

/// The seconds since 1970 of a date, or of a date and a time, in UTC.
fn moment(typed: &str) -> Option<f64> {
    let typed = typed.replace(' ', "T");
    let time = typed.parse::<DateTime>().or_else(|_| typed.parse::<Date>().map(DateTime::from)).ok()?;
    Some(time.to_zoned(TimeZone::UTC).ok()?.timestamp().as_duration().as_secs_f64())
}

/// The words of a text, in lower case; quoted ones are one word.
fn words(text: &str) -> impl Iterator<Item = String> {
    let lower = text.to_lowercase();
    let pieces = lower.split('"').enumerate().flat_map(|(index, piece)| match index % 2 {
        0 => piece.split_whitespace().map(str::to_owned).collect::<Vec<_>>(),
        _ => vec![piece.to_owned()],
    });
    pieces.filter(|word| !word.is_empty()).collect::<Vec<_>>().into_iter()
}
