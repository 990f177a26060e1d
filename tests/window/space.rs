//! The camera of the surface in space: projection, line of sight, and picking.

use proptest::prelude::*;
use valleyscope_experiments::view::{Camera, HeightField, Orbit, SpaceView, SymLog, ViewAxes};

const SCALE: SymLog = SymLog::symmetric(0.5, 10.0);
const CAMERA: Camera = Camera { center: [0.5, -0.25], width: 3.0 };

fn waves([x, y]: [f64; 2]) -> f64 {
    3.0 * (2.0 * x).sin() * (1.5 * y).cos() + x
}

fn view(orbit: Orbit) -> SpaceView {
    SpaceView { camera: CAMERA, orbit, size_px: [800.0, 600.0] }
}

fn dot(a: [f64; 3], b: [f64; 3]) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

fn views() -> impl Strategy<Value = SpaceView> {
    let camera = ([-5.0..5.0, -5.0..5.0], -6.0..4.0)
        .prop_map(|(center, exponent): ([f64; 2], f64)| Camera { center, width: 10_f64.powf(exponent) });
    let orbit = (-180.0..180.0, 5.0..=90.0).prop_map(|(azimuth, elevation)| Orbit { azimuth, elevation });
    let size = [100.0_f32..2000.0, 100.0_f32..2000.0];
    (camera, orbit, size).prop_map(|(camera, orbit, size_px)| SpaceView { camera, orbit, size_px })
}

fn points() -> impl Strategy<Value = [f64; 3]> {
    [-1.0..1.0, -1.0..1.0, -0.5..0.5]
}

proptest! {
    #[test]
    fn a_turn_keeps_the_distance_of_the_eye(view in views(), turn in [-1e3..1e3, -1e3..1e3]) {
        let turned = SpaceView { orbit: view.orbit.turned(turn), ..view };
        let eye = turned.eye();
        prop_assert!((dot(eye, eye).sqrt() - SpaceView::DISTANCE).abs() < 1e-9);
        prop_assert!(Orbit::ELEVATIONS.contains(&turned.orbit.elevation));
        prop_assert!((-180.0..=180.0).contains(&turned.orbit.azimuth));
    }

    #[test]
    fn the_axes_of_the_picture_are_at_right_angles(view in views()) {
        let ViewAxes { right, up, back } = view.axes();
        for (one, other) in [(right, up), (up, back), (back, right)] {
            prop_assert!(dot(one, other).abs() < 1e-12);
        }
        for axis in [right, up, back] {
            prop_assert!((dot(axis, axis) - 1.0).abs() < 1e-12);
        }
    }

    #[test]
    fn the_ray_through_a_projected_point_hits_it(view in views(), point in points()) {
        let ray = view.ray(view.project(point).px);
        let to_point = [0, 1, 2].map(|axis| point[axis] - ray.origin[axis]);
        let along = dot(to_point, ray.direction);
        let missed = [0, 1, 2].map(|axis| to_point[axis] - along * ray.direction[axis]);
        prop_assert!(dot(missed, missed).sqrt() < 1e-3, "missed by {missed:?}");
    }

    #[test]
    fn places_of_the_plane_return(view in views(), place in [-1.0..1.0, -1.0..1.0]) {
        let back = view.box_from_xy(view.xy_from_box(place));
        // A narrow view far from the origin has few digits left.
        prop_assert!((0..2).all(|axis| (back[axis] - place[axis]).abs() < 1e-8), "{back:?}");
    }

    #[test]
    fn a_drag_moves_the_middle_of_the_plane_along(view in views(), delta in [-3.0_f32..3.0, -3.0_f32..3.0]) {
        prop_assume!(view.orbit.elevation > 20.0);
        let panned = SpaceView { camera: view.panned(delta), ..view };
        let [x, y] = panned.box_from_xy(view.camera.center);
        let [before, after] = [[0.0; 3], [x, y, 0.0]].map(|point| view.project(point).px);
        for axis in 0..2 {
            prop_assert!((after[axis] - before[axis] - delta[axis]).abs() < 0.3, "{before:?} {after:?} {delta:?}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn the_point_under_the_pointer_is_the_one_drawn_there(
        place in [-0.98..0.98, -0.98..0.98],
        azimuth in -180.0..180.0,
        elevation in 10.0..=90.0,
    ) {
        let (field, view) = (HeightField::sample(waves, CAMERA, &SCALE), view(Orbit { azimuth, elevation }));
        let point = field.point(place).expect("the waves are finite");
        let hit = field.hit(&view.ray(view.project(point).px));
        if field.hides(&view, point) {
            // A point in front of it, or the side of the box.
            let distance = |place| view.project(field.point(place).expect("on the surface")).distance;
            prop_assert!(hit.is_none_or(|hit| distance(hit) < distance(place)));
        } else if let Some(hit) = hit {
            let px = |place| view.project(field.point(place).expect("on the surface")).px;
            let [one, other] = [px(hit), px(place)];
            prop_assert!((one[0] - other[0]).hypot(one[1] - other[1]) < 0.5, "{hit:?} instead of {place:?}");
        }
    }

    #[test]
    fn from_above_nothing_is_hidden(place in [-1.0..1.0, -1.0..1.0]) {
        let (field, view) = (HeightField::sample(waves, CAMERA, &SCALE), view(Orbit { azimuth: 0.0, elevation: 90.0 }));
        let point = field.point(place).expect("the waves are finite");
        // The eye is not infinitely far, so that a steep slope near the edge may turn away from it.
        prop_assume!(place.iter().all(|part| part.abs() < 0.3));
        prop_assert!(!field.hides(&view, point));
        let hit = field.hit(&view.ray(view.project(point).px)).expect("the surface is there");
        prop_assert!((0..2).all(|axis| (hit[axis] - place[axis]).abs() < 1e-3));
    }
}
