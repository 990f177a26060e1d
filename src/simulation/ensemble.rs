//! The particles of one optimizer, advanced many at a time.

use rand_distr::{Distribution, Normal};

use super::diagnostics::{Observed, Sample, Sums};
use super::kernel::{Block, Pair, Particles, Step, WIDTH, noise_factor};
use super::snapshot::{Anatomy, AnatomyMemory, ParticleId};
use super::spec::{Configured, OptimizerSpec, Rule, SimulationSpec, StartSpec};
use crate::landscape::Landscape;
use crate::lanes::{Lanes, Real};
use crate::optimizer::{Adam, Clock, Focus, Optimizer, Sgd, Signum};
use crate::random::{Key, Stream, Streams};

/// The key of the stream from which a particle's starting position is drawn, x before y.
pub fn start_key(seed: u64, optimizer: u32, particle: u64) -> Key {
    Key::new(seed).at(u64::from(optimizer)).at(particle).at(0)
}

/// The key of the stream from which a particle's gradient noise is drawn, a pair for x and y each step.
pub fn noise_key(seed: u64, optimizer: u32, particle: u64) -> Key {
    Key::new(seed).at(u64::from(optimizer)).at(particle).at(1)
}

/// The particles of one optimizer, at one step.
#[derive(Clone, Debug)]
pub struct Ensemble {
    optimizer: u32,
    rule: Rule,
    particles: usize,
    clock: Clock,
    /// The last block is filled up with particles that are not looked at.
    positions: Vec<Pair<Block>>,
    streams: Vec<Streams<WIDTH>>,
    memory: Memory,
    sample: Sample,
    mean_position: [f64; 2],
    /// The selected particle, and what it was before the last step.
    selected: Option<usize>,
    before: Option<Before>,
}

/// What the optimizer remembers of each block.
#[derive(Clone, Debug)]
enum Memory {
    Adam(Vec<Pair<<Adam as Optimizer>::Memory<Block>>>),
    Signum(Vec<Pair<<Signum as Optimizer>::Memory<Block>>>),
    Focus(Vec<Pair<<Focus as Optimizer>::Memory<Block>>>),
    Sgd(Vec<Pair<<Sgd as Optimizer>::Memory<Block>>>),
}

/// The selected particle's block before a step.
#[derive(Clone, Debug)]
struct Before {
    position: Pair<Block>,
    noise: Pair<Block>,
    /// Of this block alone.
    memory: Memory,
    landscape: Landscape,
    rule: Rule,
}

impl Ensemble {
    /// The particles at their starting positions.
    pub fn new(spec: &SimulationSpec, optimizer: &OptimizerSpec) -> Self {
        let particles = spec.particles.get();
        let blocks = particles.div_ceil(WIDTH);
        let index = |block: usize, lane: usize| (block * WIDTH + lane) as u64;
        let positions = (0..blocks).map(|block| {
            let starts: [Pair<f64>; WIDTH] = std::array::from_fn(|lane| {
                draw_start(&spec.start, start_key(spec.seed, optimizer.id, index(block, lane)))
            });
            [0, 1].map(|axis| Lanes::from_fn(|lane| starts[lane][axis]))
        });
        let streams = (0..blocks).map(|block| {
            Streams::new(std::array::from_fn(|lane| noise_key(spec.seed, optimizer.id, index(block, lane))))
        });
        let mut ensemble = Ensemble {
            optimizer: optimizer.id,
            rule: optimizer.rule,
            particles,
            clock: Clock::START,
            positions: positions.collect(),
            streams: streams.collect(),
            memory: match optimizer.rule.configured() {
                Configured::Adam(adam) => Memory::Adam(vec![[adam.fresh(); 2]; blocks]),
                Configured::Signum(signum) => Memory::Signum(vec![[signum.fresh(); 2]; blocks]),
                Configured::Focus(focus) => Memory::Focus(vec![[focus.fresh(); 2]; blocks]),
                Configured::Sgd(sgd) => Memory::Sgd(vec![[sgd.fresh(); 2]; blocks]),
            },
            sample: Sample::UNDEFINED,
            mean_position: [spec.start.x.get(), spec.start.y.get()],
            selected: None,
            before: None,
        };
        // The second look sums about the means that the first one found.
        ensemble.observe(&spec.landscape.landscape());
        ensemble.observe(&spec.landscape.landscape());
        ensemble
    }

    /// The id of the optimizer that moves the particles.
    pub fn optimizer(&self) -> u32 {
        self.optimizer
    }

    /// The rule in force.
    pub fn rule(&self) -> &Rule {
        &self.rule
    }

