//! The update rules on flat tensors.

use tch::{Device, Kind, Tensor};

use super::error::TrainError;
use super::layout::Layout;
use super::loops::{Number, numbers, numbers_mut, vectorized, with_number};
use super::team::share;
use crate::lanes::Real;
use crate::optimizer::{Adam, AdamMemory, Clock, DecayTarget, Focus, FocusMemory, Optimizer, Sgd, Signum};
use crate::simulation::Configured;

/// An optimizer of a stack of models, each with a learning rate of its own.
///
/// On the processor it is the rule of [`crate::optimizer`], in one pass over the parameters; elsewhere the same
/// formulas as some ten tensor operations, whatever the number of layers.
#[derive(Debug)]
pub struct FlatOptimizer {
    rule: Configured,
    learning_rates: Vec<f64>,
    clock: Clock,
    /// What is remembered, each as long as the parameters: m and s of Adam, m and θ̂ of FOCUS, m of the others.
    memory: Vec<Tensor>,
    /// For tensor operations.
    coefficients: Option<Coefficients>,
}

/// Numbers for each parameter, either one for all or a flat tensor of them.
#[derive(Debug)]
struct Coefficients {
    learning_rate: Rates,
    /// With one rate ω, with a rate for each parameter ηω, and 0 where nothing decays.
    decay: Tensor,
}

/// η
#[derive(Debug)]
enum Rates {
    /// Of a single model.
    One(f64),
    /// Of each parameter of a stack.
    Each(Tensor),
}

impl FlatOptimizer {
    /// An optimizer before its first step, for parameters of this layout. The rule's own learning rate plays no
    /// part: `learning_rates` holds one for each model.
    pub fn new(
        rule: Configured,
        learning_rates: &[f64],
        layout: &Layout,
        kind: Kind,
        device: Device,
    ) -> Result<FlatOptimizer, TrainError> {
        assert_eq!(learning_rates.len(), layout.models(), "each model has a learning rate");
        let zeros = || Tensor::f_zeros([layout.length() as i64], (kind, device));
        let memory = (0..rule.memories()).map(|_| zeros()).collect::<Result<_, _>>()?;
        let coefficients = (device != Device::Cpu)
            .then(|| Coefficients::new(weight_decay(&rule), learning_rates, layout, kind, device))
            .transpose()?;
        Ok(FlatOptimizer { rule, learning_rates: learning_rates.to_vec(), clock: Clock::START, memory, coefficients })
    }

    /// Sets the learning rate of a single model.
    pub fn set_learning_rate(&mut self, rate: f64) {
        assert_eq!(self.learning_rates.len(), 1, "a stack has a learning rate for each model");
        self.learning_rates[0] = rate;
        if let Some(coefficients) = &mut self.coefficients {
            coefficients.learning_rate = Rates::One(rate);
        }
    }

    /// The same through tensor operations on any device.
    pub fn with_tensor_operations(mut self, layout: &Layout) -> Result<FlatOptimizer, TrainError> {
        let (kind, device) = (self.memory[0].kind(), self.memory[0].device());
        let decay = weight_decay(&self.rule);
        self.coefficients = Some(Coefficients::new(decay, &self.learning_rates, layout, kind, device)?);
        Ok(self)
    }

    /// What is remembered, with names for a checkpoint.
    pub fn memory(&self) -> Vec<(&'static str, &Tensor)> {
        let names: &[&str] = match self.rule {
            Configured::Adam(_) => &["m", "s"],
            Configured::Focus(_) => &["m", "average"],
            Configured::Signum(_) | Configured::Sgd(_) => &["m"],
        };
        names.iter().copied().zip(&self.memory).collect()
    }

    pub fn rule(&self) -> &Configured {
        &self.rule
    }

    pub fn clock(&self) -> Clock {
        self.clock
    }

    /// Continues with this clock; the memory is set through [`FlatOptimizer::memory`].
    pub fn set_clock(&mut self, clock: Clock) {
        self.clock = clock;
    }

