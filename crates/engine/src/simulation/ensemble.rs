//! The particles of one optimizer, advanced many at a time.

use rand_distr::{Distribution, Normal};

use super::history::{Observed, Sample, Sums};
use super::spec::{OptimizerSpec, SimulationSpec, StartSpec};
use crate::instructions::{OfSet, VectorSet, vectorized};
use crate::landscape::Landscape;
use crate::lanes::{Arithmetic, Doubles, Lanes, Planar, each};
use crate::noise::{GradientNoise, NoiseKind};
use crate::optimizer::{
    self, BiasCorrection, ExternalStep, Need, Numbers, PlaneBatch, RatedRule, Rates, Rule, RuleInput, RuleKind,
    RuleSpec, SideBySide, StepInputs, Trace, trace, with_rule,
};
use crate::random::{Key, Stream, Streams};
use crate::shares::{AverageBias, GradientAverages, Shares};

/// Returns the key of the stream for a particle's starting position, x before y.
fn start_key(seed: u64, optimizer: u32, particle: u64) -> Key {
    Key::new(seed).at(u64::from(optimizer)).at(particle).at(0)
}

/// Returns the key of the stream for a particle's noise: in each step it has a pair for the gradient in x and y, and
/// one for the curvature if the rule needs it.
pub fn noise_key(seed: u64, optimizer: u32, particle: u64) -> Key {
    Key::new(seed).at(u64::from(optimizer)).at(particle).at(1)
}

/// The particles of one optimizer, at one step.
#[derive(Clone, Debug)]
pub struct Ensemble {
    optimizer: u32,
    rule: RatedRule,
    particles: usize,
    bias: BiasCorrection,
    /// The positions, whose last block is padded with ignored particles.
    positions: Vec<Pair<Block>>,
    streams: Vec<Streams<WIDTH>>,
    /// The optimizer's state, block after block.
    states: Vec<Pair<Block>>,
    /// The running averages of the gradients, block after block.
    averages: Vec<Pair<GradientAverages<Block>>>,
    average_bias: AverageBias,
    sample: Sample,
    mean_position: [f64; 2],
    /// The selected particle, and its block before the last step.
    selected: Option<usize>,
    before: Option<Before>,
}

/// The selected particle's block before a step.
#[derive(Clone, Debug)]
struct Before {
    position: Pair<Block>,
    noise_kind: NoiseKind,
    /// The noise of the gradient and of the curvature, as factors or terms.
    noise: [Pair<Block>; 2],
    states: Vec<Pair<Block>>,
    landscape: Landscape,
    rule: RuleSpec,
    /// The learning rate η of the step.
    learning_rate: f64,
}