    pub(super) fn set_rule(&mut self, rule: Rule) {
        self.rule = rule;
    }

    /// The number of particles.
    pub fn particles(&self) -> usize {
        self.particles
    }

    /// The position (x, y) of a particle.
    pub fn position(&self, particle: usize) -> [f64; 2] {
        let [x, y] = &self.positions[particle / WIDTH];
        [x.0[particle % WIDTH], y.0[particle % WIDTH]]
    }

    /// All positions, in the particles' order.
    pub fn positions(&self) -> impl Iterator<Item = [f64; 2]> {
        let all = self.positions.iter().flat_map(|[x, y]| (0..WIDTH).map(|lane| [x.0[lane], y.0[lane]]));
        all.take(self.particles)
    }

    /// Writes all positions in single precision, in the particles' order.
    pub(super) fn write_positions(&self, column: &mut [[f32; 2]]) {
        for (chunk, [x, y]) in column.chunks_mut(WIDTH).zip(&self.positions) {
            for (position, (x, y)) in chunk.iter_mut().zip(x.0.iter().zip(&y.0)) {
                *position = [*x as f32, *y as f32];
            }
        }
    }

    /// The mean position (x, y); not finite where a particle has diverged.
    pub fn mean_position(&self) -> [f64; 2] {
        self.mean_position
    }

    /// The diagnostics of the present step, on the landscape on which it was taken.
    pub fn sample(&self) -> &Sample {
        &self.sample
    }

    /// Takes apart the steps of this particle from now on.
    pub(super) fn select(&mut self, particle: Option<usize>) {
        self.selected = particle.filter(|&particle| particle < self.particles);
        self.before = None;
    }

    /// Takes one step on `landscape`, with noise of standard deviation `noise`.
    pub(super) fn advance(&mut self, landscape: &Landscape, noise: f64) {
        self.before = self.selected.map(|particle| self.remember(particle / WIDTH, landscape, noise));
        let step = Step { landscape: *landscape, noise, pivots: (self.sample, self.mean_position) };
        let particles = Particles { count: self.particles, positions: &mut self.positions, streams: &mut self.streams };
        let clock = &mut self.clock;
        let sums = match (self.rule.configured(), &mut self.memory) {
            (Configured::Adam(adam), Memory::Adam(memory)) => step.run(&adam, clock, particles, memory),
            (Configured::Signum(signum), Memory::Signum(memory)) => step.run(&signum, clock, particles, memory),
            (Configured::Focus(focus), Memory::Focus(memory)) => step.run(&focus, clock, particles, memory),
            (Configured::Sgd(sgd), Memory::Sgd(memory)) => step.run(&sgd, clock, particles, memory),
            _ => unreachable!("the kind of a rule does not change while it runs"),
        };
        (self.sample, self.mean_position) = sums.finish(self.particles, || self.diverged());
    }

    /// Particles whose position is not finite.
    fn diverged(&self) -> u32 {
        self.positions().filter(|[x, y]| !x.is_finite() || !y.is_finite()).count() as u32
    }

    /// The diagnostics of the present positions on another landscape than that of the last step.
    pub(super) fn sample_on(&self, landscape: &Landscape) -> Sample {
        let Sample { effective_step, entropy, diverged, .. } = self.sample;
        Sample { effective_step, entropy, diverged, ..self.observed(landscape).0 }
    }

    /// Takes the diagnostics of the present positions, before any step.
    fn observe(&mut self, landscape: &Landscape) {
        (self.sample, self.mean_position) = self.observed(landscape);
    }

    /// The diagnostics and the mean of the present positions.
    fn observed(&self, landscape: &Landscape) -> (Sample, [f64; 2]) {
        let mut sums = Sums::about(&self.sample, self.mean_position);
        for (block, position) in self.positions.iter().enumerate() {
            let valley = landscape.uv_from_xy(*position);
            let observed = Observed {
                position: *position,
                valley,
                loss: landscape.loss(valley),
                effective_step: Lanes::splat(f64::NAN),
            };
            sums.add_some(&observed, WIDTH.min(self.particles - block * WIDTH));
        }
        sums.finish(self.particles, || self.diverged())
    }

    fn remember(&self, block: usize, landscape: &Landscape, noise: f64) -> Before {
        let normals: Pair<Block> = self.streams[block].clone().normal_pair();
        Before {
            position: self.positions[block],
            noise: normals.map(|normal| noise_factor(normal, noise)),
            memory: self.memory.of_block(block),
            landscape: *landscape,
            rule: self.rule,
        }
    }

