//! The style of Python expressions, of floats and of PyTorch's tensors.

use crate::expression::print::{Binding, Printed, Printer, Signs, Style, joined};
use crate::expression::{AxesFunction, Dependence, Function, Input, Node, NodeId, Op, Relation};

/// Expressions of Python.
#[derive(Clone, Copy)]
pub(super) struct Python<'a> {
    /// The names of the states.
    pub states: &'a [String],
    /// The names of the hyperparameters.
    pub hyperparameters: &'a [String],
    /// The names of the parameters and of their gradients.
    pub given: [&'static str; 2],
}

const SIGNS: Signs = Signs { times: " * ", over: " / ", ..Signs::ASCII };

/// Python's names of functions of one number, in the module `math` and as methods of tensors.
pub(super) fn function(function: Function) -> &'static str {
    if function == Function::Ln { "log" } else { function.name() }
}

/// Writes a number so that Python reads the same one.
pub(super) fn number(value: f64) -> Printed {
    let text = match value {
        _ if value.fract() == 0.0 && value.abs() < 1e6 => format!("{value}"),
        _ if value.is_nan() => "math.nan".to_owned(),
        _ if value.is_infinite() => if value > 0.0 { "math.inf" } else { "-math.inf" }.to_owned(),
        _ => format!("{value:?}"),
    };
    Printed::new(text, if value < 0.0 { Binding::Signed } else { Binding::Atom })
}

