//! Update rules on flat tensors.
//!
//! On the processor, a step of an element-wise rule is the rule of [`valleyscope_engine::optimizer`] over slices, in
//! one pass over the parameters. On a GPU, and for rules that treat a parameter as a whole, it is some ten tensor
//! operations, whatever the number of layers, and some more for each norm of a parameter tensor. The steps of rules
//! with statistics of axes are in `axes`.

use std::cell::Cell;
use std::ops::Range;

use tch::{Device, Kind, Tensor};
use valleyscope_engine::optimizer::{
    BiasCorrection, MOST_STATES, Need, NoBatch, Numbers, Rates, Rule, RuleInput, RuleSpec, Typed, program,
};
use valleyscope_engine::vectorized;
use valleyscope_engine::with_rule;
use valleyscope_runs::OptimizerProgress;

use super::axes;
use super::checkpoint::OPTIMIZER;
use super::error::TrainError;
use super::gradient_queries::{GradientQueries, QueryResults};
use super::layout::{ParameterLayout, narrow};
use super::loops::{Number, numbers, numbers_mut, share, with_number};
use super::tensor_step::TensorStep;
use super::tensor_value::{TensorRates, TensorValue};

/// An optimizer of a stack of models, each with its own learning rate.
#[derive(Debug)]
pub struct FlatOptimizer {
    rule: RuleSpec,
    learning_rates: Vec<f64>,
    bias: BiasCorrection,
    /// The states, in the rule's order, each as long as the parameters or as in [`axes::states`].
    states: Vec<Tensor>,
    names: Vec<String>,
    /// The elements of the flat tensors that this optimizer steps, and whose states it stores.
    own: Range<usize>,
    numbers: (Kind, Device),
    rates: Option<TensorRates>,
}

impl FlatOptimizer {
    /// Creates an optimizer before its first step, for parameters of this layout, with a learning rate for each model.
    pub fn new(
        rule: RuleSpec,
        learning_rates: &[f64],
        layout: &ParameterLayout,
        kind: Kind,
        device: Device,
    ) -> Result<FlatOptimizer, TrainError> {
        assert_eq!(learning_rates.len(), layout.models(), "each model has a learning rate");
        let (names, states) = if rule.info().needs(Need::Axes) {
            axes::states(&rule, layout, kind, device)?
        } else {
            let zeros = |_| Tensor::f_zeros([layout.length() as i64], (kind, device));
            let names = rule.info().state_keys().map(|key| format!("{OPTIMIZER}{key}"));
            (names.collect(), rule.info().states.iter().map(zeros).collect::<Result<_, _>>()?)
        };
        // Loops over elements are for rules whose steps of elements are independent.
        let in_loops = device == Device::Cpu && rule.needs_gradient_only();
        let rates = (!in_loops).then(|| TensorRates::new(&rule, learning_rates, layout, kind, device)).transpose()?;
        let learning_rates = learning_rates.to_vec();
        let (bias, numbers, own) = (BiasCorrection::START, (kind, device), 0..layout.length());
        Ok(FlatOptimizer { rule, learning_rates, bias, states, names, own, numbers, rates })
    }

    /// Makes the optimizer of one of the models of this layout, which shares the stack's states.
    pub(super) fn member(&self, layout: &ParameterLayout, model: usize) -> Result<FlatOptimizer, TrainError> {
        let states = self.states.iter().map(|state| layout.of_model(state, model)).collect::<Result<_, _>>()?;
        let (learning_rates, own) = (vec![self.learning_rates[model]], 0..layout.length() / layout.models());
        let FlatOptimizer { rule, bias, numbers, .. } = *self;
        Ok(FlatOptimizer { rule, learning_rates, bias, states, names: self.names.clone(), own, numbers, rates: None })
    }

    /// Takes over the states after a step of the stack. The progress is the model's own, as it depends on the learning
    /// rate.
    pub(super) fn follow(
        &mut self,
        stack: &FlatOptimizer,
        layout: &ParameterLayout,
        model: usize,
    ) -> Result<(), TrainError> {
        with_rule!(self.rule.kind(), R => self.bias = self.bias.after::<R>(&self.rule, self.learning_rates[0]));
        self.states = stack.member(layout, model)?.states;
        Ok(())
    }

    /// Restricts the optimizer to some elements of a single model's flat tensors: stores only their states, and steps
    /// only them.
    ///
    /// # Errors
    ///
    /// Fails for a rule whose step of an element depends on other elements.
    pub fn keep(&mut self, own: Range<usize>) -> Result<(), TrainError> {
        let needs = [Need::WholeParameter, Need::Axes].map(|need| self.rule.info().needs(need));
        let elsewhere = self.rule.info().needs(Need::GradientElsewhere) || self.rule.gradient_toward().is_some();
        let why = match () {
            () if needs.contains(&true) || self.rule.is_cautious() => "steps whole parameters",
            () if elsewhere => "takes gradients at parameters from its states",
            () => {
                let part = |tensor: &Tensor| narrow(tensor, &own)?.f_detach_copy();
                self.states = self.states.iter().map(part).collect::<Result<_, _>>()?;
                if let Some(rates) = &mut self.rates {
                    rates.decay = part(&rates.decay)?;
                }
                self.own = own;
                return Ok(());
            }
        };
        Err(TrainError::Refused(format!(
            "expected an optimizer that steps each element by itself, as its states are to be divided among the processes, \
             found {}, which {why}; omit `shard_optimizer`",
            self.rule.name()
        )))
    }