impl Ensemble {
    /// Creates the particles at their starting positions.
    pub(crate) fn new(spec: &SimulationSpec, optimizer: &OptimizerSpec) -> Self {
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
            bias: BiasCorrection::START,
            positions: positions.collect(),
            streams: streams.collect(),
            states: vec![[Block::splat(0.0); 2]; blocks * optimizer.rule.rule.info().states.len()],
            averages: vec![[GradientAverages::start(); 2]; blocks],
            average_bias: AverageBias::START,
            sample: Sample::UNDEFINED,
            mean_position: [spec.start.x.get(), spec.start.y.get()],
            selected: None,
            before: None,
        };
        // The second pass sums about the means of the first one.
        let landscape = spec.landscape.landscape();
        ensemble.observe(&landscape);
        ensemble.observe(&landscape);
        ensemble
    }

    /// Creates particles that no optimizer moves: they are at (0, 0) until [`Ensemble::place`] places them.
    pub fn placed(optimizer: u32, rule: RatedRule, particles: usize) -> Self {
        Ensemble {
            optimizer,
            rule,
            particles,
            bias: BiasCorrection::START,
            positions: vec![[Block::splat(0.0); 2]; particles.div_ceil(WIDTH)],
            streams: Vec::new(),
            states: Vec::new(),
            averages: Vec::new(),
            average_bias: AverageBias::START,
            sample: Sample::UNDEFINED,
            mean_position: [0.0; 2],
            selected: None,
            before: None,
        }
    }

    /// Moves the particles to these positions, one (x, y) for each.
    pub fn place(&mut self, positions: &[[f64; 2]]) {
        for (block, chunk) in self.positions.iter_mut().zip(positions.chunks(WIDTH)) {
            for (lane, [x, y]) in chunk.iter().enumerate() {
                [block[0].0[lane], block[1].0[lane]] = [*x, *y];
            }
        }
    }

    /// Computes the diagnostics of the present positions on `landscape`, from these alone. They have no effective step.
    pub fn measure(&mut self, landscape: &Landscape) {
        (self.sample, self.mean_position) = (Sample::UNDEFINED, [0.0; 2]);
        // The second pass sums about the means of the first one.
        self.observe(landscape);
        self.observe(landscape);
    }

    /// Returns the id of the optimizer that moves the particles.
    pub fn optimizer(&self) -> u32 {
        self.optimizer
    }

    pub fn rule(&self) -> &RatedRule {
        &self.rule
    }

    /// Changes the rule, to one that it [may become](crate::optimizer::RuleKind::may_become). States keep their values
    /// by their names; new ones begin with 0.
    pub(super) fn set_rule(&mut self, rule: RatedRule) {
        let (from, to) = (self.rule.rule.info(), rule.rule.info());
        if from.states != to.states {
            let index = |key: &str| from.state_keys().position(|known| known == key);
            let indices: Vec<Option<usize>> = to.state_keys().map(index).collect();
            let of_block = |block| {
                let states = self.states_of(block);
                indices.iter().map(|index| index.map_or([Block::splat(0.0); 2], |index| states[index]))
            };
            self.states = (0..self.positions.len()).flat_map(of_block).collect();
        }
        if self.rule.rule.kind() != rule.rule.kind() {
            self.bias = self.bias.carried_over(&self.rule.rule, &rule.rule);
            // The earlier step used the earlier states and products.
            self.before = None;
        }
        self.rule = rule;
    }

    pub fn particles(&self) -> usize {
        self.particles
    }

    /// Returns the size in memory.
    pub(super) fn bytes(&self) -> usize {
        let particles = size_of_val(self.positions.as_slice()) + size_of_val(self.streams.as_slice());
        let states = size_of_val(self.states.as_slice()) + size_of_val(self.averages.as_slice());
        size_of::<Ensemble>() + particles + states
    }

    pub fn position(&self, particle: usize) -> [f64; 2] {
        let [x, y] = &self.positions[particle / WIDTH];
        [x.0[particle % WIDTH], y.0[particle % WIDTH]]
    }

    /// Returns all positions, in the particles' order.
    pub fn positions(&self) -> impl Iterator<Item = [f64; 2]> {
        self.in_order(&self.positions)
    }

    /// The pairs of the particles in their order.
    fn in_order<'a>(&self, blocks: &'a [Pair<Block>]) -> impl Iterator<Item = [f64; 2]> + use<'a> {
        let all = blocks.iter().flat_map(|[x, y]| (0..WIDTH).map(|lane| [x.0[lane], y.0[lane]]));
        all.take(self.particles)
    }

    /// Writes all positions in single precision, in the particles' order.
    pub fn write_positions(&self, column: &mut [[f32; 2]]) {
        for (chunk, [x, y]) in column.chunks_mut(WIDTH).zip(&self.positions) {
            for (position, (x, y)) in chunk.iter_mut().zip(x.0.iter().zip(&y.0)) {
                *position = [*x as f32, *y as f32];
            }
        }
    }

    /// Returns the mean position (x, y); not finite if a particle has diverged.
    pub fn mean_position(&self) -> [f64; 2] {
        self.mean_position
    }

    /// Returns the diagnostics of the present step, on the landscape of that step.
    pub fn sample(&self) -> &Sample {
        &self.sample
    }

    /// Records the steps of a particle from now on.
    pub(super) fn select(&mut self, particle: Option<usize>) {
        self.selected = particle.filter(|&particle| particle < self.particles);
        self.before = None;
    }

    /// Takes one step on `landscape`, that of an external optimizer by `external`; `run` is the number of steps of the
    /// run. Returns false where the external optimizer stops.
    pub(super) fn advance(
        &mut self,
        landscape: &Landscape,
        noise: GradientNoise,
        run: Option<u64>,
        external: ExternalStep<'_>,
    ) -> bool {
        let learning_rate = self.rule.learning_rate_at(self.bias.steps + 1, run);
        self.before = self.selected.map(|particle| self.remember(particle / WIDTH, landscape, &noise, learning_rate));
        let part_toward = self.rule.rule.gradient_toward().map_or(0.0, |(_, part)| part);
        let pivots = (self.sample, self.mean_position);
        let step = Step { landscape, noise, learning_rate, part_toward, pivots };
        let particles = Particles {
            count: self.particles,
            positions: &mut self.positions,
            streams: &mut self.streams,
            averages: &mut self.averages,
        };
        let (bias, states) = (&mut self.bias, &mut self.states);
        let sums = with_rule!(self.rule.rule.kind(), R => step.run::<R>(&self.rule.rule, bias, particles, states));
        (self.sample, self.mean_position) = sums.finish(self.particles, || self.diverged(landscape));
        self.average_bias = self.average_bias.after_step();
        self.sample.shares = self.average_bias.shares(sums.shares());
        self.rule.rule.kind() != RuleKind::External || self.step_externally(landscape, learning_rate, external)
    }

    /// Moves the particles as an external optimizer does. Their effective step is the whole move, with any weight decay.
    fn step_externally(&mut self, landscape: &Landscape, learning_rate: f64, external: ExternalStep<'_>) -> bool {
        let before = self.positions.clone();
        let mut theta: Vec<f64> = self.positions().flatten().collect();
        // The only state of the rule is the gradient.
        let gradients: Vec<f64> = self.in_order(&self.states).flatten().collect();
        if !external(self.optimizer, &mut theta, &gradients) {
            return false;
        }
        self.place(theta.as_chunks().0);
        let size = Block::splat(0.5 / learning_rate);
        let shares = self.sample.shares;
        (self.sample, self.mean_position) = self.observed(landscape, |block| {
            let [x, y] = [0, 1].map(|axis| (self.positions[block][axis] - before[block][axis]).abs());
            size * (x + y)
        });
        self.sample.shares = shares;
        true
    }

    /// Counts the particles whose position or loss is not finite.
    fn diverged(&self, landscape: &Landscape) -> u32 {
        let losses = self.positions.iter().flat_map(|position| landscape.loss(*position).0);
        let diverged = self.positions().zip(losses).filter(|(position, loss)| {
            let [x, y] = position;
            !(x.is_finite() && y.is_finite() && loss.is_finite())
        });
        diverged.count() as u32
    }

    /// Returns the diagnostics of the present positions on another landscape than that of the last step.
    pub(super) fn sample_on(&self, landscape: &Landscape) -> Sample {
        let Sample { effective_step, shares, entropy, .. } = self.sample;
        let observed = self.observed(landscape, |_| Block::splat(f64::NAN)).0;
        Sample { effective_step, shares, entropy, ..observed }
    }

    /// Computes the diagnostics of the present positions, before any step.
    pub(super) fn observe(&mut self, landscape: &Landscape) {
        (self.sample, self.mean_position) = self.observed(landscape, |_| Block::splat(f64::NAN));
    }

    /// Returns the diagnostics and the mean of the present positions, with the effective steps of each block.
    fn observed(&self, landscape: &Landscape, effective_step: impl Fn(usize) -> Block) -> (Sample, [f64; 2]) {
        let mut sums = Sums::about(&self.sample, self.mean_position);
        for (block, position) in self.positions.iter().enumerate() {
            let ([x, y], [u, v]) = (*position, landscape.uv_from_xy(*position));
            let quantities = [landscape.loss(*position), u, v.abs(), effective_step(block), x, y];
            let observed = Observed { quantities, shares: [Block::splat(0.0); 3] };
            sums.add_some(&observed, WIDTH.min(self.particles - block * WIDTH));
        }
        sums.finish(self.particles, || self.diverged(landscape))
    }

    fn remember(&self, block: usize, landscape: &Landscape, noise: &GradientNoise, learning_rate: f64) -> Before {
        let (has_curvature, mut streams) = (self.rule.rule.info().needs(Need::Curvature), self.streams[block]);
        Before {
            position: self.positions[block],
            noise_kind: noise.kind,
            noise: draw_noise(has_curvature, &mut streams, noise),
            states: self.states_of(block).to_vec(),
            landscape: landscape.clone(),
            rule: self.rule.rule,
            learning_rate,
        }
    }

    fn states_of(&self, block: usize) -> &[Pair<Block>] {
        let count = self.rule.rule.info().states.len();
        &self.states[block * count..(block + 1) * count]
    }

    /// Computes the shares of the gradients of one particle.
    fn shares_of(&self, particle: usize) -> Shares {
        let [x, y] = self.averages[particle / WIDTH].map(GradientAverages::terms);
        let sum = |of: usize| x[of].0[particle % WIDTH] + y[of].0[particle % WIDTH];
        self.average_bias.shares([sum(0), sum(1), sum(2)])
    }

    /// Returns the record of the selected particle's last step.
    pub(super) fn step_trace(&self) -> Option<Box<StepTrace>> {
        let (particle, before) = (self.selected?, self.before.as_ref()?);
        let lane = particle % WIDTH;
        let pick = |pair: Pair<Block>| pair.map(|block| block.0[lane]);
        let theta = pick(before.position);
        let states: Vec<[f64; 2]> = before.states.iter().copied().map(pick).collect();
        let at = match before.rule.gradient_toward() {
            None => theta,
            Some((state, part)) => [0, 1].map(|axis| states[state][axis].mul_add(part, theta[axis])),
        };
        let gradient = before.landscape.gradient(at);
        let [noise, curvature_noise] = before.noise.map(pick);
        let action = before.noise_kind.info().action;
        let batch = PlaneBatch { landscape: &before.landscape, at, action, noise, curvature_noise };
        let inputs = StepInputs {
            rule: before.rule,
            learning_rate: before.learning_rate,
            bias: self.bias,
            theta,
            gradient: action.apply(gradient, noise),
            states,
        };
        Some(Box::new(StepTrace {
            id: ParticleId { optimizer: self.optimizer, particle },
            after: self.position(particle),
            gradient,
            noise_kind: before.noise_kind,
            noise,
            curvature: before.landscape.hessian_diagonal(at),
            curvature_noise,
            shares: self.shares_of(particle),
            trace: trace(&inputs, batch),
            inputs,
        }))
    }
}

