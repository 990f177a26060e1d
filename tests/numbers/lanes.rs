//! Each lane of every kind of vector gives the bits of a plain number; where singles are divided by roots, all kinds
//! give the same bits.

use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use valleyscope_engine::instructions::{Instructions, VectorSet, WideWork, vectorized};
use valleyscope_engine::landscape::NarrowValley;
use valleyscope_engine::lanes::{Arithmetic, Bits, Doubles, Lanes, Planar, Real};
use valleyscope_engine::optimizer::{
    Batch, BiasCorrection, MOST_STATES, Moved, Numbers, RatedRule, Rates, Rule, RuleInput, RuleKind, RuleSpec,
    zero_state,
};
use valleyscope_engine::random::{Key, Normals, Streams};
use valleyscope_engine::setting::Extent;
use valleyscope_engine::with_rule;

use crate::specs::{all_rules, rated};
use crate::trajectories::next_draws;

const WIDTH: usize = 8;

/// Runs a check with every kind of vector that this machine has.
macro_rules! with_every_vector {
    ($check:ident($($argument:ident: $type:ty),*)) => {{
        vectorized! {
            in Set: instructions;
            fn in_vectors<>(instructions: Instructions; $($argument: $type),*) -> TestCaseResult {
                $check::<<Set as VectorSet>::Doubles>($($argument),*)
            }
        }

        for instructions in Instructions::all() {
            in_vectors(instructions, $($argument),*)?;
        }
    }};
}

/// Returns whether two numbers have the same bits; all NaNs count as equal.
fn same(a: f64, b: f64) -> bool {
    a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan()
}

fn numbers() -> impl Strategy<Value = [f64; WIDTH]> {
    prop::array::uniform8(prop_oneof![
        4 => -3.0..3.0,
        2 => prop::num::f64::NORMAL,
        1 => prop::num::f64::ANY,
        1 => Just(0.0),
        1 => Just(-0.0),
    ])
}

fn check_arithmetic<V: Doubles<WIDTH> + Planar>(a: [f64; WIDTH], b: [f64; WIDTH]) -> TestCaseResult {
    let (wide_a, wide_b) = (V::from_lanes(Lanes(a)), V::from_lanes(Lanes(b)));
    let wide = [
        wide_a + wide_b,
        wide_a - wide_b,
        wide_a * wide_b,
        wide_a / wide_b,
        -wide_a,
        wide_a.sqrt(),
        wide_a.abs(),
        wide_a.sign(),
        wide_a.smaller(wide_b),
        wide_a.larger(wide_b),
        V::splat(a[0]),
        V::from_bits(wide_a.to_bits()),
        wide_a.norm(),
        V::apart(V::both([wide_a, wide_b]).norm())[0],
        V::apart(V::both([wide_a, wide_b]).norm())[1],
    ]
    .map(V::to_lanes);
    for lane in 0..WIDTH {
        let first = a[0];
        let (a, b) = (a[lane], b[lane]);
        let plain = [
            a + b,
            a - b,
            a * b,
            a / b,
            -a,
            Arithmetic::sqrt(a),
            Arithmetic::abs(a),
            Arithmetic::sign(a),
            if a < b { a } else { b },
            if a > b { a } else { b },
            first,
            a,
            a.abs(),
            a.mul_add(a, b * b).sqrt(),
            a.mul_add(a, b * b).sqrt(),
        ];
        for (operation, (wide, plain)) in wide.iter().zip(plain).enumerate() {
            prop_assert!(same(wide.0[lane], plain), "operation {operation} on {a:?} and {b:?}");
        }
    }
    Ok(())
}

