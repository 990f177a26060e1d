//! Particle steps per second of one core, with diagnostics.
//!
//! `cargo bench --bench simulation`. A step is one particle moved once by one optimizer, in float64.

use std::time::{Duration, Instant};

use divan::counter::ItemsCount;
use divan::{Bencher, black_box};
use valleyscope::player::{PlaybackPace, Player, PlayerCommand};
use valleyscope_engine::landscape::LandscapeSpec;
use valleyscope_engine::optimizer::{RatedRule, RuleKind, RuleSpec};
use valleyscope_engine::quantity::{LearningRate, Noise, ParticleCount};
use valleyscope_engine::simulation::{OptimizerSpec, Simulation, SimulationSpec, StartSpec, Timeline};

fn main() {
    divan::main();
}

const RULES: [&str; 4] = ["Adam", "Signum", "FOCUS", "SGD"];

fn rule(name: &str) -> RatedRule {
    let kind = RuleKind::named(name).expect("a registered rule");
    // SGD's learning rate is small enough that it does not diverge.
    let learning_rate = if kind == RuleKind::Sgd { 1e-4 } else { 0.01 };
    RuleSpec::on_plane(kind).rated(LearningRate::clamped(learning_rate))
}

fn spec(names: &[&str], particles: u64) -> SimulationSpec {
    let optimizers = names.iter().zip(1..).map(|(name, id)| OptimizerSpec {
        id,
        name: None,
        color: None,
        enabled: true,
        rule: rule(name),
    });
    SimulationSpec {
        landscape: LandscapeSpec::default(),
        noise: Noise::clamped(1.0).into(),
        seed: 1,
        steps: None,
        particles: ParticleCount::new(particles).expect("within the range"),
        start: StartSpec::default(),
        temperature: None,
        optimizers: optimizers.collect(),
    }
}

/// Measures one step of 1,000 particles of one optimizer.
#[divan::bench(args = RULES)]
fn one_optimizer(bencher: Bencher, name: &str) {
    let mut simulation = Simulation::new(spec(&[name], 1_000));
    bencher.counter(ItemsCount::new(1_000_u32)).bench_local(|| {
        simulation.advance();
        black_box(simulation.ensembles()[0].sample().loss.mean)
    });
}

/// Measures one step of four optimizers, for several sizes of their ensembles.
#[divan::bench(args = [1, 100, 1_000, 10_000])]
fn four_optimizers(bencher: Bencher, particles: u64) {
    let mut simulation = Simulation::new(spec(&RULES, particles));
    bencher.counter(ItemsCount::new(4 * particles)).bench_local(|| {
        simulation.advance();
        black_box(simulation.ensembles()[0].sample().loss.mean)
    });
}

/// Measures 10,000 new steps of 4 × 1,000 particles with the keyframes of a timeline.
#[divan::bench(sample_count = 3, sample_size = 1)]
fn timeline_steps(bencher: Bencher) {
    const STEPS: u64 = 10_000;
    bencher.counter(ItemsCount::new(4_000 * STEPS)).bench_local(|| {
        let mut timeline = Timeline::new(spec(&RULES, 1_000));
        (0..STEPS).for_each(|_| timeline.advance());
        timeline.bytes()
    });
}

/// Measures a seek to another step among 10⁵ of 4 × 1,000 particles: from one to the next of 40 steps that jump to and
/// fro over the whole run. The slowest time is that of the longest way from a keyframe.
#[divan::bench(sample_count = 40, sample_size = 1)]
fn seek(bencher: Bencher) {
    const STEPS: u64 = 100_000;
    let mut timeline = Timeline::new(spec(&RULES, 1_000));
    (0..STEPS).for_each(|_| timeline.advance());
    let mut step = 0;
    bencher.bench_local(|| {
        step = (step + 61_803) % STEPS;
        timeline.seek(step);
        black_box(timeline.simulation().ensembles()[0].sample().loss.mean)
    });
}

/// Measures 10,000 steps of the live player with 4 × 1,000 particles and 200-step trails at full speed, while its
/// snapshots are taken as a window takes them, 60 times a second.
#[divan::bench(sample_count = 5, sample_size = 1)]
fn live_player(bencher: Bencher) {
    const STEPS: u64 = 10_000;
    bencher.counter(ItemsCount::new(4_000 * STEPS)).bench_local(|| {
        let player = Player::spawn(spec(&RULES, 1_000), || {});
        player.send(PlayerCommand::TrailLength(200));
        player.send(PlayerCommand::Speed(PlaybackPace { unlimited: true, ..PlaybackPace::default() }));
        player.send(PlayerCommand::Advance(STEPS));
        let frame = Duration::from_micros(16_667);
        let mut next_frame = Instant::now();
        loop {
            std::thread::sleep(next_frame.saturating_duration_since(Instant::now()));
            next_frame += frame;
            if player.try_snapshot().is_some_and(|snapshot| snapshot.step == STEPS) {
                break;
            }
        }
    });
}
