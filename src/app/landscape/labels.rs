//! Places labels beside arrow tips.

use egui::{Rect, Vec2, emath::Rot2, pos2};

/// A label to place: the tip of its arrow, the arrow's direction, and the label's size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct LabelRequest {
    pub tip: egui::Pos2,
    pub unit: Vec2,
    pub size: Vec2,
}

/// The gap between a tip and its label, in points.
const GAP: f32 = 6.0;
/// The increment of the tried distances beyond the gap, in points.
const RING: f32 = 12.0;
const RINGS: usize = 16;
/// The tried rotations from the arrow's direction, in degrees, the best first.
const TURNS: [f32; 12] = [0.0, 20.0, -20.0, 40.0, -40.0, 65.0, -65.0, 95.0, -95.0, 130.0, -130.0, 180.0];

/// Half the side of the square about a tip that is reserved for its own label, in points.
const TIP: f32 = 6.0;

/// Places the labels within `inside`, each as near beyond its tip as possible, without covering another, another's tip
/// or `taken`. Returns `None` for a tip outside of it, and where no place is free.
pub(super) fn place(wanted: &[LabelRequest], inside: Rect, taken: &[Rect]) -> Vec<Option<Rect>> {
    let mut taken = taken.to_vec();
    let mut places = Vec::with_capacity(wanted.len());
    for (index, label) in wanted.iter().enumerate() {
        let others = wanted.iter().enumerate().filter(|(other, _)| *other != index);
        let tips = others.map(|(_, other)| Rect::from_center_size(other.tip, Vec2::splat(2.0 * TIP)));
        let taken_here: Vec<Rect> = taken.iter().copied().chain(tips).collect();
        let place = inside.contains(label.tip).then(|| free(label, inside, &taken_here)).flatten();
        taken.extend(place);
        places.push(place);
    }
    places
}

fn free(label: &LabelRequest, inside: Rect, taken: &[Rect]) -> Option<Rect> {
    let candidates = (0..RINGS).flat_map(|ring| TURNS.map(|turn| (ring as f32 * RING, turn)));
    candidates
        .map(|(distance, turn)| {
            let unit = Rot2::from_angle(turn.to_radians()) * label.unit;
            // The label's extent back towards the tip.
            let reach = 0.5 * (unit.x.abs() * label.size.x + unit.y.abs() * label.size.y);
            let center = label.tip + unit * (GAP + distance + reach);
            Rect::from_center_size(pos2(center.x.round(), center.y.round()), label.size)
        })
        .find(|place| inside.contains_rect(*place) && !taken.iter().any(|other| other.intersects(*place)))
}

#[cfg(test)]
mod tests {
    use egui::{Rect, pos2, vec2};

    use super::{LabelRequest, place};

    #[test]
    fn labels_of_arrows_that_agree_do_not_cover_each_other() {
        let inside = Rect::from_min_size(pos2(0.0, 0.0), vec2(400.0, 300.0));
        let wanted = |tip, unit| LabelRequest { tip, unit, size: vec2(58.0, 16.0) };
        for tip in [pos2(200.0, 150.0), pos2(3.0, 3.0), pos2(398.0, 290.0)] {
            let labels = [wanted(tip, vec2(0.0, 1.0)); 5];
            let mark = Rect::from_center_size(tip, vec2(10.0, 10.0));
            let places: Vec<Rect> = place(&labels, inside, &[mark]).into_iter().map(|p| p.expect("room")).collect();
            for (index, one) in places.iter().enumerate() {
                assert!(inside.contains_rect(*one) && !one.intersects(mark));
                assert!(places[..index].iter().all(|other| !other.intersects(*one)), "{places:?}");
            }
        }
    }

    #[test]
    fn a_label_does_not_stand_at_the_tip_of_another_arrow() {
        let inside = Rect::from_min_size(pos2(0.0, 0.0), vec2(400.0, 300.0));
        let wanted = |tip| LabelRequest { tip, unit: vec2(1.0, 0.0), size: vec2(40.0, 16.0) };
        // The second tip is where the first label would be.
        let labels = [wanted(pos2(200.0, 150.0)), wanted(pos2(225.0, 150.0))];
        let places: Vec<Rect> = place(&labels, inside, &[]).into_iter().map(|p| p.expect("room")).collect();
        for (label, other) in [(0, 1), (1, 0)] {
            let distance = places[label].distance_to_pos(labels[other].tip);
            assert!(distance >= 5.0, "label {label} is {distance} points from the other's tip");
        }
        assert_eq!(places[1], Rect::from_min_size(pos2(231.0, 142.0), vec2(40.0, 16.0)));
    }

    #[test]
    fn a_lone_label_stands_straight_beyond_its_tip() {
        let inside = Rect::from_min_size(pos2(0.0, 0.0), vec2(400.0, 300.0));
        let label = LabelRequest { tip: pos2(200.0, 150.0), unit: vec2(1.0, 0.0), size: vec2(40.0, 16.0) };
        let expected = Rect::from_min_size(pos2(206.0, 142.0), vec2(40.0, 16.0));
        assert_eq!(place(&[label], inside, &[]), [Some(expected)]);
        let outside = LabelRequest { tip: pos2(-5.0, 150.0), ..label };
        assert_eq!(place(&[outside], inside, &[]), [None]);
    }
}