fn check_words<V: Doubles<WIDTH>>(a: [u64; WIDTH], b: [u64; WIDTH]) -> TestCaseResult {
    let (wide_a, wide_b) = (V::Bits::from_lanes(Lanes(a)), V::Bits::from_lanes(Lanes(b)));
    let wide = [
        wide_a + wide_b,
        wide_a - wide_b,
        wide_a & wide_b,
        wide_a | wide_b,
        wide_a ^ wide_b,
        wide_a.shift_left::<17>(),
        wide_a.shift_right::<12>(),
        wide_a.rotate_left::<23>(),
        V::Bits::splat(a[0]),
    ]
    .map(V::Bits::to_lanes);
    for lane in 0..WIDTH {
        let first = a[0];
        let (a, b) = (a[lane], b[lane]);
        let plain =
            [a.wrapping_add(b), a.wrapping_sub(b), a & b, a | b, a ^ b, a << 17, a >> 12, a.rotate_left(23), first];
        prop_assert_eq!(wide.map(|words| words.0[lane]), plain);
    }
    Ok(())
}

fn check_landscape<V: Doubles<WIDTH>>(landscape: NarrowValley, x: [f64; WIDTH], y: [f64; WIDTH]) -> TestCaseResult {
    let at = landscape.uv_from_xy([x, y].map(|lanes| V::from_lanes(Lanes(lanes))));
    let lanes = |valley: [V; 2]| valley.map(V::to_lanes);
    let slope_uv = lanes(landscape.gradient_uv(at));
    let slope = landscape.gradient(at).map(V::to_lanes);
    let back = landscape.xy_from_uv(at).map(V::to_lanes);
    let loss = landscape.loss(at).to_lanes();
    let at = lanes(at);
    for lane in 0..WIDTH {
        let at_one: [f64; 2] = landscape.uv_from_xy([x[lane], y[lane]]);
        let slope_uv_one = landscape.gradient_uv(at_one);
        prop_assert!(same(loss.0[lane], landscape.loss(at_one)));
        let pairs = [
            (at, at_one),
            (slope_uv, slope_uv_one),
            (slope, landscape.gradient(at_one)),
            (back, landscape.xy_from_uv(at_one)),
        ];
        for (wide, one) in pairs {
            prop_assert!(same(wide[0].0[lane], one[0]) && same(wide[1].0[lane], one[1]));
        }
    }
    Ok(())
}

/// A batch whose gradient at another place is that place times the gradient here, which is the curvature.
#[derive(Clone, Copy)]
struct Given<A>(A);

impl<A: Real> Batch<A> for Given<A> {
    fn gradient_at(self, theta: A) -> A {
        self.0 * theta
    }

    fn curvature(self) -> A {
        self.0
    }
}

/// A rule, and eight coordinates that take a step.
#[derive(Clone, Copy)]
struct WideStep {
    rule: RatedRule,
    bias: BiasCorrection,
    theta: [f64; WIDTH],
    gradient: [f64; WIDTH],
    /// The rule's states; squares are not negative.
    states: [[f64; WIDTH]; MOST_STATES],
}

/// Takes the step in vectors `V`, and each coordinate's alone.
fn check_step<R: Rule, V: Doubles<WIDTH>>(
    WideStep { rule, bias, theta, gradient, states }: &WideStep,
) -> TestCaseResult {
    fn step<R: Rule, A: Real>(
        rule: &RatedRule,
        bias: &BiasCorrection,
        number: impl Fn([f64; WIDTH]) -> A,
        [theta, gradient]: [[f64; WIDTH]; 2],
        states: [[f64; WIDTH]; MOST_STATES],
    ) -> (R::State<A>, Moved<A>) {
        let rates = Rates {
            learning_rate: A::splat(rule.learning_rate.get()),
            weight_decay: A::splat(rule.rule.weight_decay()),
            is_cautious: rule.rule.is_cautious(),
        };
        let batch = Given(number(gradient));
        let seen = RuleInput { rates, theta: number(theta), gradient: number(gradient), batch };
        let state = Numbers::from_fn(|index| number(states[index]));
        R::step(&bias.coefficients::<R, A>(&rule.rule), seen, state)
    }
    let bias = bias.after::<R>(&rule.rule, rule.learning_rate.get());
    let inputs = [*theta, *gradient];
    let (after, moved) = step::<R, V>(rule, &bias, |all| V::from_lanes(Lanes(all)), inputs, *states);
    let (theta, direction) = (moved.theta.to_lanes(), moved.direction.to_lanes());
    for lane in 0..WIDTH {
        let (after_one, one) = step::<R, f64>(rule, &bias, |all| all[lane], inputs, *states);
        prop_assert!(same(theta.0[lane], one.theta) && same(direction.0[lane], one.direction));
        let pairs = after.as_ref().iter().zip(after_one.as_ref());
        prop_assert!(pairs.into_iter().all(|(wide, one)| same(wide.to_lanes().0[lane], *one)));
    }
    Ok(())
}