    /// One step: changes `parameters` by what the `gradients` say.
    pub fn step(&mut self, layout: &Layout, parameters: &mut Tensor, gradients: &Tensor) -> Result<(), TrainError> {
        match self.rule {
            Configured::Adam(rule) => self.step_rule(rule, layout, parameters, gradients),
            Configured::Focus(rule) => self.step_rule(rule, layout, parameters, gradients),
            Configured::Signum(rule) => self.step_rule(rule, layout, parameters, gradients),
            Configured::Sgd(rule) => self.step_rule(rule, layout, parameters, gradients),
        }
    }

    fn step_rule<O: Flat>(
        &mut self,
        rule: O,
        layout: &Layout,
        parameters: &mut Tensor,
        gradients: &Tensor,
    ) -> Result<(), TrainError> {
        self.clock = rule.tick(self.clock);
        if let Some(coefficients) = &self.coefficients {
            let direction = rule.direction(&self.clock, parameters, gradients, &mut self.memory)?;
            let decayed = rule.decayed(parameters, &self.memory);
            let step = match &coefficients.learning_rate {
                Rates::One(rate) => direction.f_addcmul(&coefficients.decay, decayed)?.f_mul_scalar_(*rate)?,
                Rates::Each(rates) => direction.f_mul(rates)?.f_addcmul_(&coefficients.decay, decayed)?,
            };
            return Ok(parameters.f_sub_(&step).map(drop)?);
        }
        let clock = self.clock;
        with_number!(parameters.kind(), T => {
            let mut memory = self.memory.iter_mut().map(numbers_mut::<T>);
            let slices = Slices {
                theta: numbers_mut::<T>(parameters),
                gradients: numbers::<T>(gradients),
                first: memory.next().unwrap_or_default(),
                second: memory.next().unwrap_or_default(),
            };
            share(slices.pieces(layout, &self.learning_rates).into_iter(), |piece| {
                let rule = if piece.decays { rule } else { rule.without_decay() };
                let factors = O::with_learning_rate(rule.factors::<T>(&clock), T::splat(piece.learning_rate));
                let Slices { theta, gradients, first, second } = piece.slices;
                O::step_slices(&factors, theta, gradients, first, second);
            });
        });
        Ok(())
    }
}

/// Parameters and what goes with each of them; `second` is empty where a rule remembers one number only.
struct Slices<'a, T> {
    theta: &'a mut [T],
    gradients: &'a [T],
    first: &'a mut [T],
    second: &'a mut [T],
}

/// Some of the parameters, all of one kind.
struct Piece<'a, T> {
    slices: Slices<'a, T>,
    decays: bool,
    learning_rate: f64,
}

impl<'a, T> Slices<'a, T> {
    /// Parameters in a piece: what a thread does at a time.
    const PIECE: usize = 1 << 15;

    /// Takes the next ones off.
    fn next(&mut self, count: usize) -> Slices<'a, T> {
        fn next<'a, T>(rest: &mut &'a mut [T], count: usize) -> &'a mut [T] {
            let count = count.min(rest.len());
            let (taken, after) = std::mem::take(rest).split_at_mut(count);
            *rest = after;
            taken
        }
        let (gradients, after) = self.gradients.split_at(count);
        self.gradients = after;
        let [theta, first, second] = [&mut self.theta, &mut self.first, &mut self.second].map(|rest| next(rest, count));
        Slices { theta, gradients, first, second }
    }

    /// All but the gaps of the layout, in pieces.
    fn pieces(mut self, layout: &Layout, learning_rates: &[f64]) -> Vec<Piece<'a, T>> {
        let (mut pieces, mut at) = (Vec::new(), 0);
        for (index, segment) in layout.segments().iter().enumerate() {
            for (model, &learning_rate) in learning_rates.iter().enumerate() {
                let range = layout.range(index, model);
                self.next(range.start - at);
                at = range.end;
                for start in range.clone().step_by(Self::PIECE) {
                    let slices = self.next(Self::PIECE.min(range.end - start));
                    pieces.push(Piece { slices, decays: segment.decays, learning_rate });
                }
            }
        }
        pieces
    }
}

fn weight_decay(rule: &Configured) -> f64 {
    match rule {
        Configured::Adam(rule) => rule.weight_decay,
        Configured::Focus(rule) => rule.weight_decay,
        Configured::Signum(rule) => rule.weight_decay,
        Configured::Sgd(rule) => rule.weight_decay,
    }
}

