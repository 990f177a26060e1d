//! This module defines the operations of a program.

use crate::optimizer::{Algebra, Function, Relation};

/// An operation on operands of type `T`, such as nodes of the graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Op<T> {
    Neg(T),
    Sqrt(T),
    Abs(T),
    Sign(T),
    Function(Function, T),
    Norm(T),
    Mean(T),
    Sum(T),
    Add(T, T),
    Sub(T, T),
    Mul(T, T),
    Div(T, T),
    Pow(T, T),
    Max(T, T),
    Min(T, T),
    Compare(Relation, T, T),
    /// The second operand where the first is not 0, else the third.
    Select(T, T, T),
    /// `a b + c`, rounded once.
    MulAdd(T, T, T),
    /// `c − a b`, rounded once.
    NegMulAdd(T, T, T),
}

impl<T: Copy> Op<T> {
    /// Maps the operands of the operation.
    pub(crate) fn map<U>(self, mut of: impl FnMut(T) -> U) -> Op<U> {
        match self {
            Op::Neg(a) => Op::Neg(of(a)),
            Op::Sqrt(a) => Op::Sqrt(of(a)),
            Op::Abs(a) => Op::Abs(of(a)),
            Op::Sign(a) => Op::Sign(of(a)),
            Op::Function(function, a) => Op::Function(function, of(a)),
            Op::Norm(a) => Op::Norm(of(a)),
            Op::Mean(a) => Op::Mean(of(a)),
            Op::Sum(a) => Op::Sum(of(a)),
            Op::Add(a, b) => Op::Add(of(a), of(b)),
            Op::Sub(a, b) => Op::Sub(of(a), of(b)),
            Op::Mul(a, b) => Op::Mul(of(a), of(b)),
            Op::Div(a, b) => Op::Div(of(a), of(b)),
            Op::Pow(a, b) => Op::Pow(of(a), of(b)),
            Op::Max(a, b) => Op::Max(of(a), of(b)),
            Op::Min(a, b) => Op::Min(of(a), of(b)),
            Op::Compare(relation, a, b) => Op::Compare(relation, of(a), of(b)),
            Op::Select(a, b, c) => Op::Select(of(a), of(b), of(c)),
            Op::MulAdd(a, b, c) => Op::MulAdd(of(a), of(b), of(c)),
            Op::NegMulAdd(a, b, c) => Op::NegMulAdd(of(a), of(b), of(c)),
        }
    }

    /// Splits the operation from its operands; operands that it lacks are filled with the first.
    pub(crate) fn split(self) -> (Opcode, [T; 3]) {
        let operands = self.operands();
        let operand = |index: usize| operands.get(index).copied().unwrap_or(operands[0]);
        (self.map(|_| ()), [operand(0), operand(1), operand(2)])
    }

    pub(crate) fn operands(self) -> Vec<T> {
        let mut operands = Vec::with_capacity(3);
        self.map(|operand| operands.push(operand));
        operands
    }

    /// Returns whether the result is the same for all elements of a parameter.
    pub(crate) fn is_reduction(self) -> bool {
        matches!(self, Op::Norm(_) | Op::Mean(_) | Op::Sum(_))
    }
}

/// An operation without its operands.
pub(crate) type Opcode = Op<()>;

impl Opcode {
    /// Computes the result; operands that the operation lacks are ignored.
    #[inline(always)]
    pub(crate) fn result<A: Algebra>(self, a: &A, b: &A, c: &A) -> A {
        match self {
            Op::Neg(()) => -*a,
            Op::Sqrt(()) => a.sqrt(),
            Op::Abs(()) => a.abs(),
            Op::Sign(()) => a.sign(),
            Op::Function(function, ()) => a.function(function),
            Op::Norm(()) => a.norm(),
            Op::Mean(()) => a.mean(),
            Op::Sum(()) => a.sum(),
            Op::Add((), ()) => *a + *b,
            Op::Sub((), ()) => *a - *b,
            Op::Mul((), ()) => *a * *b,
            Op::Div((), ()) => *a / *b,
            Op::Pow((), ()) => a.power(*b),
            Op::Max((), ()) => a.maximum(*b),
            Op::Min((), ()) => a.minimum(*b),
            Op::Compare(relation, (), ()) => a.compared(relation, *b),
            Op::Select((), (), ()) => a.choose(*b, *c),
            Op::MulAdd((), (), ()) => a.mul_add(*b, *c),
            Op::NegMulAdd((), (), ()) => c.add_product(-*a, *b),
        }
    }
}
