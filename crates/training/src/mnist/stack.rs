//! Several runs that take their steps together: their models are a stack, and each run has views of the stack's tensors.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use tch::{Device, Tensor};
use valleyscope_engine::random::Key;
use valleyscope_experiments::dataset::mnist::Mnist;
use valleyscope_experiments::workload::MnistSpec;

use super::{AllImages, Images, Mlp, MnistRun, kind, step_models};
use crate::{FlatOptimizer, TrainError};

/// The models of several runs. Each run calls [`Member::step`] in its own thread, and the last one to call it steps all
/// models. A run uses its views between its steps only.
#[derive(Debug)]
struct Stack {
    images: Arc<AllImages>,
    state: Mutex<State>,
    stepped: Condvar,
}

#[derive(Debug)]
struct State {
    mlp: Mlp,
    optimizer: FlatOptimizer,
    /// The images of the next step of each model whose run waits for it, and the key of its labels.
    batches: Vec<Option<(Vec<u32>, Key)>>,
    /// The number of runs that are still trained.
    members: usize,
    steps: u64,
    /// The losses of the last step.
    losses: Result<Tensor, TrainError>,
}

/// A run's place in a stack, which it leaves when this is dropped.
#[derive(Debug)]
pub(super) struct Member {
    stack: Arc<Stack>,
    model: usize,
}

impl MnistRun {
    /// Creates trainings that differ in their learning rates and seeds only, before their first steps.
    pub fn several(specs: &[MnistSpec], data: &Mnist, device: Device) -> Result<Vec<MnistRun>, TrainError> {
        // Models on the processor are faster one by one, each on one thread.
        if device == Device::Cpu {
            let images = AllImages::new(data, &specs[0], device)?;
            return specs.iter().map(|spec| MnistRun::with(spec, Arc::clone(&images), None, device)).collect();
        }
        MnistRun::stack(specs, data, device).map_err(with_advice)
    }

    /// Creates trainings like [`MnistRun::several`] that take their steps together. Each must be used in its own
    /// thread.
    pub fn stack(specs: &[MnistSpec], data: &Mnist, device: Device) -> Result<Vec<MnistRun>, TrainError> {
        let (images, kind) = (AllImages::new(data, &specs[0], device)?, kind(specs[0].precision));
        let mlp = Mlp::new(specs.len(), kind, device)?;
        let rates: Vec<f64> = specs.iter().map(|spec| spec.learning_rate.get()).collect();
        let optimizer = FlatOptimizer::new(specs[0].optimizer, &rates, mlp.layout(), kind, device)?;
        let (batches, losses) = (vec![None; specs.len()], Ok(Tensor::new()));
        let state = State { mlp, optimizer, batches, members: specs.len(), steps: 0, losses };
        let stack = Arc::new(Stack { images, state: Mutex::new(state), stepped: Condvar::new() });
        let members = (0..specs.len()).map(|model| Member { stack: Arc::clone(&stack), model });
        let runs = members.zip(specs);
        runs.map(|(member, spec)| MnistRun::with(spec, Arc::clone(&stack.images), Some(member), device)).collect()
    }
}

impl Stack {
    fn lock(&self) -> MutexGuard<'_, State> {
        // After a panic in a step, `losses` is an error.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a step if all runs that are still trained wait for it.
    fn step_if_complete(&self, state: &mut State) {
        if state.members == 0 || state.batches.iter().flatten().count() < state.members {
            return;
        }
        state.steps += 1;
        state.losses = Err(TrainError::Refused("a step of the runs that train together has failed".to_owned()));
        // They wait for the lock until the step is taken.
        self.stepped.notify_all();
        state.losses = state.step(&self.images.train).map_err(with_advice);
    }
}

fn with_advice(error: TrainError) -> TrainError {
    match error {
        TrainError::OutOfMemory { what, .. } => {
            TrainError::OutOfMemory { what, advice: "train fewer runs at a time".to_owned() }
        }
        other => other,
    }
}

impl State {
    fn step(&mut self, train: &Images) -> Result<Tensor, TrainError> {
        // The model of a run that has ended goes on with the images of another.
        let another = self.batches.iter().flatten().next().expect("a run waits for the step").clone();
        let batches = self.batches.iter_mut().map(|batch| batch.take().unwrap_or_else(|| another.clone()));
        let (indices, labels): (Vec<Vec<u32>>, Vec<Key>) = batches.unzip();
        let (indices, kind) = (indices.concat(), self.mlp.kind());
        let batch = || train.batch(&indices, labels.len(), kind);
        step_models(&mut self.mlp, &mut self.optimizer, &labels, batch, |_, _| Ok(()))
    }
}

impl Member {
    /// Makes the model and the optimizer of the run.
    pub(super) fn views(&self) -> Result<(Mlp, FlatOptimizer), TrainError> {
        let state = self.stack.lock();
        Ok((state.mlp.member(self.model)?, state.optimizer.member(state.mlp.layout(), self.model)?))
    }

    /// Takes a step together with the other runs; returns the loss of the run's model. `optimizer` is that of
    /// [`Member::views`].
    pub(super) fn step(
        &self,
        images: &[u32],
        labels: Key,
        optimizer: &mut FlatOptimizer,
    ) -> Result<Tensor, TrainError> {
        let mut state = self.stack.lock();
        let steps = state.steps;
        state.batches[self.model] = Some((images.to_vec(), labels));
        self.stack.step_if_complete(&mut state);
        let state = self.stack.stepped.wait_while(state, |state| state.steps == steps);
        let state = state.unwrap_or_else(PoisonError::into_inner);
        let loss = state.losses.as_ref().map_err(Clone::clone)?.f_narrow(0, self.model as i64, 1)?;
        optimizer.follow(&state.optimizer, state.mlp.layout(), self.model)?;
        Ok(loss)
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        let mut state = self.stack.lock();
        state.members -= 1;
        self.stack.step_if_complete(&mut state);
    }
}
