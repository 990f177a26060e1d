//! The operations of a program.

use crate::optimizer::{Algebra, Function, Relation};

/// An operation on numbers, each of which is a node of the graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Calculation<T> {
    Negative(T),
    Root(T),
    Size(T),
    Sign(T),
    Function(Function, T),
    Norm(T),
    Mean(T),
    Total(T),
    Sum(T, T),
    Difference(T, T),
    Product(T, T),
    Quotient(T, T),
    Power(T, T),
    Maximum(T, T),
    Minimum(T, T),
    Compared(Relation, T, T),
    /// The second number where the first is not 0, else the third.
    Choice(T, T, T),
    /// `a b + c`, rounded once.
    ProductSum(T, T, T),
    /// `c − a b`, rounded once.
    MinusProduct(T, T, T),
}

impl<T: Copy> Calculation<T> {
    /// Maps the operands of the calculation.
    pub(crate) fn map<U>(self, mut of: impl FnMut(T) -> U) -> Calculation<U> {
        match self {
            Calculation::Negative(a) => Calculation::Negative(of(a)),
            Calculation::Root(a) => Calculation::Root(of(a)),
            Calculation::Size(a) => Calculation::Size(of(a)),
            Calculation::Sign(a) => Calculation::Sign(of(a)),
            Calculation::Function(function, a) => Calculation::Function(function, of(a)),
            Calculation::Norm(a) => Calculation::Norm(of(a)),
            Calculation::Mean(a) => Calculation::Mean(of(a)),
            Calculation::Total(a) => Calculation::Total(of(a)),
            Calculation::Sum(a, b) => Calculation::Sum(of(a), of(b)),
            Calculation::Difference(a, b) => Calculation::Difference(of(a), of(b)),
            Calculation::Product(a, b) => Calculation::Product(of(a), of(b)),
            Calculation::Quotient(a, b) => Calculation::Quotient(of(a), of(b)),
            Calculation::Power(a, b) => Calculation::Power(of(a), of(b)),
            Calculation::Maximum(a, b) => Calculation::Maximum(of(a), of(b)),
            Calculation::Minimum(a, b) => Calculation::Minimum(of(a), of(b)),
            Calculation::Compared(relation, a, b) => Calculation::Compared(relation, of(a), of(b)),
            Calculation::Choice(a, b, c) => Calculation::Choice(of(a), of(b), of(c)),
            Calculation::ProductSum(a, b, c) => Calculation::ProductSum(of(a), of(b), of(c)),
            Calculation::MinusProduct(a, b, c) => Calculation::MinusProduct(of(a), of(b), of(c)),
        }
    }

    /// The operation and its operands, of which those that it does not have are the first once more.
    pub(crate) fn apart(self) -> (Operation, [T; 3]) {
        let operands = self.operands();
        let operand = |index: usize| operands.get(index).copied().unwrap_or(operands[0]);
        (self.map(|_| ()), [operand(0), operand(1), operand(2)])
    }

    pub(crate) fn operands(self) -> Vec<T> {
        let mut operands = Vec::with_capacity(3);
        self.map(|operand| operands.push(operand));
        operands
    }

    /// Whether the result is the same for all elements of a parameter.
    pub(crate) fn is_of_whole(self) -> bool {
        matches!(self, Calculation::Norm(_) | Calculation::Mean(_) | Calculation::Total(_))
    }
}

/// An operation whose operands stand apart from it.
pub(crate) type Operation = Calculation<()>;

impl Operation {
    /// The result for its operands; those that it does not have are ignored.
    #[inline(always)]
    pub(crate) fn result<A: Algebra>(self, a: &A, b: &A, c: &A) -> A {
        match self {
            Calculation::Negative(()) => -*a,
            Calculation::Root(()) => a.sqrt(),
            Calculation::Size(()) => a.abs(),
            Calculation::Sign(()) => a.sign(),
            Calculation::Function(function, ()) => a.function(function),
            Calculation::Norm(()) => a.norm(),
            Calculation::Mean(()) => a.mean(),
            Calculation::Total(()) => a.sum(),
            Calculation::Sum((), ()) => *a + *b,
            Calculation::Difference((), ()) => *a - *b,
            Calculation::Product((), ()) => *a * *b,
            Calculation::Quotient((), ()) => *a / *b,
            Calculation::Power((), ()) => a.power(*b),
            Calculation::Maximum((), ()) => a.maximum(*b),
            Calculation::Minimum((), ()) => a.minimum(*b),
            Calculation::Compared(relation, (), ()) => a.compared(relation, *b),
            Calculation::Choice((), (), ()) => a.choose(*b, *c),
            Calculation::ProductSum((), (), ()) => a.mul_add(*b, *c),
            Calculation::MinusProduct((), (), ()) => c.add_product(-*a, *b),
        }
    }
}