impl Python<'_> {
    /// Writes a number as a condition.
    pub(super) fn condition(printer: &Printer<'_, Self>, id: NodeId) -> String {
        let is_condition = |id: NodeId| matches!(printer.graph.node(id), Node::Of(Op::Compare(..)));
        match printer.graph.node(id) {
            _ if printer.has_name(id) => format!("{} != 0", printer.print(id).text),
            Node::Of(Op::Compare(relation, a, b)) => Self::comparison(printer, relation, a, b),
            Node::Of(Op::Mul(a, b))
                if is_condition(a) && is_condition(b) && printer.graph.dependence(id) <= Dependence::Rates =>
            {
                format!("{} and {}", Self::condition(printer, a), Self::condition(printer, b))
            }
            _ => format!("{} != 0", printer.print(id).at_least(Binding::Sum)),
        }
    }

    fn comparison(printer: &Printer<'_, Self>, relation: Relation, a: NodeId, b: NodeId) -> String {
        let [left, right] = [a, b].map(|it| printer.print(it).at_least(Binding::Sum));
        match relation {
            // A constant stands on the right.
            Relation::Less if matches!(printer.graph.node(a), Node::Constant(_)) => format!("{right} > {left}"),
            Relation::AtMost if matches!(printer.graph.node(a), Node::Constant(_)) => format!("{right} >= {left}"),
            _ => format!("{left} {} {right}", SIGNS.relation(relation)),
        }
    }

    /// Writes an operation that has the same form for floats only.
    fn of_floats(printer: &Printer<'_, Self>, op: Op<NodeId>) -> Option<Printed> {
        let text = |id| printer.print(id).text;
        Some(match op {
            Op::Sqrt(a) => Printed::new(format!("{}**0.5", printer.print(a).at_least(Binding::Atom)), Binding::Power),
            Op::Sign(a) => Printed::new(format!("({0} > 0) - ({0} < 0)", text(a)), Binding::Sum),
            Op::Abs(a) | Op::Norm(a) => Printed::atom(format!("abs({})", text(a))),
            Op::Mean(a) | Op::Sum(a) => printer.print(a),
            Op::Function(of, a) => Printed::atom(format!("math.{}({})", function(of), text(a))),
            Op::Max(a, b) | Op::Larger(a, b) => Printed::atom(format!("max({}, {})", text(a), text(b))),
            Op::Min(a, b) => Printed::atom(format!("min({}, {})", text(a), text(b))),
            Op::Compare(relation, a, b) => Printed::new(Self::comparison(printer, relation, a, b), Binding::Comparison),
            _ => return None,
        })
    }

    /// Writes an operation that has a form for tensors, with at least one tensor among its operands.
    fn of_tensors(printer: &Printer<'_, Self>, op: Op<NodeId>) -> Option<Printed> {
        let is_scalar = |id: NodeId| printer.graph.dependence(id) <= Dependence::Rates;
        let text = |id| printer.print(id).text;
        let method =
            |id: NodeId, call: &str| Printed::atom(format!("{}.{call}", printer.print(id).at_least(Binding::Atom)));
        let bound = |a: NodeId, b: NodeId, clamp: &str, both: &str| match (is_scalar(a), is_scalar(b)) {
            (true, _) => method(b, &format!("clamp({clamp}={})", text(a))),
            (_, true) => method(a, &format!("clamp({clamp}={})", text(b))),
            _ => Printed::atom(format!("torch.{both}({}, {})", text(a), text(b))),
        };
        Some(match op {
            Op::Sqrt(a) => method(a, "sqrt()"),
            Op::Sign(a) => method(a, "sign()"),
            Op::Abs(a) => method(a, "abs()"),
            Op::Function(of, a) => method(a, &format!("{}()", function(of))),
            Op::Norm(a) => method(a, "norm()"),
            Op::Mean(a) => method(a, "mean()"),
            Op::Sum(a) => method(a, "sum()"),
            Op::BlockMean(a) => Printed::atom(format!("block_mean({}, group[\"blocks\"])", text(a))),
            Op::Orthogonal(a) => Printed::atom(format!("orthogonalize({})", text(a))),
            Op::Max(a, b) | Op::Larger(a, b) => bound(a, b, "min", "maximum"),
            Op::Min(a, b) => bound(a, b, "max", "minimum"),
            Op::Compare(relation, a, b) => {
                let like = if is_scalar(a) { b } else { a };
                let like = if printer.has_name(like) { text(like) } else { printer.style.given[1].to_owned() };
                Printed::atom(format!("({}).to({like}.dtype)", Self::comparison(printer, relation, a, b)))
            }
            Op::OfAxes(AxesFunction::InverseRoot, matrices, epsilon, _) => {
                let statistic = Self::statistic(printer, matrices)?;
                let mut names = printer.names.clone();
                let all = names[statistic.0].replace("a".to_owned())?;
                let each = Printer { names, style: printer.style, ..*printer }.print(matrices).text;
                let epsilon = text(epsilon);
                let root = format!("inverse_root({each}, {epsilon}, 2 * grad.ndim)");
                Printed::atom(format!("{{i: {root} for i, a in {all}.items()}}"))
            }
            Op::OfAxes(AxesFunction::Outer, a, ..) => Printed::atom(format!("outer({})", text(a))),
            Op::OfAxes(AxesFunction::Eigenvectors, a, ..) => Printed::atom(format!("eigenvectors({})", text(a))),
            Op::OfAxes(AxesFunction::Product, matrices, a, _) => {
                Printed::atom(format!("precondition({}, {})", text(a), text(matrices)))
            }
            Op::OfAxes(AxesFunction::Turned, matrices, a, _) => {
                Printed::atom(format!("turn({}, {})", text(a), text(matrices)))
            }
            Op::OfAxes(AxesFunction::TurnedBack, matrices, a, _) => {
                Printed::atom(format!("turn({}, {}, back=True)", text(a), text(matrices)))
            }
            _ => return None,
        })
    }

    /// The new statistic of axes of which a number is made.
    fn statistic(printer: &Printer<'_, Self>, id: NodeId) -> Option<NodeId> {
        match printer.graph.node(id) {
            Node::Of(op) if !printer.has_name(id) => {
                op.operands().into_iter().find_map(|operand| Self::statistic(printer, operand))
            }
            Node::Of(_) if printer.graph.dependence(id) > Dependence::Rates => Some(id),
            _ => None,
        }
    }
}