    /// The elements of the flat tensors that this optimizer steps, and whose states it stores.
    pub fn own(&self) -> &Range<usize> {
        &self.own
    }

    pub fn set_learning_rate(&mut self, rate: f64) {
        assert_eq!(self.learning_rates.len(), 1, "a stack has a learning rate for each model");
        self.learning_rates[0] = rate;
        if let Some(rates) = &mut self.rates {
            rates.learning_rate = TensorValue::Number(rate);
        }
    }

    /// The rates of the next step of a single model, where weight decay applies.
    pub fn rates(&self) -> Rates<f64> {
        let (learning_rate, weight_decay) = (self.learning_rates[0], self.rule.weight_decay());
        Rates { learning_rate, weight_decay, is_cautious: false }
    }

    /// Continues with other numbers of the same rule, for parameters of this layout.
    pub fn set_rule(&mut self, rule: RuleSpec, layout: &ParameterLayout) -> Result<(), TrainError> {
        assert_eq!(rule.kind(), self.rule.kind(), "the states are those of the rule");
        if let Some(rates) = &mut self.rates {
            let (kind, device) = self.numbers;
            let decay = TensorRates::new(&rule, &self.learning_rates, layout, kind, device)?.decay;
            rates.decay = narrow(&decay, &self.own)?.f_detach_copy()?;
        }
        self.rule = rule;
        Ok(())
    }

    /// Switches to tensor operations, on any device.
    pub fn with_tensor_operations(mut self, layout: &ParameterLayout) -> Result<FlatOptimizer, TrainError> {
        let (kind, device) = self.numbers;
        self.rates = Some(TensorRates::new(&self.rule, &self.learning_rates, layout, kind, device)?);
        Ok(self)
    }

    /// The states, with their names in a checkpoint.
    pub fn states(&self) -> impl Iterator<Item = (String, &Tensor)> {
        self.names.iter().cloned().zip(&self.states)
    }

    pub fn rule(&self) -> &RuleSpec {
        &self.rule
    }

    pub fn bias(&self) -> &BiasCorrection {
        &self.bias
    }

    pub fn progress(&self) -> OptimizerProgress {
        let powers = self.bias.powers(&self.rule).map(|(key, power)| (key.to_owned(), power)).collect();
        OptimizerProgress { steps: self.bias.steps, powers }
    }

    /// Sets the progress, to continue from it; the states are set through [`FlatOptimizer::states`].
    ///
    /// # Errors
    ///
    /// Fails if one of [`BiasCorrection::powers`] is missing.
    pub fn set_progress(&mut self, progress: &OptimizerProgress) -> Result<(), TrainError> {
        let power = |key: &str| progress.powers.get(key).copied();
        if let Some(key) = self.progress().powers.keys().find(|key| power(key).is_none()) {
            return Err(TrainError::Refused(format!("no `{key}` among the optimizer's products and sums over steps")));
        }
        self.bias = BiasCorrection::new(progress.steps, &self.rule, power).expect("nothing is missing");
        Ok(())
    }

    /// Computes the parameters at which the gradients of the next step are computed, if not the current ones.
    pub fn gradient_point(&self, parameters: &Tensor) -> Result<Option<Tensor>, TrainError> {
        let Some((state, part)) = self.rule.gradient_toward() else { return Ok(None) };
        Ok(Some(self.states[state].f_mul_scalar(part)?.f_add_(parameters)?))
    }

    pub fn queries(&self) -> GradientQueries {
        let needs = |need| self.rule.info().needs(need);
        if !needs(Need::GradientElsewhere) && !needs(Need::Curvature) {
            return GradientQueries::default();
        }
        with_rule!(self.rule.kind(), R => {
            let bias = self.bias.after::<R>(&self.rule, self.learning_rates[0]);
            TensorStep::record::<R>(&self.rule, &bias).queries(&self.states)
        })
    }

    /// Takes one step: changes `parameters` by the `gradients`, taken at [`FlatOptimizer::gradient_point`], and the
    /// results of [`FlatOptimizer::queries`].
    pub fn step(
        &mut self,
        layout: &ParameterLayout,
        parameters: &mut Tensor,
        gradients: &Tensor,
        query_results: &QueryResults,
    ) -> Result<(), TrainError> {
        with_rule!(self.rule.kind(), R => self.step_with::<R>(layout, parameters, gradients, query_results))
    }

