//! The update rules against the oracle, one step at a time, and against their reference implementations.

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use valleyscope_engine::expression::{Input, Node, Op};
use valleyscope_engine::lanes::{Lanes, Planar};
use valleyscope_engine::optimizer::{
    Batch, BiasCorrection, Need, Numbers, PartRole, RatedRule, Rates, Rule, RuleInput, RuleKind, RuleSpec, StepInputs,
    WEIGHT_DECAY, trace,
};
use valleyscope_engine::quantity::LearningRate;
use valleyscope_engine::setting::SettingKind;
use valleyscope_engine::with_rule;

use crate::oracle::{Parameter, StepInput};
use crate::references::{GOLDENS, Golden, GoldenStep, TOLERANCE, deviation, known_law, law};

type One = Lanes<f64, 1>;
type Both = <One as Planar>::Both;

fn both(pair: [f64; 2]) -> Both {
    One::both(pair.map(|value| Lanes([value])))
}

fn apart(both: Both) -> [f64; 2] {
    One::apart(both).map(|Lanes([value])| value)
}

/// A possible state of a particle, and its gradient.
#[derive(Clone, Debug)]
struct State {
    steps: u64,
    rule: RatedRule,
    theta: [f64; 2],
    gradient: [f64; 2],
    remembered: Vec<[f64; 2]>,
    /// The factor by which a place gives the gradient there.
    slope: f64,
    curvature: [f64; 2],
    /// The largest learning rate so far and the sum of the weights of the steps, for a rule that weighs them.
    weights: [f64; 2],
}

#[derive(Clone, Debug)]
struct Outcome {
    theta: [f64; 2],
    direction: [f64; 2],
    remembered: Vec<[f64; 2]>,
}

impl State {
    /// Returns the product of a decay rate over the steps so far, or another such number of an optimizer.
    fn power(&self, key: &str) -> f64 {
        match key {
            "largest_rate" => self.weights[0],
            "weight_sum" => self.weights[1],
            key => self.rule.rule.get(key).unwrap().powf(self.steps as f64),
        }
    }
}

/// A batch whose gradient grows in proportion to the parameters.
#[derive(Clone, Copy)]
struct Given {
    slope: f64,
    curvature: [f64; 2],
}

impl Batch<Both> for Given {
    fn gradient_at(self, theta: Both) -> Both {
        both([self.slope; 2]) * theta
    }

    fn curvature(self) -> Both {
        both(self.curvature)
    }
}

/// The batch of [`Given`] for x and y one at a time.
#[derive(Clone, Copy)]
struct GivenApart(Given);

impl Batch<[f64; 2]> for GivenApart {
    fn gradient_at(self, theta: [f64; 2]) -> [f64; 2] {
        apart(self.0.gradient_at(both(theta)))
    }

    fn curvature(self) -> [f64; 2] {
        self.0.curvature
    }
}

fn by_library<R: Rule>(before: &State) -> Outcome {
    let State { steps, rule, theta, gradient, remembered, slope, curvature, .. } = before;
    let bias = BiasCorrection::new(*steps, &rule.rule, |key| Some(before.power(key))).unwrap();
    let bias = bias.after::<R>(&rule.rule, rule.learning_rate.get());
    let [learning_rate, weight_decay] = [rule.learning_rate.get(), rule.rule.weight_decay()].map(|it| both([it; 2]));
    let batch = Given { slope: *slope, curvature: *curvature };
    let rates = Rates { learning_rate, weight_decay, is_cautious: rule.rule.is_cautious() };
    let seen = RuleInput { rates, theta: both(*theta), gradient: both(*gradient), batch };
    let state = Numbers::from_fn(|index| both(remembered[index]));
    let (after, moved) = R::step(&bias.coefficients::<R, Both>(&rule.rule), seen, state);
    let remembered = after.as_ref().iter().map(|state| apart(*state)).collect();
    Outcome { theta: apart(moved.theta), direction: apart(moved.direction), remembered }
}

