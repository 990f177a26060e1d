//! All coordinates of a parameter as one number of a step, for rules that treat the parameter as a whole.

use std::cell::RefCell;
use std::ops::{Add, Div, Mul, Neg, Sub};

use crate::lanes::Real;
use crate::optimizer::{Algebra, Function, RatioCorrection, Relation, orthogonal_column};

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

    /// Creates a number with these values of the coordinates.
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
        /// The place of the first coordinate's value in the arena.
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

    /// Returns the value of a coordinate.
    #[inline(always)]
    pub(super) fn value(self, coordinate: usize) -> V {
        match self {
            Coordinates::Same(value) => value,
            Coordinates::Each { arena, start } => arena.values.borrow()[start + coordinate],
        }
    }

    /// Writes the values of the coordinates.
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

impl<V: Real> Algebra for Coordinates<'_, V> {
    #[inline(always)]
    fn splat(value: f64) -> Self {
        Coordinates::Same(V::splat(value))
    }

    #[inline(always)]
    fn sqrt(self) -> Self {
        let a = self;
        in_each!(a => Real::sqrt(a))
    }

    #[inline(always)]
    fn abs(self) -> Self {
        let a = self;
        in_each!(a => Real::abs(a))
    }

    #[inline(always)]
    fn sign(self) -> Self {
        let a = self;
        in_each!(a => Real::sign(a))
    }

    #[inline(always)]
    fn larger(self, b: Self) -> Self {
        let a = self;
        in_each!(a, b => Real::larger(a, b))
    }

    #[inline(always)]
    fn compared(self, relation: Relation, b: Self) -> Self {
        let a = self;
        in_each!(a, b => a.compared(relation, b))
    }

    #[inline(always)]
    fn choose(self, then: Self, otherwise: Self) -> Self {
        let condition = self;
        in_each!(condition, then, otherwise => Real::choose(condition, then, otherwise))
    }

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
    fn norm(self) -> Self {
        match self {
            Coordinates::Same(_) => unreachable!("a step takes norms of what differs between coordinates"),
            Coordinates::Each { arena, start } => {
                let values = arena.values.borrow();
                let mut sum = V::splat(0.0);
                for value in &values[start..start + arena.dimension] {
                    sum = value.mul_add(*value, sum);
                }
                Coordinates::Same(Real::sqrt(sum))
            }
        }
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

    #[inline(always)]
    fn mean(self) -> Self {
        let dimension = self.arena().map_or(1, |arena| arena.dimension);
        self.sum() / Self::splat(dimension as f64)
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

    fn exchanged(self) -> Self {
        unreachable!("`SweepSpec::check` refuses rules that exchange x and y in more than two dimensions")
    }

    #[inline(always)]
    fn mul_add(self, factor: Self, term: Self) -> Self {
        let a = self;
        in_each!(a, factor, term => Real::mul_add(a, factor, term))
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
        let seen = RuleInput { theta: arena.number(theta), gradient: arena.number(gradient), batch };
        let (after, moved) =
            R::step(&coefficients, rates, seen, Numbers::from_fn(|index| arena.number(&states[index])));
        let pair = |number: Coordinates<'_, f64>| [0, 1].map(|coordinate| number.value(coordinate));
        let mut theta = [0.0; 2];
        moved.theta.write(&mut theta);
        (after.as_ref().iter().map(|state| pair(*state)).collect(), theta)
    }

    /// Compares a step of two coordinates with the step on the plane.
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
            let crate::optimizer::Operand::Node(node) = expected.theta else { panic!("θ is computed") };
            let expected = expected.nodes[node].values;
            assert!(close(theta[0], expected[0]) && close(theta[1], expected[1]), "{}: {theta:?}", rule.name());
        }
    }
}