    fn step_with<R: Rule>(
        &mut self,
        layout: &ParameterLayout,
        parameters: &mut Tensor,
        gradients: &Tensor,
        query_results: &QueryResults,
    ) -> Result<(), TrainError> {
        // The rates of a stack stay constant.
        self.bias = self.bias.after::<R>(&self.rule, self.learning_rates[0]);
        if let Some(rates) = &self.rates {
            if R::INFO.needs(Need::Axes) {
                return axes::step(&self.rule, &self.bias, layout, parameters, gradients, &mut self.states, rates);
            }
            let step = TensorStep::record::<R>(&self.rule, &self.bias);
            let mut parameters = narrow(parameters, &self.own)?;
            let (gradients, query_results) = (narrow(gradients, &self.own)?, query_results.narrow(&self.own)?);
            return step.run(&mut parameters, &gradients, &query_results, &mut self.states, rates, layout);
        }
        let (rule, bias) = (&self.rule, &self.bias);
        with_number!(parameters.kind(), T => {
            let slices = Slices {
                theta: &mut numbers_mut::<T>(parameters)[self.own.clone()],
                gradients: &numbers::<T>(gradients)[self.own.clone()],
                states: self.states.iter_mut().map(numbers_mut::<T>).collect(),
            };
            share(slices.pieces(layout, &self.own, &self.learning_rates).into_iter(), |piece| {
                let weight_decay = if piece.decays { rule.weight_decay() } else { 0.0 };
                let rates = Rates { learning_rate: piece.learning_rate, weight_decay, is_cautious: false };
                let Slices { theta, gradients, mut states } = piece.slices;
                if rule.kind().typed().is_some() {
                    let coefficients = bias.coefficients::<Typed, T>(rule);
                    return program::step_slices(&coefficients, rates, theta, gradients, &mut states);
                }
                let coefficients = bias.coefficients::<R, T>(rule);
                step_slices::<R, T>(&coefficients, rates, theta, gradients, &mut states);
            });
        });
        Ok(())
    }
}

struct Slices<'a, T> {
    theta: &'a mut [T],
    gradients: &'a [T],
    states: Vec<&'a mut [T]>,
}

/// Some of the parameters, with equal rates.
struct Piece<'a, T> {
    slices: Slices<'a, T>,
    decays: bool,
    learning_rate: f64,
}

impl<'a, T> Slices<'a, T> {
    /// The number of parameters in a piece, the work of a thread at a time.
    const PIECE: usize = 1 << 15;

    fn next(&mut self, count: usize) -> Slices<'a, T> {
        fn next<'a, T>(rest: &mut &'a mut [T], count: usize) -> &'a mut [T] {
            let (taken, after) = std::mem::take(rest).split_at_mut(count);
            *rest = after;
            taken
        }
        let (gradients, after) = self.gradients.split_at(count);
        self.gradients = after;
        let states = self.states.iter_mut().map(|rest| next(rest, count)).collect();
        Slices { theta: next(&mut self.theta, count), gradients, states }
    }

    /// Cuts everything but the gaps of the layout into pieces; the slices hold the parameters of `own`.
    fn pieces(mut self, layout: &ParameterLayout, own: &Range<usize>, learning_rates: &[f64]) -> Vec<Piece<'a, T>> {
        let (mut pieces, mut at) = (Vec::new(), own.start);
        for (model, &learning_rate) in learning_rates.iter().enumerate() {
            for (index, segment) in layout.segments().iter().enumerate() {
                let range = layout.range(index, model);
                let range = range.start.max(own.start)..range.end.min(own.end);
                if range.is_empty() {
                    continue;
                }
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

vectorized! {
    /// Steps each parameter of some slices of equal length by the rule `R`.
    fn step_slices<R: Rule, T: Number>(
        coefficients: &R::Coefficients<T>, rates: Rates<f64>, theta: &mut [T], gradients: &[T], states: &mut [&mut [T]],
    ) {
        assert!(R::INFO.needs_gradient_only(), "a slice is no whole parameter");
        let rates = Rates {
            learning_rate: T::splat(rates.learning_rate),
            weight_decay: T::splat(rates.weight_decay),
            is_cautious: false,
        };
        let count = theta.len();
        let gradients = &gradients[..count];
        let mut states = states.iter_mut();
        // Written out for each state, so that the compiler proves all lengths equal and vectorises the loop.
        let columns: [&[Cell<T>]; MOST_STATES] = Numbers::from_fn(|of| -> &[Cell<T>] {
            if of >= <R::State<T> as Numbers<T>>::COUNT {
                return &[];
            }
            let state = states.next().expect("a slice for each state");
            &Cell::from_mut(&mut **state).as_slice_of_cells()[..count]
        });
        for index in 0..count {
            let seen = RuleInput { rates, theta: theta[index], gradient: gradients[index], batch: NoBatch };
            let state: R::State<T> = Numbers::from_fn(|of| columns[of][index].get());
            let (state, moved) = R::step(coefficients, seen, state);
            theta[index] = moved.theta;
            for (of, state) in state.as_ref().iter().enumerate() {
                columns[of][index].set(*state);
            }
        }
    }
}