impl Coefficients {
    fn new(
        weight_decay: f64,
        learning_rates: &[f64],
        layout: &Layout,
        kind: Kind,
        device: Device,
    ) -> Result<Coefficients, TrainError> {
        let zeros = || Tensor::f_zeros([layout.length() as i64], (kind, device));
        let decay = zeros()?;
        if let [rate] = learning_rates {
            for (index, _) in layout.segments().iter().enumerate().filter(|(_, segment)| segment.decays) {
                let _ = layout.view(&decay, index).f_fill_(weight_decay)?;
            }
            return Ok(Coefficients { learning_rate: Rates::One(*rate), decay });
        }
        let learning_rate = zeros()?;
        let rates = Tensor::f_from_slice(learning_rates)?.f_to_kind(kind)?.f_to_device(device)?;
        for (index, segment) in layout.segments().iter().enumerate() {
            let rates = rates.f_view(&[&[-1][..], &vec![1; segment.shape.len()]].concat()[..])?;
            layout.view(&learning_rate, index).f_copy_(&rates)?;
            if segment.decays {
                layout.view(&decay, index).f_copy_(&rates.f_mul_scalar(weight_decay)?)?;
            }
        }
        Ok(Coefficients { learning_rate: Rates::Each(learning_rate), decay })
    }
}

/// −1, 0, 1, and NaN for NaN, for which libtorch's sign is 0.
fn sign(tensor: &Tensor) -> Result<Tensor, tch::TchError> {
    tensor.f_where_self(&tensor.f_isnan()?, &tensor.f_sign()?)
}

/// A rule on flat parameters.
trait Flat: Optimizer + Copy + Sync {
    /// For parameters that do not decay.
    fn without_decay(self) -> Self;

    /// One step on slices; `second` is empty where the rule remembers one number only.
    fn step_slices<T: Number>(
        factors: &Self::Factors<T>,
        theta: &mut [T],
        gradients: &[T],
        first: &mut [T],
        second: &mut [T],
    );

    /// As tensor operations: updates the memory and gives the direction of the step, before η and the decay.
    fn direction(
        &self,
        clock: &Clock,
        theta: &Tensor,
        gradients: &Tensor,
        memory: &mut [Tensor],
    ) -> Result<Tensor, tch::TchError>;

    /// What decays.
    fn decayed<'a>(&self, theta: &'a Tensor, _memory: &'a [Tensor]) -> &'a Tensor {
        theta
    }
}

vectorized! {
    fn adam<T: Number>(
        factors: &<Adam as Optimizer>::Factors<T>, theta: &mut [T], gradients: &[T], m: &mut [T], s: &mut [T],
    ) {
        for (((theta, &gradient), m), s) in theta.iter_mut().zip(gradients).zip(m).zip(s) {
            let (memory, moved) = Adam::step(factors, *theta, gradient, AdamMemory { m: *m, s: *s });
            (*theta, *m, *s) = (moved.theta, memory.m, memory.s);
        }
    }
}

vectorized! {
    fn focus<T: Number>(
        factors: &<Focus as Optimizer>::Factors<T>, theta: &mut [T], gradients: &[T], m: &mut [T], average: &mut [T],
    ) {
        for (((theta, &gradient), m), average) in theta.iter_mut().zip(gradients).zip(m).zip(average) {
            let (memory, moved) = Focus::step(factors, *theta, gradient, FocusMemory { m: *m, average: *average });
            (*theta, *m, *average) = (moved.theta, memory.m, memory.average);
        }
    }
}

vectorized! {
    fn signum<T: Number>(
        factors: &<Signum as Optimizer>::Factors<T>, theta: &mut [T], gradients: &[T], m: &mut [T],
    ) {
        for ((theta, &gradient), m) in theta.iter_mut().zip(gradients).zip(m) {
            let (memory, moved) = Signum::step(factors, *theta, gradient, *m);
            (*theta, *m) = (moved.theta, memory);
        }
    }
}

