//! Whole runs in more than two dimensions.

use std::cell::RefCell;
use std::marker::PhantomData;
use std::ops::{Add, Div, Mul, Neg, Sub};

use super::axis::{Point, Variant};
use super::pixel_runs::SomeRuns;
use super::plane::StepBlocks;
use super::runs::{Metrics, RunLanes, append, of_equal_variant};
use super::spec::SweepSpec;
use crate::expression::orthogonal_column;
use crate::instructions::{OfSet, OwnFunction};
use crate::landscape::{ValleyInSpace, ValleyTerms};
use crate::lanes::{Arithmetic, Lanes, Real, Relation};
use crate::noise::{Action, GradientNoise};
use crate::optimizer::{
    Algebra, Batch, BiasCorrection, Function, Need, NoBatch, Numbers, Rates, RatioCorrection, Rule, RuleInput,
    RuleSpec, zero_state,
};
use crate::random::{Key, Normals};

/// The valley, the noise and the steps of the runs of a pixel in more than two dimensions.
pub(super) struct NdProblem<'a> {
    spec: &'a SweepSpec,
    pub valley: ValleyInSpace,
    pub noise: GradientNoise,
}

/// The number of steps between two checks for cancellation.
const STEP_BLOCK: usize = 16;

impl<'a> NdProblem<'a> {
    pub(super) fn new(spec: &'a SweepSpec, point: &Point) -> Self {
        let direction = direction(spec.seed, point.dimension.get());
        let [sharpness, slope] = point.landscape.valley().expect("only the valley has more than two dimensions");
        let valley = ValleyInSpace { sharpness, slope, direction };
        NdProblem { spec, valley, noise: point.noise.noise() }
    }
}

/// Runs of an optimizer in more than two dimensions, with the rule `R`.
pub(super) struct RunsInSpace<'a, const N: usize, V, R> {
    pub runs: SomeRuns<'a>,
    pub of: PhantomData<(V, R)>,
}

impl<const N: usize, V, R: Rule> OwnFunction for RunsInSpace<'_, N, V, R>
where
    V: Normals<N, Number: Real + Into<f64>> + OfSet,
{
    type Output = Option<Vec<Metrics<f64>>>;
    type Home = R;

    #[inline(always)]
    fn run(self) -> Option<Vec<Metrics<f64>>> {
        let SomeRuns { pixel, optimizer, runs } = self.runs;
        let problem = NdProblem::new(pixel.spec, pixel.point);
        let optimizer = &pixel.point.optimizers[optimizer];
        let mut metrics = Vec::with_capacity(runs.len());
        let arena = Arena::new(problem.valley.direction.len());
        for runs in of_equal_variant(optimizer, runs, N) {
            let lanes = RunLanes { optimizer, key: pixel.key, runs };
            let variant = lanes.variant();
            let rates = Rates {
                learning_rate: lanes.learning_rates::<N, V>(),
                weight_decay: V::splat(variant.rule.weight_decay()),
                is_cautious: variant.rule.is_cautious(),
            };
            let mut generator = lanes.generator::<N, V>();
            let has_curvature = R::info(&variant.rule).needs(Need::Curvature);
            let curvature_generator = has_curvature.then(|| lanes.curvature_generator::<N, V>());
            let mut batch = NdBatch::<N, V, R>::new(&problem, rates, &mut generator, curvature_generator);
            let mut blocks = StepBlocks::new(pixel.point.steps.get(), STEP_BLOCK, pixel.cancelled);
            loop {
                let steps = blocks.next();
                if steps == 0 {
                    break;
                }
                for _ in 0..steps {
                    batch.step(&problem, variant, &arena, &mut generator);
                }
            }
            if !blocks.are_through() {
                return None;
            }
            append::<N, V>(&mut metrics, batch.metrics, runs.len());
        }
        Some(metrics)
    }
}

/// A vector of runs.
pub(super) struct NdBatch<const N: usize, V: Normals<N> + OfSet, R: Rule> {
    /// The rates, with the base of the learning rate, which is that without its schedule.
    rates: Rates<V>,
    bias: BiasCorrection,
    pub theta: Vec<V>,
    /// The states of each coordinate.
    states: Vec<R::State<V>>,
    /// The gradient of each coordinate, for rules that are not element-wise; the noise of gradient and curvature, as
    /// factors or terms, follows.
    gradient: Vec<V>,
    noise: Vec<V>,
    curvature_noise: Vec<V>,
    curvature_generator: Option<V::Generator>,
    /// A buffer for one of the states, and for the parameters at which the gradient is computed, if not at θ.
    column: Vec<V>,
    pub terms: ValleyTerms<V>,
    metrics: Metrics<V>,
}

