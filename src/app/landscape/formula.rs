//! The selected particle's last step, as the formulas of its rule with its numbers in them.

use crate::optimizer::{Adam, DecayTarget};
use crate::simulation::{Anatomy, AnatomyMemory, Configured};
use crate::view::ticks::significant;

/// One line of a rule and what it came to for the two coordinates.
#[derive(Clone, Debug, PartialEq)]
pub struct Formula {
    /// As on paper: `m ← β₁ m + (1 − β₁) g`.
    pub rule: String,
    /// What it computes, in words.
    pub meaning: &'static str,
    /// With the numbers in it, for x and y: `0.9 · 0.0123 + 0.1 · 0.456`.
    pub filled: [String; 2],
    /// What that comes to, for x and y.
    pub result: [f64; 2],
}

/// Significant digits in the formulas.
const DIGITS: usize = 4;

/// The formulas of the step, in the order in which they are computed.
pub fn formulas(anatomy: &Anatomy) -> Vec<Formula> {
    let step = Step { anatomy };
    let mut lines = vec![step.noisy_gradient()];
    match (anatomy.rule.configured(), anatomy.memory) {
        (Configured::Adam(rule), memory @ AnatomyMemory::Adam { .. }) => lines.extend(step.adam(&rule, memory)),
        (Configured::Signum(rule), AnatomyMemory::Signum { m_before, m }) => {
            lines.push(step.average(["m", "β₁", "g"], rule.beta1, m_before, m, "running average of the gradients"));
            lines.push(step.line(
                "d = sign(m)",
                "direction of the step",
                |i| format!("sign({})", text(m[i])),
                anatomy.direction,
            ));
            lines.push(step.decayed_parameters("d", rule.learning_rate, rule.weight_decay));
        }
        (Configured::Focus(rule), memory @ AnatomyMemory::Focus { .. }) => lines.extend(step.focus(&rule, memory)),
        (Configured::Sgd(rule), AnatomyMemory::Sgd { m_before, m }) => {
            lines.push(step.line(
                "m ← β₁ m + g",
                "momentum, a sum of the gradients",
                |i| format!("{} · {} + {}", text(rule.beta1), factor(m_before[i]), factor(anatomy.noisy_gradient[i])),
                m,
            ));
            lines.push(step.decayed_parameters("m", rule.learning_rate, rule.weight_decay));
        }
        // The engine takes a step apart with the rule that made it.
        _ => {}
    }
    lines
}

struct Step<'a> {
    anatomy: &'a Anatomy,
}