fn by_oracle(state: &State) -> Outcome {
    let rule = &state.rule.rule;
    let mut parameter = Parameter::matrix(&state.theta, 2);
    parameter.steps = state.steps;
    for (key, values) in rule.info().state_keys().zip(&state.remembered) {
        parameter.remember(key, values.to_vec(), |key| state.power(key));
    }
    for (of, _) in rule.hyperparameters().filter(|(of, _)| of.is_decay_rate()) {
        parameter.set_product(of.key, state.power(of.key));
    }
    let seen = StepInput {
        gradient: &state.gradient,
        gradient_at: &|place| place.iter().map(|place| state.slope * place).collect(),
        curvature: &|| state.curvature.to_vec(),
    };
    let direction = parameter.step(&law(rule, state.rule.learning_rate.get()), &seen, None);
    let remembered = rule.info().state_keys().map(|key| pair(&parameter.remembered(key))).collect();
    Outcome { theta: pair(&parameter.theta), direction: pair(&direction), remembered }
}

/// Each rule with each of its choices, and random numbers.
fn random_rules(random: &mut StdRng) -> Vec<RatedRule> {
    let mut rules = Vec::new();
    for &kind in RuleKind::ALL {
        let mut specs = vec![RuleSpec::on_plane(kind)];
        for of in kind.info().hyperparameters {
            let values: Vec<f64> = match of.kind {
                SettingKind::Choice(choices) => (0..choices.len()).map(|index| index as f64).collect(),
                SettingKind::DecayRate if of.key == "beta1" => vec![random.random_range(0.0..0.99)],
                SettingKind::DecayRate => vec![1.0 - 10_f64.powf(random.random_range(-3.0..0.0))],
                SettingKind::Whole(_) => vec![f64::from(random.random_range(1..4_u32))],
                SettingKind::Number(_) if of.key == WEIGHT_DECAY => {
                    vec![random.random_range(0.0..0.5)]
                }
                _ => vec![random.random_range(of.slider.low..of.slider.high)],
            };
            let with =
                |spec: &RuleSpec| values.iter().map(|value| spec.with(of.key, *value).unwrap()).collect::<Vec<_>>();
            specs = specs.iter().flat_map(with).collect();
        }
        let rate = LearningRate::new(10_f64.powf(random.random_range(-4.0..0.0))).unwrap();
        rules.extend(specs.into_iter().map(|spec| spec.rated(rate)));
    }
    rules
}

fn random_state(random: &mut StdRng, rule: RatedRule) -> State {
    let scale = 10_f64.powf(random.random_range(-4.0..4.0));
    let mut remembered: Vec<[f64; 2]> = Vec::new();
    for part in rule.rule.info().states {
        let PartRole::State { key, is_point } = part.role else { panic!("{} is a state", part.symbol) };
        if let Some(values) = of_statistic(random, key, &remembered, scale) {
            remembered.push(values);
            continue;
        }
        remembered.push([0, 1].map(|axis| match key {
            _ if is_point || key == "lead" => random.random_range(-3.0..3.0),
            "s" => random.random_range(0.0..1.0) * scale * scale,
            "h" => random.random_range(-1.0..1.0) * scale * scale,
            // The average's square is below that of the squares, the state before it in RMSProp.
            "a" => random.random_range(-0.9..0.9) * remembered[0][axis].sqrt(),
            _ => random.random_range(-1.0..1.0) * scale,
        }));
    }
    let mut signed = |size: f64| [(); 2].map(|()| random.random_range(-1.0..1.0) * size);
    let (theta, gradient) = (signed(3.0), signed(scale));
    let curvature = signed(scale * scale);
    let slope = random.random_range(-1.0..1.0) * scale;
    let steps = 10_f64.powf(random.random_range(0.0..3.7)) as u64;
    let weights = if rule.rule.weighs_steps() { random_weights(random, &rule, steps) } else { [0.0; 2] };
    State { steps, rule, theta, gradient, remembered, slope, curvature, weights }
}