fn check_rule<V: Doubles<WIDTH>>(step: WideStep) -> TestCaseResult {
    with_rule!(step.rule.rule.kind(), R => check_step::<R, V>(&step))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn arithmetic(a in numbers(), b in numbers()) {
        with_every_vector!(check_arithmetic(a: [f64; WIDTH], b: [f64; WIDTH]));
    }

    #[test]
    fn words(a in prop::array::uniform8(any::<u64>()), b in prop::array::uniform8(any::<u64>())) {
        with_every_vector!(check_words(a: [u64; WIDTH], b: [u64; WIDTH]));
    }

    #[test]
    fn landscape(x in numbers(), y in numbers(), a in 0.1..1000.0, c in -1.0..1.0, phi in -3.0..3.0) {
        let landscape = NarrowValley::new(a, c, phi);
        with_every_vector!(check_landscape(landscape: NarrowValley, x: [f64; WIDTH], y: [f64; WIDTH]));
    }

    #[test]
    fn update_rules(
        learning_rate in 0.0001..1.0,
        values in prop::array::uniform12(0.0..1.0_f64),
        (theta, gradient, m, second) in (numbers(), numbers(), numbers(), numbers()),
        powers in (0.0..0.999_f64, 0.0..0.999_f64),
    ) {
        for &kind in RuleKind::ALL {
            // Each hyperparameter is drawn from its slider's range or its choices.
            let mut rule = RuleSpec::on_plane(kind);
            for (of, part) in kind.info().hyperparameters.iter().zip(values) {
                let Extent { low, high, .. } = of.slider;
                let choices = of.choices().len() as f64;
                let value = if choices > 0.0 { part * choices } else { low + part * (high - low) };
                rule.set(of.key, if choices > 0.0 || of.is_whole() { value.floor() } else { value }).unwrap();
            }
            let bias = BiasCorrection::new(7, &rule, |key| Some(if key == "beta1" { powers.0 } else { powers.1 })).unwrap();
            let rule = rated(learning_rate, rule);
            let step = WideStep { rule, bias, theta, gradient, states: [m, second, m, m, m, m] };
            with_every_vector!(check_rule(step: WideStep));
        }
    }
}

#[test]
fn sign_of_zero_nan_and_infinity() -> TestCaseResult {
    fn check<V: Doubles<WIDTH>>(x: f64, expected: f64) -> TestCaseResult {
        for sign in V::splat(x).sign().to_lanes().0 {
            prop_assert!(sign == expected || sign.is_nan() && expected.is_nan(), "sign({x:?}) is {sign:?}");
        }
        Ok(())
    }
    for (x, expected) in [
        (0.0, 0.0),
        (-0.0, 0.0),
        (f64::MIN_POSITIVE, 1.0),
        (-f64::MIN_POSITIVE, -1.0),
        (5e-324, 1.0),
        (-5e-324, -1.0),
        (f64::INFINITY, 1.0),
        (f64::NEG_INFINITY, -1.0),
        (f64::NAN, f64::NAN),
        (-f64::NAN, f64::NAN),
    ] {
        prop_assert!(same(Arithmetic::sign(x), expected), "sign({x:?})");
        with_every_vector!(check(x: f64, expected: f64));
    }
    Ok(())
}