fn draw_start(start: &StartSpec, key: Key) -> [f64; 2] {
    let mut stream = Stream::new(key);
    [start.x.get(), start.y.get()].map(|center| {
        let normal = Normal::new(center, start.spread.get()).expect("a finite spread that is not negative");
        normal.sample(&mut stream)
    })
}

/// A particle of an optimizer's ensemble.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParticleId {
    /// The optimizer's id.
    pub optimizer: u32,
    /// The number of the particle, from 0.
    pub particle: usize,
}

/// A recorded step of one particle. Pairs are the coordinates x and y.
#[derive(Clone, Debug, PartialEq)]
pub struct StepTrace {
    pub id: ParticleId,
    /// The parameters θ after the step.
    pub after: [f64; 2],
    /// The exact gradient, at the parameters at which the rule computes it, usually θ before the step.
    pub gradient: [f64; 2],
    pub noise_kind: NoiseKind,
    /// The noise of the gradient, as factors or terms.
    pub noise: [f64; 2],
    /// The diagonal of the Hessian at θ, and its noise if the rule uses it.
    pub curvature: [f64; 2],
    pub curvature_noise: [f64; 2],
    /// The shares of the second moment of the particle's gradients so far.
    pub shares: Shares,
    /// The inputs of the step: θ, the noisy gradient, the rule and the optimizer's state.
    pub inputs: StepInputs,
    pub trace: Trace,
}