impl<const N: usize, V: Normals<N> + OfSet, R: Rule> NdBatch<N, V, R> {
    #[inline(always)]
    pub(super) fn new(
        problem: &NdProblem<'_>,
        rates: Rates<V>,
        generator: &mut V::Generator,
        curvature_generator: Option<V::Generator>,
    ) -> Self {
        let spread = V::splat(problem.spec.start_spread.get());
        let dimension = problem.valley.direction.len();
        let mut theta = Vec::with_capacity(dimension + 1);
        while theta.len() < dimension {
            theta.extend(V::normal_pair(generator).map(|normal| spread * normal));
        }
        theta.truncate(dimension);
        let metrics =
            Metrics { final_loss: V::splat(f64::NAN), smallest_loss: V::splat(f64::INFINITY), depth: V::splat(0.0) };
        let terms = problem.valley.terms(&theta);
        let states = vec![zero_state::<R, V>(); dimension];
        let [gradient, noise, curvature_noise, column] = [(); 4].map(|()| vec![V::splat(0.0); dimension]);
        let bias = BiasCorrection::START;
        NdBatch {
            rates,
            bias,
            theta,
            states,
            gradient,
            noise,
            curvature_noise,
            curvature_generator,
            column,
            terms,
            metrics,
        }
    }

    #[inline(always)]
    pub(super) fn step(
        &mut self,
        problem: &NdProblem<'_>,
        Variant { rule, schedule }: &Variant,
        arena: &Arena<V>,
        generator: &mut V::Generator,
    ) {
        let rate = schedule.factor(self.bias.steps + 1);
        let rates = Rates { learning_rate: self.rates.learning_rate * V::splat(rate), ..self.rates };
        self.bias = self.bias.after::<R>(rule, rate);
        let coefficients = self.bias.coefficients::<R, V>(rule);
        let (valley, noise) = (&problem.valley, &problem.noise);
        let [sigma, mean] = [noise.sigma, noise.mean].map(V::splat);
        if let Some(index) = R::GRADIENT_TOWARD {
            let part = V::splat(R::part_toward(&rule.hyper::<R>()));
            for coordinate in 0..self.theta.len() {
                let toward = self.states[coordinate].as_ref()[index];
                self.column[coordinate] = toward.mul_add(part, self.theta[coordinate]);
            }
            self.terms = valley.terms(&self.column);
        }
        let slopes = valley.slopes(self.terms);
        let is_of_elements = rule.needs_gradient_only();
        for (pair, thetas) in self.theta.chunks_mut(2).enumerate() {
            let draws: [V; 2] = draw(noise, generator);
            for (within, theta) in thetas.iter_mut().enumerate() {
                let coordinate = 2 * pair + within;
                let at = if R::GRADIENT_TOWARD.is_some() { self.column[coordinate] } else { *theta };
                let gradient = valley.gradient(slopes, coordinate, at);
                let drawn = draws[within].mul_add(sigma, mean);
                let noisy = noise.action.apply_to(gradient, drawn);
                if is_of_elements {
                    let seen = RuleInput { rates, theta: *theta, gradient: noisy, batch: NoBatch };
                    let moved = R::step_in_place(&coefficients, seen, &mut self.states[coordinate]);
                    *theta = moved.theta;
                } else {
                    self.gradient[coordinate] = noisy;
                    self.noise[coordinate] = drawn;
                }
            }
        }
        if let Some(generator) = &mut self.curvature_generator {
            for drawn in self.curvature_noise.chunks_mut(2) {
                for (drawn, draw) in drawn.iter_mut().zip(draw::<N, V>(noise, generator)) {
                    *drawn = draw.mul_add(sigma, mean);
                }
            }
        }
        if !is_of_elements {
            self.step_whole(problem, rule, rates, arena);
        }
        self.terms = valley.terms(&self.theta);
        let loss = valley.loss(self.terms);
        self.metrics = Metrics {
            final_loss: loss,
            smallest_loss: loss.smaller(self.metrics.smallest_loss),
            depth: self.terms.u.larger(self.metrics.depth),
        };
    }