vectorized! {
    fn sgd<T: Number>(factors: &<Sgd as Optimizer>::Factors<T>, theta: &mut [T], gradients: &[T], m: &mut [T]) {
        for ((theta, &gradient), m) in theta.iter_mut().zip(gradients).zip(m) {
            let (memory, moved) = Sgd::step(factors, *theta, gradient, *m);
            (*theta, *m) = (moved.theta, memory);
        }
    }
}

impl Flat for Adam {
    fn without_decay(self) -> Self {
        Adam { weight_decay: 0.0, ..self }
    }

    fn step_slices<T: Number>(f: &Self::Factors<T>, theta: &mut [T], g: &[T], m: &mut [T], s: &mut [T]) {
        adam(f, theta, g, m, s);
    }

    fn direction(&self, clock: &Clock, _: &Tensor, g: &Tensor, memory: &mut [Tensor]) -> Result<Tensor, tch::TchError> {
        let [m, s] = memory else { unreachable!("Adam remembers m and s") };
        let _ = m.f_lerp_(g, 1.0 - self.beta1)?;
        let _ = s.f_mul_scalar_(self.beta2)?.f_addcmul_(&g.f_mul_scalar(1.0 - self.beta2)?, g)?;
        let unbias = (1.0 - clock.beta1_power) / (1.0 - clock.beta2_power).sqrt();
        let mut size = s.f_sqrt()?;
        let _ = size.f_mul_scalar_(unbias)?.f_add_scalar_((1.0 - clock.beta1_power) * Self::EPSILON)?;
        m.f_div(&size)
    }
}

impl Flat for Focus {
    fn without_decay(self) -> Self {
        Focus { weight_decay: 0.0, ..self }
    }

    fn step_slices<T: Number>(f: &Self::Factors<T>, theta: &mut [T], g: &[T], m: &mut [T], average: &mut [T]) {
        focus(f, theta, g, m, average);
    }

    fn direction(
        &self,
        clock: &Clock,
        theta: &Tensor,
        g: &Tensor,
        memory: &mut [Tensor],
    ) -> Result<Tensor, tch::TchError> {
        let [m, average] = memory else { unreachable!("FOCUS remembers m and the average") };
        let _ = m.f_lerp_(g, 1.0 - self.beta1)?;
        // As in the rule itself: exact where the average is the parameter.
        let kept = 1.0 - (1.0 - self.beta2) / (1.0 - clock.beta2_power);
        let mut difference = theta.f_sub(average)?.f_mul_scalar_(kept)?;
        average.f_copy_(&theta.f_sub(&difference)?)?;
        difference.f_copy_(&theta.f_sub(average)?)?;
        sign(&difference)?.f_mul_scalar_(self.gamma)?.f_add_(&sign(m)?)
    }

    fn decayed<'a>(&self, theta: &'a Tensor, memory: &'a [Tensor]) -> &'a Tensor {
        match self.decay {
            DecayTarget::Parameters => theta,
            DecayTarget::Average => &memory[1],
        }
    }
}

impl Flat for Signum {
    fn without_decay(self) -> Self {
        Signum { weight_decay: 0.0, ..self }
    }

    fn step_slices<T: Number>(f: &Self::Factors<T>, theta: &mut [T], g: &[T], m: &mut [T], _: &mut [T]) {
        signum(f, theta, g, m);
    }

    fn direction(&self, _: &Clock, _: &Tensor, g: &Tensor, memory: &mut [Tensor]) -> Result<Tensor, tch::TchError> {
        let m = &mut memory[0];
        let _ = m.f_lerp_(g, 1.0 - self.beta1)?;
        sign(m)
    }
}

impl Flat for Sgd {
    fn without_decay(self) -> Self {
        Sgd { weight_decay: 0.0, ..self }
    }

    fn step_slices<T: Number>(f: &Self::Factors<T>, theta: &mut [T], g: &[T], m: &mut [T], _: &mut [T]) {
        sgd(f, theta, g, m);
    }

    fn direction(&self, _: &Clock, _: &Tensor, g: &Tensor, memory: &mut [Tensor]) -> Result<Tensor, tch::TchError> {
        let m = &mut memory[0];
        let _ = m.f_mul_scalar_(self.beta1)?.f_add_(g)?;
        Ok(m.shallow_clone())
    }
}