impl StepTrace {
    /// Returns the number `t` of the step, from 1.
    pub fn step(&self) -> u64 {
        self.inputs.bias.steps
    }
}

/// The number of particles per block: as many doubles as the widest registers hold.
const WIDTH: usize = 8;
pub(super) type Block = Lanes<f64, WIDTH>;
/// A value for each coordinate, x and y.
type Pair<T> = [T; 2];

/// The inputs of a step besides the particles.
#[derive(Clone, Copy)]
pub(super) struct Step<'a> {
    pub landscape: &'a Landscape,
    pub noise: GradientNoise,
    /// The learning rate η of this step.
    pub learning_rate: f64,
    /// The fraction of the state [`Rule::GRADIENT_TOWARD`] that is added to positions for the gradient.
    pub part_toward: f64,
    /// The diagnostics and the mean position before the step.
    pub pivots: (Sample, [f64; 2]),
}

pub(super) struct Particles<'a> {
    pub count: usize,
    pub positions: &'a mut [Pair<Block>],
    pub streams: &'a mut [Streams<WIDTH>],
    pub averages: &'a mut [Pair<GradientAverages<Block>>],
}

/// Draws the noise of the gradient and of the curvature, as factors or terms; that of the curvature only for a rule
/// that needs it.
#[inline(always)]
fn draw_noise<V: Doubles<WIDTH> + OfSet>(
    has_curvature: bool,
    streams: &mut Streams<WIDTH>,
    noise: &GradientNoise,
) -> [Pair<V>; 2] {
    let of_gradient = draw_pair(streams, noise);
    let of_curvature = if has_curvature { draw_pair(streams, noise) } else { of_gradient };
    [of_gradient, of_curvature]
}

