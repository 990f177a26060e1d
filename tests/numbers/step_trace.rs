//! Recorded steps, against the steps that were taken.

use valleyscope_engine::expression::{Input, Node, Op};
use valleyscope_engine::optimizer::{ArrowRole, RatioCorrection, RuleKind};
use valleyscope_engine::random::Streams;
use valleyscope_engine::simulation::{ParticleId, Setting, Simulation, StepTrace, noise_key};

use crate::comparison::{draws_of_step, valley_of};
use crate::laws::law;
use crate::oracle::{Particle, sign};
use crate::specs::{adam, all_rules, noise, simulation, valley};

#[track_caller]
fn assert_close(name: &str, found: [f64; 2], expected: [f64; 2]) {
    for (found, expected) in found.into_iter().zip(expected) {
        // Far above the rounding of some hundred steps, far below what a wrong formula gives.
        let allowed = 1e-8 * expected.abs().max(1e-3);
        assert!((found - expected).abs() <= allowed, "{name}: {found} where {expected} is right");
    }
}

/// Returns the value of a part of the step.
fn part(step: &StepTrace, symbol: &str) -> [f64; 2] {
    let found = step.trace.parts.iter().find(|(_, part)| part.symbol == symbol);
    let (id, _) = found.unwrap_or_else(|| panic!("no {symbol} in a step of {}", step.inputs.rule.name()));
    step.trace.values(*id)
}

/// Compares the states with the oracle's particle before and after the same step.
#[track_caller]
fn assert_states(step: &StepTrace, was: &Particle, is: &Particle) {
    let of = |particle: &Particle, name: &str| -> [f64; 2] { particle.0.remembered(name).try_into().unwrap() };
    let names: Vec<&str> = step.inputs.rule.info().state_keys().collect();
    assert!(!names.is_empty());
    for (index, name) in names.into_iter().enumerate() {
        assert_close(&format!("{name} before"), step.inputs.states[index], of(was, name));
        assert_close(name, step.trace.states[index], of(is, name));
        // A state that is an input has the symbol of that.
        let inputs = [Input::Gradient, Input::Theta, Input::State(index)].map(Node::Input);
        if !inputs.contains(&step.trace.graph.node(step.trace.new_states[index])) {
            let symbol = step.inputs.rule.info().states[index].symbol;
            assert_eq!(part(step, symbol), step.trace.states[index], "{symbol} is shown as it is remembered");
        }
    }
    let gathered = |key: &str| [is.0.gathered_so_far(key); 2];
    match step.inputs.rule.kind() {
        RuleKind::Adam => {
            let (ratio, _) = step.trace.parts.iter().find(|(_, part)| part.symbol == "d").unwrap();
            let Node::Of(Op::Ratio(_, _, RatioCorrection { m_weight, s_weight, .. })) = step.trace.graph.node(*ratio)
            else {
                panic!("Adam's direction is a ratio of averages")
            };
            assert_close("1 − β₁ᵗ", step.trace.values(m_weight), gathered("beta1"));
            assert_close("1 − β₂ᵗ", step.trace.values(s_weight), gathered("beta2"));
        }
        RuleKind::Focus => {
            let gamma = step.inputs.rule.get("gamma").unwrap();
            assert_close("w", part(step, "w"), [is.0.newest_share(); 2]);
            let (_, pull) = step.trace.arrows.iter().find(|(arrow, _)| arrow.label == "pull").unwrap();
            let average = step.trace.states[1];
            assert_eq!(*pull, [0, 1].map(|axis| gamma * sign(step.inputs.theta[axis] - average[axis])));
        }
        _ => {}
    }
}

