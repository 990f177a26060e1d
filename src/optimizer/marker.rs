//! How optimizers are told apart wherever they are shown: each rule has a colour and a mark of its own.

use super::RuleKind;

/// A shape that stands for an optimizer, for readers who cannot see its colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Marker {
    Circle,
    Square,
    Triangle,
    Diamond,
    Cross,
    Star,
    Plus,
    Down,
    Left,
    Right,
}

impl Marker {
    const ALL: [Marker; 10] = [
        Marker::Circle,
        Marker::Square,
        Marker::Triangle,
        Marker::Diamond,
        Marker::Cross,
        Marker::Star,
        Marker::Plus,
        Marker::Down,
        Marker::Left,
        Marker::Right,
    ];
}

/// The marks of optimizers side by side, of which the rules have the marks `own`. The first of each rule has the rule's
/// mark; the others take turns with those of no rule, and then with those of no rule beside them.
pub fn markers(own: impl IntoIterator<Item = Marker>) -> Vec<Marker> {
    let own: Vec<Marker> = own.into_iter().collect();
    let is_of_a_rule = |marker: &Marker| RuleKind::ALL.iter().any(|kind| kind.info().marker == *marker);
    let (of_rules, spare): (Vec<Marker>, Vec<Marker>) = Marker::ALL.into_iter().partition(is_of_a_rule);
    let absent = of_rules.into_iter().filter(|marker| !own.contains(marker));
    let others: Vec<Marker> = spare.into_iter().chain(absent).collect();
    let mut others = others.into_iter().cycle();
    let mut seen = Vec::new();
    let marker = |marker: Marker| {
        if seen.contains(&marker) {
            return others.next().unwrap_or(marker);
        }
        seen.push(marker);
        marker
    };
    own.iter().copied().map(marker).collect()
}

#[cfg(test)]
mod tests {
    use super::{Marker, markers};

    #[test]
    fn a_rule_has_its_mark_wherever_it_stands_and_copies_have_others() {
        use Marker::{Circle, Cross, Square, Star, Triangle};
        assert_eq!(markers([Circle, Square, Triangle]), [Circle, Square, Triangle]);
        assert_eq!(markers([Triangle, Circle, Triangle, Triangle]), [Triangle, Circle, Cross, Star]);
    }

    #[test]
    fn each_of_seven_copies_has_a_mark_of_its_own() {
        let mut marks: Vec<String> = markers([Marker::Circle; 7]).iter().map(|mark| format!("{mark:?}")).collect();
        marks.sort();
        marks.dedup();
        assert_eq!(marks.len(), 7, "{marks:?}");
    }
}