#[inline(always)]
fn draw_pair<V: Doubles<WIDTH> + OfSet>(streams: &mut Streams<WIDTH>, noise: &GradientNoise) -> Pair<V> {
    let mut draws = [streams.normal_pair::<V>()];
    noise.shape(&mut draws);
    let (sigma, mean) = (V::splat(noise.sigma), V::splat(noise.mean));
    [mean + sigma * draws[0][0], mean + sigma * draws[0][1]]
}

/// The particles of one block.
struct BlockOfParticles<'a> {
    position: &'a mut Pair<Block>,
    streams: &'a mut Streams<WIDTH>,
    averages: &'a mut Pair<GradientAverages<Block>>,
    states: &'a mut [Pair<Block>],
}

impl Step<'_> {
    /// Takes the step with the rule `R`, described by `rule`, and sums up the diagnostics. `states` holds those of each
    /// block one after another.
    pub(super) fn run<R: Rule>(
        &self,
        rule: &RuleSpec,
        bias: &mut BiasCorrection,
        particles: Particles<'_>,
        states: &mut [Pair<Block>],
    ) -> Sums<Block> {
        *bias = bias.after::<R>(rule, self.learning_rate);
        let rates = Rates {
            learning_rate: self.learning_rate,
            weight_decay: rule.weight_decay(),
            is_cautious: rule.is_cautious(),
        };
        let update = Update { rule, bias, rates };
        step_blocks::<R>(self, update, particles, states)
    }

    #[inline(always)]
    fn blocks<R: Rule, V: Doubles<WIDTH> + Planar + OfSet>(
        &self,
        update: Update<'_>,
        Particles { count, positions, streams, averages }: Particles<'_>,
        mut states: &mut [Pair<Block>],
    ) -> Sums<Block> {
        let (coefficients, rates) = update.splat::<R, V::Both>();
        let info = R::info(update.rule);
        let has_curvature = info.needs(Need::Curvature);
        let mut sums = Sums::<V>::about(&self.pivots.0, self.pivots.1);
        let mut partial = None;
        let particles = positions.iter_mut().zip(streams).zip(averages);
        for (index, ((position, streams), averages)) in particles.enumerate() {
            let of_block;
            (of_block, states) = states.split_at_mut(info.states.len());
            let particles = BlockOfParticles { position, streams, averages, states: of_block };
            let observed = self.block::<R, V>(&coefficients, rates, has_curvature, particles);
            if index < count / WIDTH {
                sums.add(&observed);
            } else {
                partial = Some(observed);
            }
        }
        let mut sums = sums.map(V::to_lanes);
        if let Some(observed) = partial {
            sums.add_some(&observed.map(V::to_lanes), count % WIDTH);
        }
        sums
    }

    #[inline(always)]
    fn block<R: Rule, V: Doubles<WIDTH> + Planar + OfSet>(
        &self,
        coefficients: &R::Coefficients<V::Both>,
        rates: Rates<V::Both>,
        has_curvature: bool,
        particles: BlockOfParticles<'_>,
    ) -> Observed<V> {
        let BlockOfParticles { position, streams, averages, states } = particles;
        let theta = each(*position, V::from_lanes);
        let at = match R::GRADIENT_TOWARD {
            None => theta,
            Some(state) => {
                let (part, [x, y]) = (V::splat(self.part_toward), each(states[state], V::from_lanes));
                [x.mul_add(part, theta[0]), y.mul_add(part, theta[1])]
            }
        };
        let gradient = self.landscape.gradient(at);
        let [noise, curvature_noise] = draw_noise(has_curvature, streams, &self.noise);
        let action = self.noise.action;
        let batch = PlaneBatch { landscape: self.landscape, at, action, noise, curvature_noise };
        let noisy = action.apply(gradient, noise);
        let shares = measured(gradient, noisy, averages);
        let seen = RuleInput { rates, theta: V::both(theta), gradient: V::both(noisy), batch: SideBySide(batch) };
        let state = Numbers::from_fn(|index| match states.get(index) {
            Some(state) => V::both(each(*state, V::from_lanes)),
            None => V::Both::splat(0.0),
        });
        let (state, moved) = R::step(coefficients, seen, state);
        for (before, state) in states.iter_mut().zip(state.as_ref()) {
            *before = each(V::apart(*state), V::to_lanes);
        }
        let [x, y] = V::apart(moved.theta);
        *position = each([x, y], V::to_lanes);
        let [direction_x, direction_y] = V::apart(moved.direction);
        let [u, v] = self.landscape.uv_from_xy([x, y]);
        let effective_step = V::splat(0.5) * (direction_x.abs() + direction_y.abs());
        Observed { quantities: [self.landscape.loss([x, y]), u, v.abs(), effective_step, x, y], shares }
    }
}