impl Style for Python<'_> {
    const EXPANDS_PRODUCTS: bool = false;

    fn constant(&self, value: f64) -> Printed {
        number(value)
    }

    fn input(&self, _printer: &Printer<'_, Self>, _id: NodeId, input: Input) -> Printed {
        let hyperparameter = |index: usize| self.hyperparameters[index].as_str();
        match input {
            Input::Theta => Printed::atom(self.given[0]),
            Input::Gradient => Printed::atom(self.given[1]),
            Input::LearningRate => Printed::atom("lr"),
            Input::WeightDecay => Printed::atom("weight_decay"),
            Input::Step => Printed::atom("step"),
            Input::Curvature if self.given[0] == "params" => Printed::atom("[curvature(p) for p in params]"),
            Input::Curvature => Printed::atom("curvature(p)"),
            Input::State(index) => Printed::atom(&*self.states[index]),
            Input::Parameter(index) => Printed::atom(hyperparameter(index)),
            Input::Power(index) => Printed::new(format!("{}**step", hyperparameter(index)), Binding::Power),
            Input::Computed(_) => unreachable!("a record of all steps has expressions"),
            Input::X | Input::Y | Input::Angle | Input::Cosine | Input::Sine => unreachable!("they are of losses"),
        }
    }

    fn operation(&self, op: Op<Printed>) -> Printed {
        match op {
            Op::Pow(a, b) => {
                Printed::new(format!("{}**{}", a.at_least(Binding::Atom), b.at_least(Binding::Atom)), Binding::Power)
            }
            Op::Mul(a, b) => joined(&a, " * ", &b, Binding::Product, [Binding::Signed, Binding::Product]),
            // In brackets within products.
            Op::Remainder(a, b) => {
                Printed::new(format!("{} % {}", a.at_least(Binding::Atom), b.at_least(Binding::Atom)), Binding::Sum)
            }
            op => SIGNS.write(op),
        }
    }

    fn in_context(&self, printer: &Printer<'_, Self>, id: NodeId, op: Op<NodeId>) -> Option<Printed> {
        let is_scalar = |id: NodeId| printer.graph.dependence(id) <= Dependence::Rates;
        let text = |id| printer.print(id).text;
        match op {
            Op::Select(condition, then, otherwise) if is_scalar(condition) => {
                let condition = Self::condition(printer, condition);
                let text = format!("{} if {condition} else {}", text(then), text(otherwise));
                Some(Printed::new(text, Binding::Comparison))
            }
            Op::Select(condition, then, otherwise)
                if [(then, 1.0), (otherwise, 0.0)]
                    .iter()
                    .all(|(id, value)| printer.graph.node(*id) == Node::Constant(*value)) =>
            {
                let condition = Self::condition(printer, condition);
                Some(Printed::atom(format!("({condition}).to({}.dtype)", self.given[1])))
            }
            Op::Select(condition, then, otherwise) => {
                let then = match (is_scalar(then), is_scalar(otherwise)) {
                    (true, true) => format!("{}.new_tensor({})", self.given[1], text(then)),
                    _ => text(then),
                };
                let condition = Self::condition(printer, condition);
                Some(Printed::atom(format!("torch.where({condition}, {then}, {})", text(otherwise))))
            }
            Op::OverSteps(..) => None,
            op if op.operands().into_iter().all(is_scalar) && is_scalar(id) => Self::of_floats(printer, op),
            op => Self::of_tensors(printer, op),
        }
    }
}

/// A name that Python allows and that is not taken.
pub(super) fn free(like: &str, is_taken: impl Fn(&str) -> bool) -> String {
    const WORDS: [&str; 48] = [
        "and", "as", "assert", "async", "await", "break", "class", "continue", "def", "del", "elif", "else", "except",
        "finally", "for", "from", "global", "if", "import", "in", "is", "lambda", "nonlocal", "not", "or", "pass",
        "raise", "return", "try", "while", "with", "yield", "max", "min", "abs", "zip", "params", "grads", "grad", "p",
        "group", "state", "step", "torch", "math", "self", "loss", "closure",
    ];
    let is_free = |name: &String| !name.is_empty() && !WORDS.contains(&&**name) && !is_taken(name);
    let others =
        (2..).map(|number| format!("{like}{}{number}", if like.ends_with(char::is_numeric) { "_" } else { "" }));
    let underscored = format!("{like}_");
    let first = if WORDS.contains(&like) { underscored } else { like.to_owned() };
    [first].into_iter().chain(others).find(is_free).expect("one of infinitely many is free")
}