/// Returns a largest learning rate about that of now, and a sum of weights in which a step with it has a share of 1/30
/// to 30/31.
fn random_weights(random: &mut StdRng, rule: &RatedRule, steps: u64) -> [f64; 2] {
    let largest = rule.learning_rate.get() * random.random_range(0.5..2.0);
    let [r, p] = ["r", "weight_lr_power"].map(|key| rule.rule.get(key).unwrap());
    let weight = (steps as f64).powf(r) * largest.powf(p);
    [largest, weight * 30_f64.powf(random.random_range(-1.0..1.0))]
}

/// Returns the states of rules with a statistic of 2 × 2, which is positive: its diagonal, and then the number beside
/// it, twice; the same of its root; an axis, and the squares along it and across it, twice each.
fn of_statistic(random: &mut StdRng, key: &str, before: &[[f64; 2]], scale: f64) -> Option<[f64; 2]> {
    let mut positive = |scale: f64| random.random_range(0.01..1.0) * scale;
    Some(match key {
        "diagonal" => [(); 2].map(|()| positive(scale * scale)),
        "root" => [(); 2].map(|()| positive(1.0 / scale)),
        "mixed" | "mixed_root" => {
            let [a, b] = *before.last()?;
            [random.random_range(-0.9..0.9) * (a * b).sqrt(); 2]
        }
        "along" | "across" => [positive(scale * scale); 2],
        "axis" => random.random_range(0.0..std::f64::consts::TAU).sin_cos().into(),
        _ => return None,
    })
}

/// Returns the growth of a relative rounding in a rule with a statistic: in its root, and where the part along an axis
/// is small beside the part across it.
fn growth_in_statistic(state: &State, theirs: &Outcome) -> f64 {
    let of = |key: &str| {
        let place = state.rule.rule.info().state_keys().position(|other| other == key)?;
        Some(theirs.remembered[place])
    };
    let (Some([a, b]), Some([c, _])) = (of("diagonal"), of("mixed")) else { return 1.0 };
    let spread = (a + b).powi(2) / (a * b - c * c);
    let Some([along, across]) = of("along").zip(of("across")).map(|(along, across)| [along[0], across[0]]) else {
        return spread;
    };
    spread * (along / across).max(across / along)
}

/// Rules whose direction is made of signs, and so has no rounding.
const OF_SIGNS: [RuleKind; 3] = [RuleKind::Signum, RuleKind::Focus, RuleKind::Lion];

/// Rules whose direction is a sum of rounded terms.
const OF_MORE_TERMS: [RuleKind; 7] = [
    RuleKind::Muon,
    RuleKind::Sgd,
    RuleKind::RmsProp,
    RuleKind::NAdam,
    RuleKind::AdEmaMix,
    RuleKind::Shampoo,
    RuleKind::Soap,
];

#[test]
fn one_step_from_a_thousand_states_agrees_with_the_oracle() {
    let mut random = StdRng::seed_from_u64(4);
    for _ in 0..1000 {
        for rule in random_rules(&mut random) {
            let state = random_state(&mut random, rule);
            let (ours, theirs) = (with_rule!(rule.rule.kind(), R => by_library::<R>(&state)), by_oracle(&state));
            (0..2).for_each(|axis| compare(&state, &ours, &theirs, axis));
        }
    }
}