/// Adds the gradients of a step to their running averages; returns the terms of the shares.
#[inline(always)]
fn measured<V: Doubles<WIDTH>>(exact: [V; 2], noisy: [V; 2], averages: &mut Pair<GradientAverages<Block>>) -> [V; 3] {
    let mut sums = [V::splat(0.0); 3];
    for axis in 0..2 {
        let noise = noisy[axis] - exact[axis];
        let before = GradientAverages(each(averages[axis].0, V::from_lanes));
        let after = before.after(exact[axis], noise * noise);
        averages[axis] = GradientAverages(each(after.0, V::to_lanes));
        let terms = after.terms();
        sums = [sums[0] + terms[0], sums[1] + terms[1], sums[2] + terms[2]];
    }
    sums
}

vectorized! {
    /// Takes the step of all blocks with the rule `R`.
    fn step_blocks<R: Rule>(
        step: &Step<'_>, update: Update<'_>, particles: Particles<'_>, states: &mut [Pair<Block>],
    ) -> Sums<Block> {
        step.blocks::<R, <Vectors as VectorSet>::Doubles>(update, particles, states)
    }
}

/// The rule of a step, with its bias correction and rates.
#[derive(Clone, Copy)]
struct Update<'a> {
    rule: &'a RuleSpec,
    bias: &'a BiasCorrection,
    rates: Rates<f64>,
}

impl Update<'_> {
    /// Returns the coefficients and rates of the rule `R`, the same in every lane of a vector.
    #[inline(always)]
    fn splat<R: Rule, A: optimizer::Algebra>(self) -> (R::Coefficients<A>, Rates<A>) {
        let Rates { learning_rate, weight_decay, is_cautious } = self.rates;
        let rates = Rates { learning_rate: A::splat(learning_rate), weight_decay: A::splat(weight_decay), is_cautious };
        (self.bias.coefficients::<R, A>(self.rule), rates)
    }
}