#[test]
fn the_parts_of_a_step_agree_with_the_oracle() {
    for (index, rule) in all_rules(0.01).into_iter().enumerate() {
        // This is the last particle, in a block that is not full.
        let id = ParticleId { optimizer: index as u32 + 1, particle: 10 };
        let mut simulation = Simulation::new(simulation(1.0, 11, &all_rules(0.01)));
        let seed = simulation.spec().seed;
        let mut noise_stream = Streams::<1>::new([noise_key(seed, id.optimizer, id.particle as u64)]);
        let mut particle = Particle::starting_at(simulation.ensembles()[index].position(id.particle));
        simulation.select(Some(id));
        assert!(simulation.step_trace().is_none(), "no step was taken yet");
        for number in 1..=300 {
            if number == 100 {
                simulation.apply(&Setting::Landscape(valley(20.0, 0.2, -50.0))).unwrap();
                simulation.apply(&Setting::Noise(noise(0.5))).unwrap();
            }
            let (valley, sigma) = (valley_of(&simulation.spec().landscape), simulation.spec().noise.sigma());
            let before = simulation.ensembles()[index].position(id.particle);
            let [draws, curvature_draws] = draws_of_step(&rule.rule, &mut noise_stream);
            simulation.advance();
            let was = particle.clone();
            let place = match rule.rule.gradient_toward() {
                Some(_) => was.0.gradient_point(rule.rule.get("beta1").unwrap()).try_into().unwrap(),
                None => before,
            };
            let law = law(&rule.rule, rule.learning_rate.get());
            let direction = particle.step(valley, &law, sigma, [draws, curvature_draws], None);

            let step = simulation.step_trace().expect("a step was taken");
            assert_eq!((step.id, step.step(), step.inputs.rule), (id, number, rule.rule));
            assert_eq!(step.inputs.learning_rate, rule.learning_rate.get());
            assert_eq!(step.inputs.theta, before);
            assert_eq!(step.after, simulation.ensembles()[index].position(id.particle));
            assert_close("gradient", step.gradient, valley.gradient(place));
            assert_close("noise", step.noise, draws.map(|draw| 1.0 + sigma * draw));
            assert_close("noisy gradient", step.inputs.gradient, valley.noisy_gradient(place, sigma, draws, None));
            assert_close("direction", step.trace.direction, direction);
            assert_states(&step, &was, &particle);
        }
    }
}

/// The direction and the weight decay are drawn, and nothing else moves a particle of Adam or Signum.
#[test]
fn the_drawn_arrows_add_up_to_the_step() {
    let rules = all_rules(0.01);
    for (index, rule) in rules.iter().enumerate() {
        if !matches!(rule.rule.kind(), RuleKind::Adam | RuleKind::Signum) {
            continue;
        }
        let mut simulation = Simulation::new(simulation(1.0, 11, &rules));
        simulation.select(Some(ParticleId { optimizer: index as u32 + 1, particle: 3 }));
        for _ in 0..300 {
            simulation.advance();
        }
        let step = simulation.step_trace().unwrap();
        let drawn =
            |role| step.trace.arrows.iter().filter(move |(arrow, _)| arrow.role == role).map(|(_, value)| *value);
        assert_eq!(drawn(ArrowRole::Decay).count(), 1, "{}", step.inputs.rule.name());
        let all: Vec<[f64; 2]> = drawn(ArrowRole::Direction).chain(drawn(ArrowRole::Decay)).collect();
        for axis in 0..2 {
            let sum: f64 = all.iter().map(|value| value[axis]).sum();
            let moved = step.after[axis] - step.inputs.theta[axis];
            assert!((moved + step.inputs.learning_rate * sum).abs() < 1e-12, "{all:?} and a step of {moved}");
        }
    }
}

/// A change of settings leaves the shown trace of the last step as it was taken, until the next step.
#[test]
fn a_change_does_not_rewrite_the_last_step() {
    let mut simulation = Simulation::new(simulation(1.0, 3, &all_rules(0.01)));
    simulation.select(Some(ParticleId { optimizer: 1, particle: 2 }));
    for _ in 0..20 {
        simulation.advance();
    }
    let shown = simulation.step_trace().unwrap();
    simulation.apply(&Setting::Noise(noise(0.0))).unwrap();
    simulation.apply(&Setting::Landscape(valley(500.0, 0.1, 0.0))).unwrap();
    simulation.apply(&Setting::Rule { optimizer: 1, rule: adam(0.5, 0.1, 0.2, 0.3) }).unwrap();
    assert_eq!(simulation.step_trace().unwrap(), shown);
    simulation.advance();
    assert_eq!(simulation.step_trace().unwrap().inputs.theta, shown.after);
    simulation.select(None);
    assert!(simulation.step_trace().is_none());
}

/// Selecting a particle changes no step.
#[test]
fn a_selection_changes_no_step() {
    let mut looked_at = Simulation::new(simulation(1.0, 9, &all_rules(0.01)));
    let mut left_alone = looked_at.clone();
    for step in 0..100 {
        let optimizer = step % 7;
        looked_at.select(Some(ParticleId { optimizer, particle: step as usize % 12 }));
        looked_at.advance();
        left_alone.advance();
        for (a, b) in looked_at.ensembles().iter().zip(left_alone.ensembles()) {
            assert!(a.positions().eq(b.positions()));
        }
    }
}
