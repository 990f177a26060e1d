//! How optimizers are told apart wherever they are shown: each rule has a colour and a mark of its own.

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

/// The marks that no rule has as its own.
const SPARE: [Marker; 6] = [Marker::Cross, Marker::Star, Marker::Plus, Marker::Down, Marker::Left, Marker::Right];

/// The marks of optimizers side by side, of which the rules have the marks `own`. The first of each rule has the rule's
/// mark; the others take turns with those that no rule has.
pub fn markers(own: impl IntoIterator<Item = Marker>) -> Vec<Marker> {
    let mut seen = Vec::new();
    let mut spare = SPARE.into_iter().cycle();
    let mut marker = |own| {
        if seen.contains(&own) {
            return spare.next().expect("they take turns for ever");
        }
        seen.push(own);
        own
    };
    own.into_iter().map(&mut marker).collect()
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
