//! Numbers that record how a built-in loss is computed.

use std::cell::RefCell;
use std::ops::{Add, Div, Mul, Neg, Sub};

use super::expressions::Expressions;
use crate::language::{Calculation, NodeId};
use crate::optimizer::{Algebra, Function, RatioCorrection, Relation};

/// A constant, or a node of a graph.
#[derive(Clone, Copy, Debug)]
pub(super) enum Recorded<'a> {
    Number(f64),
    Node(&'a RefCell<Expressions>, NodeId),
}

impl<'a> Recorded<'a> {
    pub(super) fn in_graph(self, expressions: &RefCell<Expressions>) -> NodeId {
        match self {
            Recorded::Number(value) => expressions.borrow_mut().constant(value),
            Recorded::Node(_, id) => id,
        }
    }

    /// An operation on recorded numbers; of constants alone, its value.
    fn of(calculation: Calculation<Recorded<'a>>) -> Recorded<'a> {
        let expressions = calculation.operands().into_iter().find_map(|operand| match operand {
            Recorded::Node(expressions, _) => Some(expressions),
            Recorded::Number(_) => None,
        });
        let Some(expressions) = expressions else {
            let (operation, operands) = calculation.apart();
            let [a, b, c] = operands.map(|operand| match operand {
                Recorded::Number(value) => value,
                Recorded::Node(..) => unreachable!("all are constants"),
            });
            return Recorded::Number(operation.result(&a, &b, &c));
        };
        let calculation = calculation.map(|operand| operand.in_graph(expressions));
        let node = expressions.borrow_mut().of(calculation);
        Recorded::Node(expressions, node)
    }
}

macro_rules! operators {
    ($($trait:ident $method:ident $calculation:ident),*) => {$(
        impl $trait for Recorded<'_> {
            type Output = Self;

            fn $method(self, other: Self) -> Self {
                Recorded::of(Calculation::$calculation(self, other))
            }
        }
    )*};
}

operators!(Add add Sum, Sub sub Difference, Mul mul Product, Div div Quotient);

impl Neg for Recorded<'_> {
    type Output = Self;

    fn neg(self) -> Self {
        Recorded::of(Calculation::Negative(self))
    }
}

impl Algebra for Recorded<'_> {
    fn splat(value: f64) -> Self {
        Recorded::Number(value)
    }

    fn sqrt(self) -> Self {
        Recorded::of(Calculation::Root(self))
    }

    fn abs(self) -> Self {
        Recorded::of(Calculation::Size(self))
    }

    fn sign(self) -> Self {
        Recorded::of(Calculation::Sign(self))
    }

    fn larger(self, other: Self) -> Self {
        Recorded::of(Calculation::Maximum(self, other))
    }

    fn compared(self, relation: Relation, other: Self) -> Self {
        Recorded::of(Calculation::Compared(relation, self, other))
    }

    fn choose(self, then: Self, otherwise: Self) -> Self {
        Recorded::of(Calculation::Choice(self, then, otherwise))
    }

    fn maximum(self, other: Self) -> Self {
        Recorded::of(Calculation::Maximum(self, other))
    }

    fn minimum(self, other: Self) -> Self {
        Recorded::of(Calculation::Minimum(self, other))
    }

    fn function(self, function: Function) -> Self {
        Recorded::of(Calculation::Function(function, self))
    }

    fn power(self, exponent: Self) -> Self {
        Recorded::of(Calculation::Power(self, exponent))
    }

    fn mul_add(self, factor: Self, term: Self) -> Self {
        self * factor + term
    }

    fn sum(self) -> Self {
        self
    }

    fn mean(self) -> Self {
        self
    }

    fn norm(self) -> Self {
        self.abs()
    }

    fn block_mean(self) -> Self {
        self
    }

    fn orthogonal(self) -> Self {
        unreachable!("{OF_A_POINT}")
    }

    fn exchanged(self) -> Self {
        unreachable!("{OF_A_POINT}")
    }

    fn bias_corrected_ratio(self, _s: Self, _correction: &RatioCorrection<Self>) -> Self {
        unreachable!("{OF_A_POINT}")
    }
}

const OF_A_POINT: &str = "a loss is a number of a point, without matrices and running averages";
