//! What an import leaves out, by its reason.

/// What was left out of a run, or changed in it, as lines for users.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct LeftOut {
    reasons: Vec<Reason>,
    /// The number of things that were left out for other reasons.
    more: u64,
}

#[derive(Clone, Debug, PartialEq)]
struct Reason {
    /// In the plural, such as "points of `loss` with a negative step".
    what: String,
    example: String,
    count: u64,
}

impl LeftOut {
    /// The most reasons that are named.
    const MOST_NAMED: usize = 50;

    /// Counts `count` things that were left out for a reason, with an example.
    pub(super) fn add(&mut self, what: &str, count: u64, example: impl FnOnce() -> String) {
        match self.reasons.iter().position(|reason| reason.what == what) {
            Some(index) => self.reasons[index].count += count,
            None if count == 0 => {}
            None if self.reasons.len() < Self::MOST_NAMED => {
                self.reasons.push(Reason { what: what.to_owned(), example: example(), count });
            }
            None => self.more += count,
        }
    }

    /// Adds a sentence about something that is not counted.
    pub(super) fn note(&mut self, sentence: String) {
        self.add(&sentence, 1, String::new);
    }

    /// Returns a line for each reason, such as "points of `loss` with a negative step are left out (3, such as -1)".
    pub(super) fn lines(&self) -> impl Iterator<Item = String> {
        let line = |Reason { what, example, count }: &Reason| match example.as_str() {
            "" => what.clone(),
            example => format!("{what} are left out ({count}, such as {example})"),
        };
        let rest = (self.more > 0).then(|| format!("{} more are left out for other reasons", self.more));
        self.reasons.iter().map(line).chain(rest)
    }
}
