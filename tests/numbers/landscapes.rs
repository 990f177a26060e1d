//! Every registered landscape against values and derivatives that SymPy computed with 40 digits
//! (`goldens/landscapes.npz`), and the programs of landscapes in sweeps against runs step by step.

use valleyscope_engine::landscape::{LandscapeFormula, LandscapeKind, LandscapeSpec, Uv};

use crate::golden::Golden;

/// The error of a value relative to its size, or to 1e-3 if it is smaller.
fn error(found: f64, expected: f64) -> f64 {
    (found - expected).abs() / expected.abs().max(1e-3)
}

#[test]
fn every_landscape_agrees_with_40_digits() {
    let golden = Golden::read("landscapes");
    for &kind in LandscapeKind::ALL {
        let name = kind.key();
        let (points, expected) = (golden.array(&format!("{name}_at")), golden.array(&format!("{name}_values")));
        assert_eq!((points.len(), expected.len()), (40, 100), "{name}");
        let landscape = LandscapeSpec::new(kind).landscape();
        for (at, expected) in points.chunks_exact(2).zip(expected.chunks_exact(5)) {
            let at = [at[0], at[1]];
            let ([by_x, by_y], [by_x_twice, by_y_twice]) = (landscape.gradient(at), landscape.hessian_diagonal(at));
            let found = [landscape.loss(at), by_x, by_y, by_x_twice, by_y_twice];
            for (found, &expected) in found.into_iter().zip(expected) {
                assert!(error(found, expected) <= 1e-12, "{name} at {at:?}: {found}, expected {expected}");
            }
        }
    }
}

#[test]
fn the_parts_of_a_landscape_agree_with_each_other() {
    for &kind in LandscapeKind::ALL {
        let landscape = LandscapeSpec::new(kind).with("rotation_degrees", 20.0).unwrap().landscape();
        for at in [[0.7, -0.4], [-1.3, 0.9], [2.1, 1.7]] {
            let name = kind.name();
            let local = landscape.local(at);
            assert!(error(local.loss, landscape.loss(at)) < 1e-14, "{name}");
            assert_eq!(landscape.gradient_at(&local), landscape.gradient(at), "{name}");
            let beside: Vec<f64> = (0..11).map(|index| at[0] + 0.1 * f64::from(index)).collect();
            let mut losses = [0.0; 11];
            landscape.losses_along(&beside, at[1], &mut losses);
            assert_eq!(losses[..], beside.iter().map(|x| landscape.loss([*x, at[1]])).collect::<Vec<_>>(), "{name}");
            let Uv { u, v } = landscape.uv_from_xy(at);
            assert_eq!(landscape.depth(&local, at), u, "{name}");
            let back = landscape.xy_from_uv(Uv { u, v });
            assert!((0..2).all(|axis| (back[axis] - at[axis]).abs() < 1e-14), "{name}: {back:?}");
            let h = 1e-6;
            for axis in 0..2 {
                let [mut low, mut high] = [at; 2];
                low[axis] -= h;
                high[axis] += h;
                let slope = (landscape.loss(high) - landscape.loss(low)) / (2.0 * h);
                assert!(error(slope, landscape.gradient(at)[axis]) < 1e-5, "{name}: {slope}");
            }
        }
    }
}

#[test]
fn parameters_are_kept_where_both_landscapes_have_them() {
    let valley = LandscapeSpec::default().with("sharpness", 42.0).unwrap();
    let river = LandscapeSpec::new(LandscapeKind::River).in_place_of(&valley);
    assert_eq!((river.get("sharpness"), river.get("narrowing")), (Some(42.0), Some(1.0)));
    assert_eq!(river.rotation_degrees(), 0.0, "the rotation is the landscape's own");
    assert!(river.with("exponent", 2.0).unwrap_err().to_string().contains("sharpness, slope, narrowing"));
    assert!(river.with("narrowing", -1.0).unwrap_err().to_string().contains("from 0 to 100"));
}

/// "Amplitude A" is the height of Rastrigin's waves, and how far the floor of the river bends.
#[test]
fn parameters_of_one_name_and_another_meaning_are_not_kept() {
    let rastrigin = LandscapeSpec::new(LandscapeKind::Rastrigin);
    let river = LandscapeSpec::new(LandscapeKind::River);
    assert_ne!(rastrigin.get("amplitude"), river.get("amplitude"));
    assert_eq!(river.in_place_of(&rastrigin).get("amplitude"), river.get("amplitude"));
}

/// The golden has no points where both valleys have one loss; there a minimum without softness has a corner.
#[test]
fn two_valleys_are_smooth_where_their_losses_are_equal() {
    let set = |spec: LandscapeSpec, key: &str, value: f64| spec.with(key, value).unwrap();
    let spec = set(LandscapeSpec::new(LandscapeKind::TwoValleys), "sharpness_ratio", 1.0);
    let same = set(set(spec, "slope_ratio", 1.0), "separation", 0.0).landscape();
    let ([by_u, by_v], [by_u_twice, by_v_twice]) = (same.gradient([0.7, 0.3]), same.hessian_diagonal([0.7, 0.3]));
    let found: [f64; 4] = [by_u, by_v, by_u_twice, by_v_twice];
    for (found, expected) in found.into_iter().zip([-0.1, 0.3, 0.0, 1.0]) {
        assert!((found - expected).abs() < 1e-12, "{found}, expected {expected}");
    }
    let apart = spec.landscape();
    let ([by_u, by_v], h): ([f64; 2], f64) = (apart.gradient([0.0, 0.0]), 1e-6);
    let slope = |[x, y]: [f64; 2]| (apart.loss([x, y]) - apart.loss([-x, -y])) / (2.0 * h);
    assert!((by_u - slope([h, 0.0])).abs() < 1e-6 && (by_v - slope([0.0, h])).abs() < 1e-6, "{by_u}, {by_v}");
}

#[test]
fn derivatives_are_no_numbers_where_the_loss_is_none() {
    let formula = LandscapeFormula::new("Logarithm of x", "L = ln(x) + y^2").unwrap();
    let landscape = LandscapeSpec::new(LandscapeKind::Formula(formula)).landscape();
    let at: [f64; 2] = [-1.0, 0.5];
    assert!(landscape.loss(at).is_nan());
    assert!(landscape.gradient(at).iter().all(|part| part.is_nan()));
    assert_eq!(landscape.gradient([2.0, 0.5]), [0.5, 1.0]);
}

#[test]
fn ranges_of_infinite_length_are_refused() {
    let error = LandscapeFormula::new("Wide", "param k = 0 in -1e308..1e308\nL = k*x").unwrap_err();
    assert!(error.to_string().contains("a range of finite length"), "{error}");
}

#[test]
fn labels_of_axes_keep_the_capitals_of_symbols() {
    let label = |kind: LandscapeKind, key: &str| {
        LandscapeSpec::new(kind).parameter(key).expect("it has the parameter").axis_label()
    };
    assert_eq!(label(LandscapeKind::River, "amplitude"), "amplitude A");
    assert_eq!(label(LandscapeKind::Valley, "sharpness"), "sharpness a");
    let formula = LandscapeFormula::new("Capital", "param K = 1 in 0..2\nL = K*x").unwrap();
    assert_eq!(label(LandscapeKind::Formula(formula), "K"), "K");
}