#[test]
fn random_streams_side_by_side_are_the_streams_alone() -> TestCaseResult {
    fn check<V: Doubles<WIDTH>>() -> TestCaseResult {
        let keys: [Key; WIDTH] = std::array::from_fn(|lane| Key::new(7).at(lane as u64));
        let mut together = Streams::new(keys);
        let mut alone = keys.map(|key| Streams::<1>::new([key]));
        for _ in 0..2000 {
            let pair = together.normal_pair::<V>().map(V::to_lanes);
            for (lane, stream) in alone.iter_mut().enumerate() {
                let pair_alone = next_draws(stream);
                prop_assert!(same(pair[0].0[lane], pair_alone[0]) && same(pair[1].0[lane], pair_alone[1]));
            }
        }
        Ok(())
    }
    with_every_vector!(check());
    Ok(())
}

/// A rule continues from its products of decay rates and its states. Both can be written and read back, and the
/// following steps have the same bits.
#[test]
fn state_is_written_and_read_back() {
    fn check<R: Rule>(rule: RatedRule) {
        let mut random = StdRng::seed_from_u64(1);
        let mut gradient = || random.random_range(-1.0..1.0);
        let rates = Rates {
            learning_rate: rule.learning_rate.get(),
            weight_decay: rule.rule.weight_decay(),
            is_cautious: rule.rule.is_cautious(),
        };
        let step = |bias: &mut BiasCorrection, theta: &mut f64, state: &mut R::State<f64>, gradient: f64| {
            *bias = bias.after::<R>(&rule.rule, rule.learning_rate.get());
            let seen = RuleInput { rates, theta: *theta, gradient, batch: Given(gradient) };
            let (after, moved) = R::step(&bias.coefficients::<R, f64>(&rule.rule), seen, *state);
            (*state, *theta) = (after, moved.theta);
        };
        let (mut bias, mut theta, mut state) = (BiasCorrection::START, 0.3, zero_state::<R, f64>());
        (0..20).for_each(|_| step(&mut bias, &mut theta, &mut state, gradient()));
        let write = |numbers: &[f64]| numbers.iter().map(|number| format!("{number:?}")).collect::<Vec<_>>();
        let read = |text: &str| text.parse::<f64>().unwrap();
        let powers: Vec<(&str, String)> =
            bias.powers(&rule.rule).map(|(key, power)| (key, format!("{power:?}"))).collect();
        let power = |key: &str| powers.iter().find(|(other, _)| *other == key).map(|(_, text)| read(text));
        let mut bias_read = BiasCorrection::new(bias.steps, &rule.rule, power).unwrap();
        let (mut theta_read, written) = (read(&format!("{theta:?}")), write(state.as_ref()));
        let mut state_read: R::State<f64> = Numbers::from_fn(|index| read(&written[index]));
        for _ in 0..20 {
            let gradient = gradient();
            step(&mut bias, &mut theta, &mut state, gradient);
            step(&mut bias_read, &mut theta_read, &mut state_read, gradient);
            assert_eq!(theta.to_bits(), theta_read.to_bits());
            assert_eq!(write(state.as_ref()), write(state_read.as_ref()));
            assert_eq!(bias, bias_read);
        }
    }
    for rule in all_rules(0.05) {
        with_rule!(rule.rule.kind(), R => check::<R>(rule));
    }
}

vectorized! {
    in Set: instructions;
    /// Does the work in singles.
    fn in_singles<W: WideWork>(instructions: Instructions; work: W) -> W::Output {
        <Set as VectorSet>::in_singles(work)
    }
}

/// `x / (factor × √square + term)` of rows of these four, in singles.
#[derive(Clone, Copy)]
struct OverRoots<'a>(&'a [[f32; 4]]);

impl WideWork for OverRoots<'_> {
    type Output = Vec<f64>;

    #[inline(always)]
    fn run<S: VectorSet, const N: usize, V>(self) -> Vec<f64>
    where
        V: Normals<N, Number: Real + Into<f64>> + Planar,
    {
        let mut all = Vec::with_capacity(self.0.len());
        for rows in self.0.chunks_exact(N) {
            let column = |column: usize| Lanes::from_fn(|lane| V::Number::splat(f64::from(rows[lane][column])));
            let [x, square, factor, term] = [0, 1, 2, 3].map(|index| V::from_lanes(column(index)));
            all.extend(x.over_root(square, factor, term).to_lanes().0.map(Into::into));
        }
        all
    }
}