impl Step<'_> {
    fn line(&self, rule: &str, meaning: &'static str, filled: impl Fn(usize) -> String, result: [f64; 2]) -> Formula {
        Formula { rule: rule.to_owned(), meaning, filled: [filled(0), filled(1)], result }
    }

    fn noisy_gradient(&self) -> Formula {
        let Anatomy { noise, gradient, noisy_gradient, .. } = self.anatomy;
        self.line(
            "g = ξ ∇L(θ),  ξ ~ Normal(1, σ)",
            "the gradient as the optimizer sees it",
            |i| format!("{} · {}", text(noise[i]), factor(gradient[i])),
            *noisy_gradient,
        )
    }

    /// `m ← β m + (1 − β) g`, or of the squares.
    fn average(
        &self,
        [name, beta_name, input_name]: [&str; 3],
        beta: f64,
        before: [f64; 2],
        after: [f64; 2],
        meaning: &'static str,
    ) -> Formula {
        let square = if input_name == "g²" { "²" } else { "" };
        self.line(
            &format!("{name} ← {beta_name} {name} + (1 − {beta_name}) {input_name}"),
            meaning,
            |i| {
                let input = factor(self.anatomy.noisy_gradient[i]);
                let input = if square.is_empty() || input.starts_with('(') { input } else { format!("({input})") };
                format!("{} · {} + {} · {input}{square}", text(beta), factor(before[i]), text(1.0 - beta))
            },
            after,
        )
    }

    fn decayed_parameters(&self, direction: &str, learning_rate: f64, weight_decay: f64) -> Formula {
        let Anatomy { before, after, direction: moved, .. } = self.anatomy;
        self.line(
            &format!("θ ← θ − η ({direction} + ω θ)"),
            "the step, with decay of the parameters",
            |i| {
                format!(
                    "{} − {} · ({} + {} · {})",
                    text(before[i]),
                    text(learning_rate),
                    text(moved[i]),
                    text(weight_decay),
                    factor(before[i])
                )
            },
            *after,
        )
    }

    fn adam(&self, rule: &Adam, memory: AnatomyMemory) -> Vec<Formula> {
        let AnatomyMemory::Adam { m_before, s_before, m, s, m_weight, s_weight, m_hat, s_hat } = memory else {
            return Vec::new();
        };
        vec![
            self.average(["m", "β₁", "g"], rule.beta1, m_before, m, "running average of the gradients"),
            self.average(["s", "β₂", "g²"], rule.beta2, s_before, s, "running average of their squares"),
            self.line(
                "m̂ = m / (1 − β₁ᵗ)",
                "without the bias of a start at 0",
                |i| format!("{} / {}", text(m[i]), text(m_weight)),
                m_hat,
            ),
            self.line(
                "ŝ = s / (1 − β₂ᵗ)",
                "without the bias of a start at 0",
                |i| format!("{} / {}", text(s[i]), text(s_weight)),
                s_hat,
            ),
            self.line(
                "d = m̂ / (√ŝ + ε),  ε = 10⁻⁸",
                "direction: signal over noise",
                |i| format!("{} / ({} + ε)", text(m_hat[i]), text(s_hat[i].sqrt())),
                self.anatomy.direction,
            ),
            self.decayed_parameters("d", rule.learning_rate, rule.weight_decay),
        ]
    }

    fn focus(&self, rule: &crate::optimizer::Focus, memory: AnatomyMemory) -> Vec<Formula> {
        let AnatomyMemory::Focus { m_before, average_before, average_weight, m, average, .. } = memory else {
            return Vec::new();
        };
        let Anatomy { before, after, direction, .. } = self.anatomy;
        let mut lines = vec![
            self.average(["m", "β₁", "g"], rule.beta1, m_before, m, "running average of the gradients"),
            self.line(
                "θ̂ ← θ̂ + w (θ − θ̂),  w = (1 − β₂) / (1 − β₂ᵗ)",
                "running average of the parameters, before the step",
                |i| {
                    let average = average_before[i];
                    format!("{} + {} · {}", text(average), text(average_weight), factor(before[i] - average))
                },
                average,
            ),
            self.line(
                "d = sign(m) + γ sign(θ − θ̂)",
                "direction, with the pull towards the average",
                |i| format!("sign({}) + {} · sign({})", text(m[i]), factor(rule.gamma), text(before[i] - average[i])),
                *direction,
            ),
        ];
        lines.push(match rule.decay {
            DecayTarget::Parameters => self.decayed_parameters("d", rule.learning_rate, rule.weight_decay),
            DecayTarget::Average => self.line(
                "θ ← θ − η d − η ω θ̂",
                "the step, with decay of the average",
                |i| {
                    let (rate, decay) = (text(rule.learning_rate), text(rule.weight_decay));
                    let (d, average) = (factor(direction[i]), factor(average[i]));
                    format!("{} − {rate} · {d} − {rate} · {decay} · {average}", text(before[i]))
                },
                *after,
            ),
        });
        lines
    }
}

/// A number in a formula. Hyperparameters such as 0.9 are not padded with zeros.
pub fn text(value: f64) -> String {
    let exact = significant(value, 12);
    let rounded = significant(value, DIGITS);
    let trimmed = |text: &str| match text.contains('×') || !text.contains('.') {
        true => text.to_owned(),
        false => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
    };
    if trimmed(&exact).chars().count() <= rounded.chars().count() { trimmed(&exact) } else { rounded }
}

/// A number behind another sign: negative ones in brackets.
fn factor(value: f64) -> String {
    let text = text(value);
    if text.starts_with('−') { format!("({text})") } else { text }
}

/// A result, always with the same number of digits, so that columns line up.
pub fn result_text(value: f64) -> String {
    significant(value, DIGITS + 1)
}