    /// Steps the parameter as a whole along [`NdBatch::gradient`].
    #[inline(always)]
    fn step_whole(&mut self, problem: &NdProblem<'_>, rule: &RuleSpec, rates: Rates<V>, arena: &Arena<V>) {
        arena.clear();
        let coefficients = self.bias.coefficients::<R, Coordinates<'_, V>>(rule);
        let Rates { learning_rate, weight_decay, is_cautious } = rates;
        let rates = Rates {
            learning_rate: Coordinates::Same(learning_rate),
            weight_decay: Coordinates::Same(weight_decay),
            is_cautious,
        };
        let theta = arena.number(&self.theta);
        let batch = SpaceBatch {
            valley: &problem.valley,
            arena,
            theta,
            terms: self.terms,
            action: problem.noise.action,
            noise: arena.number(&self.noise),
            curvature_noise: arena.number(&self.curvature_noise),
        };
        let seen = RuleInput { rates, theta, gradient: arena.number(&self.gradient), batch };
        let state = Numbers::from_fn(|index| {
            for (column, state) in self.column.iter_mut().zip(&self.states) {
                *column = state.as_ref()[index];
            }
            arena.number(&self.column)
        });
        let (state, moved) = R::step(&coefficients, seen, state);
        for (coordinate, after) in self.states.iter_mut().enumerate() {
            *after = Numbers::from_fn(|index| state.as_ref()[index].value(coordinate));
        }
        moved.theta.write(&mut self.theta);
    }
}

/// Draws the noise of two coordinates.
#[inline(always)]
fn draw<const N: usize, V: Normals<N> + OfSet>(noise: &GradientNoise, generator: &mut V::Generator) -> [V; 2] {
    let mut draws = [V::normal_pair(generator)];
    noise.shape(&mut draws);
    draws[0]
}

/// The batch of a step in more than two dimensions.
#[derive(Clone, Copy)]
struct SpaceBatch<'a, V> {
    valley: &'a ValleyInSpace,
    arena: &'a Arena<V>,
    /// The parameters θ before the step, and their terms.
    theta: Coordinates<'a, V>,
    terms: ValleyTerms<V>,
    action: Action,
    /// The noise of each coordinate of the gradient, and of the curvature.
    noise: Coordinates<'a, V>,
    curvature_noise: Coordinates<'a, V>,
}

impl<'a, V: Real> Batch<Coordinates<'a, V>> for SpaceBatch<'a, V> {
    #[inline(always)]
    fn gradient_at(self, theta: Coordinates<'a, V>) -> Coordinates<'a, V> {
        let mut values = vec![V::splat(0.0); self.valley.direction.len()];
        theta.write(&mut values);
        let slopes = self.valley.slopes(self.valley.terms(&values));
        for (coordinate, value) in values.iter_mut().enumerate() {
            *value = self.valley.gradient(slopes, coordinate, *value);
        }
        self.action.apply_to(self.arena.number(&values), self.noise)
    }

    #[inline(always)]
    fn curvature(self) -> Coordinates<'a, V> {
        let mut values = vec![V::splat(0.0); self.valley.direction.len()];
        self.theta.write(&mut values);
        for (coordinate, value) in values.iter_mut().enumerate() {
            *value = self.valley.hessian_diagonal(self.terms, coordinate, *value);
        }
        self.action.apply_to(self.arena.number(&values), self.curvature_noise)
    }
}

/// Returns the valley's direction in a sweep with this seed, uniform on the sphere.
fn direction(seed: u64, dimension: usize) -> Vec<f64> {
    let mut generator = Lanes::<f64, 8>::generator(&std::array::from_fn(|_| Key::new(seed).at(u64::MAX)));
    let mut draws: Vec<f64> = Vec::with_capacity(dimension + 1);
    while draws.len() < dimension {
        draws.extend(Lanes::normal_pair(&mut generator).map(|normal: Lanes<f64, 8>| normal.0[0]));
    }
    draws.truncate(dimension);
    let length = draws.iter().map(|draw| draw * draw).sum::<f64>().sqrt();
    draws.iter().map(|draw| draw / length).collect()
}

/// The memory of a step's numbers.
pub(super) struct Arena<V> {
    dimension: usize,
    values: RefCell<Vec<V>>,
}

impl<V: Real> Arena<V> {
    pub(super) fn new(dimension: usize) -> Arena<V> {
        Arena { dimension, values: RefCell::default() }
    }

    /// Removes all numbers.
    pub(super) fn clear(&self) {
        self.values.borrow_mut().clear();
    }

    pub(super) fn number(&self, values: &[V]) -> Coordinates<'_, V> {
        let mut all = self.values.borrow_mut();
        let start = all.len();
        all.extend_from_slice(values);
        Coordinates::Each { arena: self, start }
    }
}

/// A number with a value for each coordinate.
#[derive(Clone, Copy)]
pub(super) enum Coordinates<'a, V> {
    Same(V),
    Each {
        arena: &'a Arena<V>,
        /// The index of the first coordinate's value in the arena.
        start: usize,
    },
}

