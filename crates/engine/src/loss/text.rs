//! Losses and their gradients as text in the language itself.

use std::f64::consts::PI;

use super::LossProgram;
use crate::expression::print::{Binding, Language, Printed, Printer};
use crate::expression::{Input, NodeId};

/// The number of characters from which an expression that is used more than once is on a separate line.
const LONG: usize = 12;
/// The nesting depth from which an expression is on a separate line.
const DEEP: usize = 25;

impl LossProgram {
    /// Writes the loss in the language, without declarations of its parameters, whose names are given: lines for what
    /// is used again, then `L = …`. Read with the declarations, it has the same values.
    pub fn loss_text(&self, parameters: &[&str]) -> String {
        self.lines(parameters, &[("L", self.loss)], constant)
    }

    /// Writes the gradient in the language, as [`LossProgram::loss_text`] does: `L_u = …` and `L_v = …` of a built-in
    /// loss, `L_x = …` and `L_y = …` of a typed one. Constants are rounded to 15 digits.
    pub fn gradient_text(&self, parameters: &[&str]) -> String {
        let (names, [first, second]) = match self.gradient_uv {
            Some(gradient) => (["L_u", "L_v"], gradient),
            None => (["L_x", "L_y"], self.gradient),
        };
        let rounded = |value: f64| match constant(value) {
            multiple if multiple.text.ends_with("pi") => multiple,
            _ => constant(format!("{value:.14e}").parse().expect("it was formatted as a number")),
        };
        self.lines(parameters, &[(names[0], first), (names[1], second)], rounded)
    }

    fn lines(&self, parameters: &[&str], results: &[(&str, NodeId)], constant: fn(f64) -> Printed) -> String {
        let graph = self.expressions.graph();
        let input = |input: Input| match input {
            Input::X => Printed::atom("x"),
            Input::Y => Printed::atom("y"),
            Input::Angle => Printed::atom("phi"),
            Input::Cosine => Printed::atom("cos(phi)"),
            Input::Sine => Printed::atom("sin(phi)"),
            Input::Parameter(index) => Printed::atom(parameters[index]),
            _ => unreachable!("the other inputs are of rules"),
        };
        let mut printer = Printer::new(graph, Language { input, constant, is_simplified: true });
        for (id, name) in self.expressions.uv.into_iter().zip(["u", "v"]) {
            printer.names[id.0] = Some(name.to_owned());
        }
        let mut uses = vec![0; graph.len()];
        results.iter().for_each(|(_, id)| uses[id.0] += 1);
        for index in (0..graph.len()).rev() {
            if uses[index] > 0 && printer.names[index].is_none() {
                graph.shown(NodeId(index)).into_iter().for_each(|operand| uses[operand.0] += 1);
            }
        }
        let mut new_names =
            (1..).map(|number| format!("a{number}")).filter(|name| !parameters.contains(&name.as_str()));
        let (mut depths, mut lines) = (vec![0; graph.len()], String::new());
        for id in graph.ids() {
            if uses[id.0] == 0 || printer.has_name(id) {
                continue;
            }
            let inside = graph.shown(id).into_iter().map(|operand| depths[operand.0]).max();
            depths[id.0] = inside.map_or(0, |depth: usize| depth + 1);
            let is_deep = depths[id.0] >= DEEP;
            if !is_deep && uses[id.0] < 2 {
                continue;
            }
            let Printed { text, .. } = printer.print(id);
            if is_deep || text.len() >= LONG {
                let name = new_names.next().expect("there are infinitely many");
                lines += &format!("{name} = {text}\n");
                printer.names[id.0] = Some(name);
                depths[id.0] = 0;
            }
        }
        for (name, result) in results {
            lines += &format!("{name} = {}\n", printer.print(*result).text);
        }
        lines
    }
}

/// Formats a constant so that it is read as the same number; a multiple of π is written with `pi`.
fn constant(value: f64) -> Printed {
    if value < 0.0 {
        return Printed::new(format!("-{}", constant(-value).text), Binding::Signed);
    }
    let plain = |value: f64| match value {
        _ if value.fract() == 0.0 && value < 1e15 => format!("{value}"),
        _ => format!("{value:?}"),
    };
    if value == PI {
        return Printed::atom("pi");
    }
    match [2.0, 4.0, 0.5].into_iter().find(|factor| value == factor * PI) {
        Some(factor) => Printed::new(format!("{}*pi", plain(factor)), Binding::Product),
        None => Printed::atom(plain(value)),
    }
}
