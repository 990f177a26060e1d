//! How optimizers are told apart wherever they are shown: each rule has a colour and a mark of its own.

use super::RuleKind;

/// A mark that stands for an optimizer, for readers who cannot see its colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Marker {
    pub shape: MarkerShape,
    /// Whether the shape has a hole.
    pub is_open: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MarkerShape {
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
    const SHAPES: [MarkerShape; 10] = [
        MarkerShape::Circle,
        MarkerShape::Square,
        MarkerShape::Triangle,
        MarkerShape::Diamond,
        MarkerShape::Cross,
        MarkerShape::Star,
        MarkerShape::Plus,
        MarkerShape::Down,
        MarkerShape::Left,
        MarkerShape::Right,
    ];

    /// The radius of an open marker in those of a filled one: larger, so that as much of the colour is seen.
    pub const OPEN: f32 = 1.2;
    /// The radius of its hole, likewise.
    pub const HOLE: f32 = 0.45;

    pub const fn filled(shape: MarkerShape) -> Marker {
        Marker { shape, is_open: false }
    }

    /// Creates an open marker of a shape with an inside: not a cross, plus or star.
    pub(crate) const fn open(shape: MarkerShape) -> Marker {
        Marker { shape, is_open: true }
    }

    /// All marks: the filled ones, then those with a hole.
    fn all() -> impl Iterator<Item = Marker> {
        let has_inside =
            |shape: &MarkerShape| !matches!(shape, MarkerShape::Cross | MarkerShape::Plus | MarkerShape::Star);
        Self::SHAPES
            .into_iter()
            .map(Marker::filled)
            .chain(Self::SHAPES.into_iter().filter(has_inside).map(Marker::open))
    }
}

/// The marks of optimizers side by side, of which the rules have the marks `own`. The first of each rule has the rule's
/// mark; the others take turns with those of no rule, and then with those of no rule beside them.
pub fn markers(own: impl IntoIterator<Item = Marker>) -> Vec<Marker> {
    let own: Vec<Marker> = own.into_iter().collect();
    let is_of_a_rule = |marker: &Marker| RuleKind::ALL.iter().any(|kind| kind.info().marker == *marker);
    let (of_rules, spare): (Vec<Marker>, Vec<Marker>) = Marker::all().partition(is_of_a_rule);
    // A typed rule has one of the spare marks.
    let others: Vec<Marker> = spare.into_iter().chain(of_rules).filter(|marker| !own.contains(marker)).collect();
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
    use super::{Marker, MarkerShape, markers};

    #[test]
    fn a_rule_has_its_mark_wherever_it_stands_and_copies_have_others() {
        let [circle, square, triangle, star] =
            [MarkerShape::Circle, MarkerShape::Square, MarkerShape::Triangle, MarkerShape::Star].map(Marker::filled);
        assert_eq!(markers([circle, square, triangle]), [circle, square, triangle]);
        assert_eq!(markers([triangle, circle, triangle, triangle]), [triangle, circle, star, square]);
    }

    #[test]
    fn each_of_seven_copies_has_a_mark_of_its_own() {
        let mut marks: Vec<String> =
            markers([Marker::filled(MarkerShape::Circle); 7]).iter().map(|mark| format!("{mark:?}")).collect();
        marks.sort();
        marks.dedup();
        assert_eq!(marks.len(), 7, "{marks:?}");
    }
}