#[test]
fn singles_are_divided_by_roots_alike_in_every_vector_and_to_a_millionth() {
    let mut random = StdRng::seed_from_u64(12);
    let mut power_of_ten = |from: f32, to: f32| 10_f32.powf(random.random_range(from..to));
    let mut rows: Vec<[f32; 4]> = (0..1 << 18)
        .map(|row| {
            let x = power_of_ten(-12.0, 6.0) * if row % 2 == 0 { 1.0 } else { -1.0 };
            // Squares range from subnormal singles on, where only Adam's ε counts.
            [x, power_of_ten(-44.0, 37.0), power_of_ten(-2.0, 1.5), power_of_ten(-9.0, -7.0)]
        })
        .collect();
    rows.iter_mut().step_by(1000).for_each(|row| row[1] = 0.0);
    let [plain, others @ ..] = &*Instructions::all() else { panic!("plain instructions are everywhere") };
    let plain = in_singles(*plain, OverRoots(&rows));
    for (row, found) in rows.iter().zip(&plain) {
        let [x, square, factor, term] = row.map(f64::from);
        let exact = x / (factor * square.sqrt() + term);
        let off = (found / exact - 1.0).abs();
        // Singles below 1e-37 have fewer digits.
        assert!(off < 1e-6 || exact.abs() < 1e-37, "{row:?} gives {found:e}, which should be {exact:e}");
    }
    let bits = |all: &[f64]| all.iter().map(|number| number.to_bits()).collect::<Vec<_>>();
    for instructions in others {
        assert!(bits(&in_singles(*instructions, OverRoots(&rows))) == bits(&plain), "{} differs", instructions.name());
    }
}

/// Computes functions of both x and y in singles, for each x and for each y: their norms, and the other one.
#[derive(Clone, Copy)]
struct OfBoth<'a>(&'a [[f32; 2]]);

impl WideWork for OfBoth<'_> {
    type Output = [[Vec<f64>; 2]; 2];

    #[inline(always)]
    fn run<S: VectorSet, const N: usize, V>(self) -> Self::Output
    where
        V: Normals<N, Number: Real + Into<f64>> + Planar,
    {
        let mut all = Self::Output::default();
        for rows in self.0.chunks_exact(N) {
            let column = |column: usize| Lanes::from_fn(|lane| V::Number::splat(f64::from(rows[lane][column])));
            let both = V::both([0, 1].map(|index| V::from_lanes(column(index))));
            for (all, found) in all.iter_mut().zip([both.norm(), both.exchanged()]) {
                for (all, found) in all.iter_mut().zip(V::apart(found)) {
                    all.extend(found.to_lanes().0.map(Into::into));
                }
            }
        }
        all
    }
}

#[test]
fn both_coordinates_have_the_norm_of_both_and_change_places_in_every_vector() {
    let mut random = StdRng::seed_from_u64(13);
    let places: Vec<[f32; 2]> = (0..256).map(|_| [(); 2].map(|()| random.random_range(-3.0..3.0))).collect();
    let expected: Vec<f64> = places.iter().map(|[x, y]| f64::from(x.mul_add(*x, y * y).sqrt())).collect();
    let coordinate = |index: usize| places.iter().map(|place| f64::from(place[index])).collect::<Vec<_>>();
    for instructions in Instructions::all() {
        let [norms, exchanged] = in_singles(instructions, OfBoth(&places));
        assert!(norms == [expected.clone(), expected.clone()], "{}", instructions.name());
        assert!(exchanged == [coordinate(1), coordinate(0)], "{}", instructions.name());
    }
}

#[test]
fn singles_divided_by_the_root_of_what_is_not_finite_are_not_finite() {
    for square in [f32::NAN, f32::INFINITY] {
        let found = in_singles(Instructions::all()[0], OverRoots(&[[1.0, square, 1.0, 1e-8]; 16]));
        assert!(found.iter().all(|found| !found.is_finite()), "{square} gives {found:?}");
    }
}