/// Compares a coordinate, relative to the largest term of each sum.
#[track_caller]
fn compare(state: &State, ours: &Outcome, theirs: &Outcome, axis: usize) {
    let rule = &state.rule.rule;
    // The bias correction 1 − βᵗ has the rounding error of βᵗ, half an ε.
    let rates = rule.hyperparameters().filter(|(of, _)| of.is_decay_rate());
    let conditioning: f64 = rates.map(|(of, beta)| 1.0 / (1.0 - state.power(of.key) * beta)).sum();
    // The sum of a gradient and its coupled decay can cancel.
    let decay =
        if rule.choice("decay").is_some_and(|choice| choice.key == "Coupled") { rule.weight_decay() } else { 0.0 };
    let terms = |axis: usize| state.gradient[axis].abs() + decay * state.theta[axis].abs();
    let cancelled = terms(axis) / (state.gradient[axis] + decay * state.theta[axis]).abs();
    let relative = (1e-14 + 0.5 * f64::EPSILON * conditioning) * cancelled.max(1.0);
    let check = |name: &str, ours: f64, theirs: f64, scale: f64| {
        assert!((ours - theirs).abs() <= relative * scale, "{name} {ours:e} against {theirs:e} from {state:?}");
    };
    let (theta, direction) = (state.theta[axis], theirs.direction[axis]);
    // The terms of these can cancel once more, and each of Muon's five steps rounds.
    let more = if OF_MORE_TERMS.contains(&rule.kind()) { 1e3 } else { 1.0 };
    let mut decayed = theta.abs();
    // The momentum's terms can cancel, in this coordinate or, through a norm, in the other one.
    let mut cancellation: f64 = growth_in_statistic(state, theirs);
    for (place, part) in rule.info().states.iter().enumerate() {
        let PartRole::State { key, is_point } = part.role else { panic!("{} is a state", part.symbol) };
        let (before, after) = (state.remembered[place], theirs.remembered[place]);
        let scale = match key {
            _ if is_point => after[axis].abs() + theta.abs(),
            "s" | "previous" => after[axis].abs(),
            "h" => before[axis].abs().max(state.curvature[axis].abs()),
            "diagonal" | "mixed" | "along" | "across" => {
                before[axis].abs() + (state.gradient[0].abs() + state.gradient[1].abs()).powi(2)
            }
            "root" => cancellation * after[0].max(after[1]),
            // The number beside the root's diagonal.
            "mixed_root" => {
                let [a, b] = theirs.remembered[place - 1];
                cancellation * a.max(b)
            }
            "axis" => cancellation,
            // RMSProp's sum of steps.
            "b" => more * (before[axis].abs() + after[axis].abs()),
            // The oracle computes it from z, by subtracting θ.
            "lead" => theta.abs() + before[axis].abs() + after[axis].abs(),
            _ => before[axis].abs().max(terms(axis)),
        };
        check(key, ours.remembered[place][axis], after[axis], scale);
        if key == "lead" {
            decayed += before[axis].abs();
        }
        if is_point {
            decayed = decayed.max(after[axis].abs());
        }
        if key == "h" && before != after {
            cancellation = cancellation.max(scale / after[axis].abs());
        }
        if key == "m" {
            let lost = |axis: usize| before[axis].abs().max(terms(axis)) / after[axis].abs();
            cancellation = cancellation.max(lost(axis));
            if !rule.info().needs_gradient_only() {
                cancellation = cancellation.max(lost(1 - axis));
            }
        }
    }
    // A statistic mixes the coordinates.
    let size = match rule.info().needs(Need::Axes) {
        true => direction.abs().max(theirs.direction[1 - axis].abs()),
        false => direction.abs(),
    };
    let scale = if OF_SIGNS.contains(&rule.kind()) { 0.0 } else { more * size * cancellation };
    check("direction", ours.direction[axis], direction, scale);
    let eta = state.rule.learning_rate.get();
    let moved = eta * (direction.abs().max(scale) + rule.weight_decay() * decayed);
    check("θ", ours.theta[axis], theirs.theta[axis], theta.abs().max(decayed) + moved);
}

#[test]
fn every_registered_rule_has_an_oracle() {
    for &kind in RuleKind::ALL {
        let law = known_law(&RuleSpec::on_plane(kind), 0.1);
        assert!(law.is_some(), "{} is registered, and has no oracle", kind.info().name);
    }
}

#[test]
fn every_registered_rule_has_a_golden() {
    for &kind in RuleKind::ALL {
        assert!(GOLDENS.iter().any(|(of, ..)| *of == kind), "{} has no golden", kind.info().name);
    }
}