impl<'a, V: Real> Coordinates<'a, V> {
    #[inline(always)]
    fn at(self, values: &[V], coordinate: usize) -> V {
        match self {
            Coordinates::Same(value) => value,
            Coordinates::Each { start, .. } => values[start + coordinate],
        }
    }

    fn arena(self) -> Option<&'a Arena<V>> {
        match self {
            Coordinates::Same(_) => None,
            Coordinates::Each { arena, .. } => Some(arena),
        }
    }

    #[inline(always)]
    pub(super) fn value(self, coordinate: usize) -> V {
        match self {
            Coordinates::Same(value) => value,
            Coordinates::Each { arena, start } => arena.values.borrow()[start + coordinate],
        }
    }

    pub(super) fn write(self, to: &mut [V]) {
        match self {
            Coordinates::Same(value) => to.fill(value),
            Coordinates::Each { arena, start } => {
                to.copy_from_slice(&arena.values.borrow()[start..start + arena.dimension]);
            }
        }
    }
}

/// Computes an expression in every coordinate. Not a closure, whose body would not be compiled for the vector
/// instructions of the function around it.
macro_rules! in_each {
    ($($number:ident),+ => $value:expr) => {{
        let Some(arena) = None$(.or($number.arena()))+ else {
            $(let Coordinates::Same($number) = $number else { unreachable!("a number for each has an arena") };)+
            return Coordinates::Same($value);
        };
        let mut values = arena.values.borrow_mut();
        let start = values.len();
        values.reserve(arena.dimension);
        for coordinate in 0..arena.dimension {
            $(let $number = $number.at(&values, coordinate);)+
            let value = $value;
            values.push(value);
        }
        Coordinates::Each { arena, start }
    }};
}

macro_rules! operators {
    ($($trait:ident $method:ident;)*) => {$(
        impl<V: Real> $trait for Coordinates<'_, V> {
            type Output = Self;

            #[inline(always)]
            fn $method(self, other: Self) -> Self {
                let a = self;
                in_each!(a, other => a.$method(other))
            }
        }
    )*};
}

operators! {
    Add add;
    Sub sub;
    Mul mul;
    Div div;
}

impl<V: Real> Neg for Coordinates<'_, V> {
    type Output = Self;

    #[inline(always)]
    fn neg(self) -> Self {
        let a = self;
        in_each!(a => -a)
    }
}

impl<V: Real> Arithmetic for Coordinates<'_, V> {
    #[inline(always)]
    fn splat(value: f64) -> Self {
        Coordinates::Same(V::splat(value))
    }

    #[inline(always)]
    fn sqrt(self) -> Self {
        let a = self;
        in_each!(a => a.sqrt())
    }

    #[inline(always)]
    fn abs(self) -> Self {
        let a = self;
        in_each!(a => a.abs())
    }

    #[inline(always)]
    fn mul_add(self, factor: Self, term: Self) -> Self {
        let a = self;
        in_each!(a, factor, term => a.mul_add(factor, term))
    }

    #[inline(always)]
    fn sign(self) -> Self {
        let a = self;
        in_each!(a => a.sign())
    }

    #[inline(always)]
    fn larger(self, b: Self) -> Self {
        let a = self;
        in_each!(a, b => a.larger(b))
    }

    #[inline(always)]
    fn compared(self, relation: Relation, b: Self) -> Self {
        let a = self;
        in_each!(a, b => a.compared(relation, b))
    }

    #[inline(always)]
    fn choose(self, then: Self, otherwise: Self) -> Self {
        let condition = self;
        in_each!(condition, then, otherwise => condition.choose(then, otherwise))
    }

    #[inline(always)]
    fn norm(self) -> Self {
        match self {
            Coordinates::Same(_) => unreachable!("a step takes norms of what differs between coordinates"),
            Coordinates::Each { arena, start } => {
                let values = arena.values.borrow();
                let mut sum = V::splat(0.0);
                for value in &values[start..start + arena.dimension] {
                    sum = value.mul_add(*value, sum);
                }
                Coordinates::Same(sum.sqrt())
            }
        }
    }

    #[inline(always)]
    fn mean(self) -> Self {
        let dimension = self.arena().map_or(1, |arena| arena.dimension);
        self.sum() / Self::splat(dimension as f64)
    }

    #[inline(always)]
    fn sum(self) -> Self {
        match self {
            Coordinates::Same(_) => unreachable!("a step takes sums of what differs between coordinates"),
            Coordinates::Each { arena, start } => {
                let values = arena.values.borrow();
                let mut sum = V::splat(0.0);
                for value in &values[start..start + arena.dimension] {
                    sum = sum + *value;
                }
                Coordinates::Same(sum)
            }
        }
    }

    fn exchanged(self) -> Self {
        unreachable!("`SweepSpec::check` refuses rules that exchange x and y in more than two dimensions")
    }
}

