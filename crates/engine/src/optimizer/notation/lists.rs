//! Operations on lists of tensors, `torch._foreach_…`, and sums of terms in place.

use super::lowered::{Factor, Term};
use super::python;
use super::statements::{Body, InPlace};
use crate::expression::{Node, NodeId, Op};

impl Body<'_> {
    pub(super) fn in_place(&mut self, name: &str, (operation, arguments): &InPlace) {
        let comma = if arguments.is_empty() { "" } else { ", " };
        self.lines.push(format!("torch._foreach_{operation}_({name}{comma}{arguments})"));
    }

    /// Writes the lists of tensors that terms need, but for that of the value before, which is overwritten after.
    pub(super) fn prepare(&mut self, terms: &mut [Term], old: Option<NodeId>) {
        if !self.is_of_lists {
            return;
        }
        for Term { factor, .. } in terms {
            for id in factor.operands() {
                if Some(id) != old && self.is_operation(id) && !self.variables.contains_key(&id) {
                    let is_divisor = matches!(factor, Factor::Quotient(_, size) if *size == id);
                    let name = match self.usual_name(id) {
                        "update" | "size" if is_divisor => "denom",
                        name => name,
                    };
                    let made = self.list(id, name);
                    self.variables.insert(id, made);
                }
            }
        }
    }

    /// The operations that make the sum of the terms of the value before, or of `matrix` in place of other tensors.
    pub(super) fn operations(&mut self, terms: &mut Vec<Term>, old: Option<NodeId>, matrix: &str) -> Vec<InPlace> {
        let one = self.lowered.graph.constant(1.0).expect("the graph has no limit");
        let index = terms.iter().position(|term| Some(term.factor) == old.map(Factor::Value));
        let base = index.map_or(one, |index| terms.remove(index).coefficient);
        let tensor = |of: &Self, id: NodeId| if matrix.is_empty() { of.text(id) } else { matrix.to_owned() };
        if let [Term { coefficient, factor: Factor::Value(value) }] = terms[..]
            && self.lowered.add_to_one(base, coefficient)
        {
            return vec![("lerp", format!("{}, {}", tensor(self, value), self.text(coefficient)))];
        }
        let mut operations: Vec<InPlace> = self.scaling(base).into_iter().collect();
        for Term { coefficient, factor } in terms {
            operations.push(self.addition(*coefficient, *factor, &tensor));
        }
        operations
    }

    /// The operation that multiplies a tensor by a number.
    fn scaling(&self, by: NodeId) -> Option<InPlace> {
        match self.lowered.graph.node(by) {
            Node::Constant(1.0) => None,
            Node::Of(Op::Neg(one)) if self.lowered.graph.node(one) == Node::Constant(1.0) => {
                Some(("neg", String::new()))
            }
            Node::Of(Op::Div(one, divisor)) if self.lowered.graph.node(one) == Node::Constant(1.0) => {
                Some(("div", self.text(divisor)))
            }
            _ => Some(("mul", self.text(by))),
        }
    }

    fn addition(&self, coefficient: NodeId, factor: Factor, tensor: &dyn Fn(&Self, NodeId) -> String) -> InPlace {
        let is_one = self.lowered.graph.node(coefficient) == Node::Constant(1.0);
        let number = self.text(coefficient);
        let is_minus_one = number == "-1";
        let scaled = |operands: String, by: &str| if is_one { operands } else { format!("{operands}, {by}={number}") };
        match factor {
            Factor::One => ("add", number.clone()),
            Factor::Value(value) if is_minus_one => ("sub", tensor(self, value)),
            Factor::Value(value) => ("add", scaled(tensor(self, value), "alpha")),
            Factor::Product(a, b) => ("addcmul", scaled(format!("{}, {}", tensor(self, a), tensor(self, b)), "value")),
            Factor::Quotient(a, b) => ("addcdiv", scaled(format!("{}, {}", tensor(self, a), tensor(self, b)), "value")),
        }
    }

    /// Whether a variable may be overwritten by an operation on it: nothing else reads it.
    fn is_free(&self, id: NodeId, by: NodeId) -> bool {
        let mut users = self.lowered.users(id);
        self.finished.contains(&id)
            && self.state_of(id).is_none()
            && users.all(|user| user == by || self.finished.contains(&user))
            && self.lowered.users(id).filter(|user| *user == by).count() == 1
    }

    /// Writes a number as lists of tensors; returns the name of the variable, which is `name` if it is new.
    pub(super) fn list(&mut self, id: NodeId, name: &str) -> String {
        let Node::Of(op) = self.lowered.graph.node(id) else { return self.text(id) };
        if let Some(known) = self.variables.get(&id) {
            return known.clone();
        }
        let made = match op {
            Op::Add(..) | Op::Sub(..) | Op::Neg(_) | Op::Mul(..) | Op::Div(..) => self.sum(id, name),
            op => self.function(id, op, name),
        };
        self.finished.insert(id);
        made
    }

    /// Makes a function of a list of tensors, in place where the list is free.
    fn function(&mut self, id: NodeId, op: Op<NodeId>, name: &str) -> String {
        let (operation, tensor, other) = match op {
            Op::Function(of, a) => (python::function(of), a, None),
            Op::Sqrt(a) => ("sqrt", a, None),
            Op::Sign(a) => ("sign", a, None),
            Op::Abs(a) => ("abs", a, None),
            Op::Norm(a) => ("norm", a, None),
            Op::Pow(a, b) => ("pow", a, Some(b)),
            Op::Max(a, b) | Op::Larger(a, b) if self.lowered.is_scalar(b) => ("clamp_min", a, Some(b)),
            Op::Max(a, b) | Op::Larger(a, b) if self.lowered.is_scalar(a) => ("clamp_min", b, Some(a)),
            Op::Min(a, b) if self.lowered.is_scalar(b) => ("clamp_max", a, Some(b)),
            Op::Min(a, b) if self.lowered.is_scalar(a) => ("clamp_max", b, Some(a)),
            Op::Max(a, b) | Op::Larger(a, b) => ("maximum", a, Some(b)),
            Op::Min(a, b) => ("minimum", a, Some(b)),
            _ => unreachable!("rules with other operations are of single tensors"),
        };
        let other =
            other.map(|other| if self.lowered.is_scalar(other) { self.text(other) } else { self.list(other, "bound") });
        let was_known = self.variables.contains_key(&tensor) || !self.is_operation(tensor);
        let list = self.list(tensor, name);
        let arguments = other.unwrap_or_default();
        if operation != "norm" && (!was_known || self.is_free(tensor, id)) {
            self.in_place(&list, &(operation, arguments));
            return list;
        }
        let comma = if arguments.is_empty() { "" } else { ", " };
        let name = self.free_name(name);
        self.lines.push(format!("{name} = torch._foreach_{operation}({list}{comma}{arguments})"));
        name
    }

    /// Makes the sum of terms as a new list, or in place of one that is free.
    fn sum(&mut self, id: NodeId, name: &str) -> String {
        let mut terms = self.terms(id);
        let is_free = |of: &Self, term: &Term| match term.factor {
            Factor::Value(value) => {
                of.is_operation(value) && (!of.variables.contains_key(&value) || of.is_free(value, id))
            }
            _ => false,
        };
        if let Some(index) = terms.iter().position(|term| is_free(self, term)) {
            let Factor::Value(base) = terms[index].factor else { unreachable!("it is free") };
            let list = self.list(base, name);
            self.variables.insert(base, list.clone());
            self.prepare(&mut terms, Some(base));
            let operations = self.operations(&mut terms, Some(base), "");
            operations.iter().for_each(|operation| self.in_place(&list, operation));
            return list;
        }
        self.prepare(&mut terms, None);
        if let [Term { coefficient, factor: factor @ (Factor::Quotient(a, b) | Factor::Product(a, b)) }] = terms[..]
            && self.is_free(a, id)
        {
            let list = self.text(a);
            let operation = if matches!(factor, Factor::Quotient(..)) { "div" } else { "mul" };
            self.in_place(&list, &(operation, self.text(b)));
            self.scaling(coefficient).iter().for_each(|operation| self.in_place(&list, operation));
            return list;
        }
        if let [Term { factor: Factor::One, .. }, ..] = terms[..] {
            terms.rotate_left(1);
        }
        let name = self.free_name(name);
        let text = |of: &Self, id: NodeId| of.text(id);
        let [first, rest @ ..] = &terms[..] else { unreachable!("a sum has terms") };
        let (made, rest) = match (first.factor, rest) {
            (Factor::Value(a), [Term { coefficient, factor: Factor::Value(b) }])
                if self.lowered.add_to_one(first.coefficient, *coefficient) =>
            {
                (format!("lerp({}, {}, {})", self.text(a), self.text(*b), self.text(*coefficient)), &[][..])
            }
            (Factor::Value(a), [second, rest @ ..]) if self.text(first.coefficient) == "1" => {
                let (operation, arguments) = self.addition(second.coefficient, second.factor, &text);
                (format!("{operation}({}, {arguments})", self.text(a)), rest)
            }
            (Factor::Value(a), rest) => {
                let (operation, number) = self.scaling(first.coefficient).unwrap_or(("mul", "1".to_owned()));
                let comma = if number.is_empty() { "" } else { ", " };
                (format!("{operation}({}{comma}{number})", self.text(a)), rest)
            }
            (Factor::Product(a, b), rest) => (format!("mul({}, {})", self.text(a), self.text(b)), rest),
            (Factor::Quotient(a, b), rest) => (format!("div({}, {})", self.text(a), self.text(b)), rest),
            (Factor::One, _) => unreachable!("a number without a tensor is no list"),
        };
        self.lines.push(format!("{name} = torch._foreach_{made}"));
        let is_scaled = !matches!(first.factor, Factor::Value(_));
        let mut operations: Vec<InPlace> =
            if is_scaled { self.scaling(first.coefficient).into_iter().collect() } else { Vec::new() };
        operations.extend(rest.iter().map(|term| self.addition(term.coefficient, term.factor, &text)));
        operations.iter().for_each(|operation| self.in_place(&name, operation));
        name
    }
}
