//! This module records how a built-in loss is computed.

use std::cell::RefCell;
use std::ops::{Add, Div, Mul, Neg, Sub};

use super::expressions::Expressions;
use crate::expression::{NodeId, Op};
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

    /// Records an operation; an operation on constants alone becomes its value.
    fn of(op: Op<Recorded<'a>>) -> Recorded<'a> {
        let expressions = op.operands().into_iter().find_map(|operand| match operand {
            Recorded::Node(expressions, _) => Some(expressions),
            Recorded::Number(_) => None,
        });
        let Some(expressions) = expressions else {
            let (operation, operands) = op.split();
            let [a, b, c] = operands.map(|operand| match operand {
                Recorded::Number(value) => value,
                Recorded::Node(..) => unreachable!("all are constants"),
            });
            return Recorded::Number(operation.result(&a, &b, &c));
        };
        let op = op.map(|operand| operand.in_graph(expressions));
        let node = expressions.borrow_mut().of(op);
        Recorded::Node(expressions, node)
    }
}

macro_rules! operators {
    ($($trait:ident $method:ident),*) => {$(
        impl $trait for Recorded<'_> {
            type Output = Self;

            fn $method(self, other: Self) -> Self {
                Recorded::of(Op::$trait(self, other))
            }
        }
    )*};
}

operators!(Add add, Sub sub, Mul mul, Div div);

impl Neg for Recorded<'_> {
    type Output = Self;

    fn neg(self) -> Self {
        Recorded::of(Op::Neg(self))
    }
}

impl Algebra for Recorded<'_> {
    fn splat(value: f64) -> Self {
        Recorded::Number(value)
    }

    fn sqrt(self) -> Self {
        Recorded::of(Op::Sqrt(self))
    }

    fn abs(self) -> Self {
        Recorded::of(Op::Abs(self))
    }

    fn sign(self) -> Self {
        Recorded::of(Op::Sign(self))
    }

    fn larger(self, other: Self) -> Self {
        Recorded::of(Op::Max(self, other))
    }

    fn compared(self, relation: Relation, other: Self) -> Self {
        Recorded::of(Op::Compare(relation, self, other))
    }

    fn choose(self, then: Self, otherwise: Self) -> Self {
        Recorded::of(Op::Select(self, then, otherwise))
    }

    fn maximum(self, other: Self) -> Self {
        Recorded::of(Op::Max(self, other))
    }

    fn minimum(self, other: Self) -> Self {
        Recorded::of(Op::Min(self, other))
    }

    fn function(self, function: Function) -> Self {
        Recorded::of(Op::Function(function, self))
    }

    fn power(self, exponent: Self) -> Self {
        Recorded::of(Op::Pow(self, exponent))
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