    /// The selected particle's last step, taken apart.
    pub(super) fn anatomy(&self) -> Option<Box<Anatomy>> {
        let (particle, before) = (self.selected?, self.before.as_ref()?);
        let lane = particle % WIDTH;
        let pick = |pair: Pair<Block>| pair.map(|block| block.0[lane]);
        let gradient = before.landscape.gradient(before.landscape.uv_from_xy(before.position));
        let noisy_gradient = [gradient[0] * before.noise[0], gradient[1] * before.noise[1]];
        let again = Again { clock: &self.clock, position: before.position, noisy_gradient };
        let (direction, memory) = match (before.rule.configured(), &before.memory) {
            (Configured::Adam(adam), Memory::Adam(memory)) => {
                let (after, direction) = again.step(&adam, memory[0]);
                let (m, s) = (pick(after.map(|memory| memory.m)), pick(after.map(|memory| memory.s)));
                let (m_weight, s_weight) = (1.0 - self.clock.beta1_power, 1.0 - self.clock.beta2_power);
                let memory = AnatomyMemory::Adam {
                    m_before: pick(memory[0].map(|memory| memory.m)),
                    s_before: pick(memory[0].map(|memory| memory.s)),
                    m,
                    s,
                    m_weight,
                    s_weight,
                    m_hat: m.map(|m| m / m_weight),
                    s_hat: s.map(|s| s / s_weight),
                };
                (direction, memory)
            }
            (Configured::Signum(signum), Memory::Signum(memory)) => {
                let (m, direction) = again.step(&signum, memory[0]);
                (direction, AnatomyMemory::Signum { m_before: pick(memory[0]), m: pick(m) })
            }
            (Configured::Focus(focus), Memory::Focus(memory)) => {
                let (after, direction) = again.step(&focus, memory[0]);
                let m = pick(after.map(|memory| memory.m));
                let average = pick(after.map(|memory| memory.average));
                let theta = pick(before.position);
                let pull = [0, 1].map(|axis| (theta[axis] - average[axis]).sign());
                let memory = AnatomyMemory::Focus {
                    m_before: pick(memory[0].map(|memory| memory.m)),
                    average_before: pick(memory[0].map(|memory| memory.average)),
                    average_weight: (1.0 - focus.beta2) / (1.0 - self.clock.beta2_power),
                    m,
                    average,
                    pull,
                };
                (direction, memory)
            }
            (Configured::Sgd(sgd), Memory::Sgd(memory)) => {
                let (m, direction) = again.step(&sgd, memory[0]);
                (direction, AnatomyMemory::Sgd { m_before: pick(memory[0]), m: pick(m) })
            }
            _ => unreachable!("the kind of a rule does not change while it runs"),
        };
        Some(Box::new(Anatomy {
            id: ParticleId { optimizer: self.optimizer, particle },
            step: self.clock.steps,
            rule: before.rule,
            before: pick(before.position),
            after: self.position(particle),
            gradient: pick(gradient),
            noise: pick(before.noise),
            noisy_gradient: pick(noisy_gradient),
            direction: pick(direction),
            memory,
        }))
    }
}

impl Memory {
    fn of_block(&self, block: usize) -> Memory {
        match self {
            Memory::Adam(blocks) => Memory::Adam(vec![blocks[block]]),
            Memory::Signum(blocks) => Memory::Signum(vec![blocks[block]]),
            Memory::Focus(blocks) => Memory::Focus(vec![blocks[block]]),
            Memory::Sgd(blocks) => Memory::Sgd(vec![blocks[block]]),
        }
    }
}

/// A step that was taken, to be taken again for a look at its parts.
struct Again<'a> {
    /// After the step.
    clock: &'a Clock,
    position: Pair<Block>,
    noisy_gradient: Pair<Block>,
}

impl Again<'_> {
    /// The memory after the step, and its direction.
    fn step<O: Optimizer>(
        &self,
        optimizer: &O,
        memory: Pair<O::Memory<Block>>,
    ) -> (Pair<O::Memory<Block>>, Pair<Block>) {
        let factors = optimizer.factors(self.clock);
        let step = |axis: usize| O::step(&factors, self.position[axis], self.noisy_gradient[axis], memory[axis]);
        let [(memory_x, move_x), (memory_y, move_y)] = [step(0), step(1)];
        ([memory_x, memory_y], [move_x.direction, move_y.direction])
    }
}

fn draw_start(start: &StartSpec, key: Key) -> [f64; 2] {
    let mut stream = Stream::new(key);
    [start.x.get(), start.y.get()].map(|center| {
        let normal = Normal::new(center, start.spread.get()).expect("a finite spread that is not negative");
        normal.sample(&mut stream)
    })
}