#[test]
fn rules_declare_exactly_the_inputs_that_they_use() {
    let mut random = StdRng::seed_from_u64(5);
    let mut asked = vec![Vec::new(); RuleKind::ALL.len()];
    for rule in random_rules(&mut random) {
        let kind = rule.rule.kind();
        let State { theta, gradient, remembered: states, slope, curvature, .. } = random_state(&mut random, rule);
        let RatedRule { rule, learning_rate, .. } = rule;
        let learning_rate = learning_rate.get();
        let mut inputs = StepInputs { rule, learning_rate, bias: BiasCorrection::START, theta, gradient, states };
        // Some steps may request more than others.
        for _ in 0..12 {
            inputs.bias = bias_after(&inputs);
            let graph = trace(&inputs, GivenApart(Given { slope, curvature })).graph;
            for id in graph.ids() {
                let need = match graph.node(id) {
                    Node::Of(Op::Norm(_) | Op::BlockMean(_) | Op::Orthogonal(_) | Op::ByShape(..)) => {
                        Need::WholeParameter
                    }
                    Node::Of(Op::Exchanged(_)) => Need::Axes,
                    Node::Of(Op::GradientAt(_)) => Need::GradientElsewhere,
                    Node::Input(Input::Curvature) => Need::Curvature,
                    _ => continue,
                };
                let place = RuleKind::ALL.iter().position(|known| *known == kind).unwrap();
                let asked = &mut asked[place];
                if !asked.contains(&need) {
                    asked.push(need);
                }
            }
        }
    }
    for (&kind, asked) in RuleKind::ALL.iter().zip(asked) {
        let needs = [Need::WholeParameter, Need::Axes, Need::GradientElsewhere, Need::Curvature];
        let [asks, says] = [needs.map(|need| asked.contains(&need)), needs.map(|need| kind.info().needs(need))];
        assert_eq!(asks, says, "{} asks for {asked:?}, and says {:?}", kind.info().name, kind.info().needs);
    }
}

/// A batch that returns the inputs of a golden's step.
#[derive(Clone, Copy)]
struct OfGolden<'a>(&'a GoldenStep<'a>);

impl Batch<[f64; 2]> for OfGolden<'_> {
    fn gradient_at(self, theta: [f64; 2]) -> [f64; 2] {
        if let Some(elsewhere) = self.0.elsewhere {
            assert!(deviation(&theta, elsewhere) < TOLERANCE, "asked at {theta:?}, not at {elsewhere:?}");
        }
        pair(self.0.gradient_elsewhere.expect("the golden has it"))
    }

    fn curvature(self) -> [f64; 2] {
        pair(self.0.curvature.as_ref().expect("the golden has it"))
    }
}

/// The plane's steps, as their formulas are shown, against the reference implementations.
#[test]
fn every_rule_agrees_with_its_reference_implementation_on_the_plane() {
    for &(kind, name, chosen) in GOLDENS {
        let golden = Golden::read(name);
        let RatedRule { rule, learning_rate, .. } = golden.rule(kind, chosen);
        let mut inputs = StepInputs {
            rule,
            learning_rate: learning_rate.get(),
            bias: BiasCorrection::START,
            theta: pair(golden.start("p2")),
            gradient: [0.0; 2],
            states: vec![[0.0; 2]; kind.info().states.len()],
        };
        for step in golden.steps("p2") {
            inputs.bias = bias_after(&inputs);
            inputs.gradient = pair(step.gradient);
            let trace = trace(&inputs, OfGolden(&step));
            (inputs.theta, inputs.states) = (trace.values(trace.theta), trace.states);
            let place = match rule.gradient_toward() {
                None => inputs.theta,
                Some((state, part)) => [0, 1].map(|axis| inputs.theta[axis] + part * inputs.states[state][axis]),
            };
            let off = deviation(&place, step.after);
            assert!(off < TOLERANCE, "{name}, step {}: {off:e}", inputs.bias.steps);
            assert_eq!(step.averaged.is_some(), rule.gradient_toward().is_some());
            let off = step.averaged.map_or(0.0, |averaged| deviation(&inputs.theta, averaged));
            assert!(off < TOLERANCE, "{name}, x of step {}: {off:e}", inputs.bias.steps);
        }
    }
}

/// The bias correction of the next step.
fn bias_after(StepInputs { rule, bias, learning_rate, .. }: &StepInputs) -> BiasCorrection {
    with_rule!(rule.kind(), R => bias.after::<R>(rule, *learning_rate))
}

fn pair(values: &[f64]) -> [f64; 2] {
    values.try_into().unwrap()
}