impl<V: Real> Algebra for Coordinates<'_, V> {
    #[inline(always)]
    fn function(self, function: Function) -> Self {
        let a = self;
        in_each!(a => a.function(function))
    }

    #[inline(always)]
    fn power(self, exponent: Self) -> Self {
        let a = self;
        in_each!(a, exponent => a.power(exponent))
    }

    #[inline(always)]
    fn block_mean(self) -> Self {
        self.mean()
    }

    #[inline(always)]
    fn orthogonal(self) -> Self {
        let rows = self.arena().map_or(1, |arena| arena.dimension);
        orthogonal_column(self, rows as f64)
    }

    #[inline(always)]
    fn bias_corrected_ratio(self, s: Self, correction: &RatioCorrection<Self>) -> Self {
        let RatioCorrection { factor, term, .. } = *correction;
        let m = self;
        in_each!(m, s, factor, term => m.over_root(s, factor, term))
    }
}

#[cfg(test)]
mod tests {
    use super::{Arena, Coordinates};
    use crate::optimizer::{
        Batch, BiasCorrection, Need, Numbers, Rates, Rule, RuleInput, RuleKind, RuleSpec, StepInputs, trace, with_rule,
    };

    /// A batch whose gradient is the square of the parameters.
    #[derive(Clone, Copy)]
    struct Squares<A>(A);

    impl Batch<[f64; 2]> for Squares<[f64; 2]> {
        fn gradient_at(self, theta: [f64; 2]) -> [f64; 2] {
            theta.map(|theta| theta * theta)
        }

        fn curvature(self) -> [f64; 2] {
            self.0
        }
    }

    impl<'a> Batch<Coordinates<'a, f64>> for Squares<Coordinates<'a, f64>> {
        fn gradient_at(self, theta: Coordinates<'a, f64>) -> Coordinates<'a, f64> {
            theta * theta
        }

        fn curvature(self) -> Coordinates<'a, f64> {
            self.0
        }
    }

    const CURVATURE: [f64; 2] = [2.0, 0.5];

    fn step<R: Rule>(inputs: &StepInputs) -> (Vec<[f64; 2]>, [f64; 2]) {
        let StepInputs { rule, learning_rate, bias, theta, gradient, states } = inputs;
        let arena = Arena::new(2);
        let coefficients = bias.coefficients::<R, Coordinates<'_, f64>>(rule);
        let rates = Rates {
            learning_rate: Coordinates::Same(*learning_rate),
            weight_decay: Coordinates::Same(rule.weight_decay()),
            is_cautious: rule.is_cautious(),
        };
        let batch = Squares(arena.number(&CURVATURE));
        let seen = RuleInput { rates, theta: arena.number(theta), gradient: arena.number(gradient), batch };
        let (after, moved) = R::step(&coefficients, seen, Numbers::from_fn(|index| arena.number(&states[index])));
        let pair = |number: Coordinates<'_, f64>| [0, 1].map(|coordinate| number.value(coordinate));
        let mut theta = [0.0; 2];
        moved.theta.write(&mut theta);
        (after.as_ref().iter().map(|state| pair(*state)).collect(), theta)
    }

    #[test]
    fn every_rule_takes_the_same_step_as_on_the_plane() {
        let close = |a: f64, b: f64| (a - b).abs() <= 1e-15 * b.abs().max(1.0);
        for &kind in RuleKind::ALL.iter().filter(|kind| !kind.info().needs(Need::Axes)) {
            let rule = RuleSpec::on_plane(kind);
            let inputs = StepInputs {
                rule,
                learning_rate: 0.1,
                bias: BiasCorrection::new(7, &rule, |key| rule.get(key).map(|beta| beta.powi(7))).unwrap(),
                theta: [0.7, -1.3],
                gradient: [3.0, -0.2],
                states: [[0.3, 0.1], [0.2, 0.4], [-0.5, 0.6], [1.1, 0.9]][..rule.info().states.len()].to_vec(),
            };
            let (states, theta) = with_rule!(kind, R => step::<R>(&inputs));
            let expected = trace(&inputs, Squares(CURVATURE));
            for (found, expected) in states.iter().zip(&expected.states) {
                assert!(close(found[0], expected[0]) && close(found[1], expected[1]), "{}", rule.name());
            }
            let expected = expected.values(expected.theta);
            assert!(close(theta[0], expected[0]) && close(theta[1], expected[1]), "{}: {theta:?}", rule.name());
        }
    }
}
