//! The paper's classifier of handwritten digits (Appendix "MLP"), as a stack of models.

mod processor;

use std::marker::PhantomData;
use std::sync::Arc;

use tch::{Device, Kind, Tensor};
use valleyscope_engine::random::{Key, Stream};
use valleyscope_experiments::workload::mnist::SIZES;

use super::{Batch, Images};
use crate::group::Group;
use crate::{
    Differentiable, FlatOptimizer, GradientQueries, Labels, ParameterLayout, QueryResults, TrainError, drawn_labels,
    uniforms,
};

/// A stack of classifiers 784 → 128 × 5 → 10 with batch normalisation before each linear layer and ReLU between
/// them.
///
/// With inputs `x` of a layer, over a batch of `B` images:
///
/// ```text
/// x̂ = (x − mean x) / √(var x + ε),  y = γ x̂ + β,  z = W y + b,  next x = max(z, 0)
/// ```
///
/// The variance is the biased one, ε = 1e-5. Evaluation uses running averages of mean and (unbiased) variance, with a
/// weight of a tenth for each step. These are PyTorch's conventions.
#[derive(Debug)]
pub struct Mlp {
    layout: ParameterLayout,
    statistics_layout: ParameterLayout,
    parameters: Tensor,
    gradients: Tensor,
    statistics: Tensor,
    /// Views of the flat tensors, made once: making them in each step took 0.2 ms.
    layers: Vec<Views>,
    kind: Kind,
    device: Device,
    with_tensors: bool,
    /// The processes that share each batch.
    group: Arc<Group>,
}

/// The fraction of the running averages that a step replaces.
const MOMENTUM: f64 = 0.1;
/// ε of the batch normalisation.
const EPSILON: f64 = 1e-5;

/// A layer's parts of the flat tensors.
#[derive(Debug)]
struct Views {
    parameters: Layer,
    gradients: Layer,
    /// The transposed weight Wᵗ, `[models, inputs, outputs]`.
    transposed: Tensor,
    /// Running mean and variance, `[models, inputs]`.
    running: [Tensor; 2],
}

/// The names of a layer's parameters in the layout, in this order.
const SEGMENTS: [&str; 4] = ["norm.weight", "norm.bias", "linear.weight", "linear.bias"];

/// The parameters of a layer, or their gradients, for all models.
#[derive(Debug)]
struct Layer {
    /// The scale γ, `[models, inputs]`.
    scale: Tensor,
    /// The shift β, `[models, inputs]`.
    shift: Tensor,
    /// The weight W, `[models, outputs, inputs]`.
    weight: Tensor,
    /// The bias b, `[models, outputs]`.
    bias: Tensor,
}

impl Layer {
    fn of(layout: &ParameterLayout, flat: &Tensor, index: usize) -> Layer {
        let view = |which: usize| layout.view(flat, SEGMENTS.len() * index + which);
        Layer { scale: view(0), shift: view(1), weight: view(2), bias: view(3) }
    }
}

struct Passed {
    inputs: Tensor,
    /// The normalised and scaled inputs y.
    normalized: Tensor,
    /// Mean of x, and 1 / √(var x + ε), `[models, inputs]`.
    mean: Tensor,
    inverse_deviation: Tensor,
}

/// Element-wise operations and reductions, in two forms.
trait Operations {
    /// Applies batch normalisation to `inputs`, and updates the running averages.
    fn normalize(&self, inputs: Tensor, layer: &Layer, running: &mut [Tensor; 2]) -> Result<Passed, TrainError>;

    /// Computes `max(z + b, 0)`.
    fn bias_and_relu(&self, outputs: Tensor, bias: &Tensor) -> Result<Tensor, TrainError>;

    /// Computes the mean cross entropy of each model, and its gradient with respect to the outputs, without `bias`.
    fn cross_entropy(&self, outputs: Tensor, bias: &Tensor, labels: &Tensor) -> Result<(Tensor, Tensor), TrainError>;

    /// Sums over the batch into the bias's gradient.
    fn bias_gradient(&self, by_outputs: &Tensor, gradient: &mut Tensor) -> Result<(), TrainError>;

    /// Converts the gradient of y to those of γ and β and, unless the layer is the first, of the z before it.
    fn normalize_backward(
        &self,
        by_normalized: Tensor,
        passed: &Passed,
        layer: &Layer,
        gradient: &mut Layer,
        first: bool,
    ) -> Result<Tensor, TrainError>;
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Evaluation {
    /// Mean cross entropy.
    pub loss: f64,
    /// Fraction of images that are classified correctly.
    pub accuracy: f64,
}

impl Differentiable for Mlp {
    fn parameters_mut(&mut self) -> &mut Tensor {
        &mut self.parameters
    }

    fn gradients_mut(&mut self) -> &mut Tensor {
        &mut self.gradients
    }
}

impl Mlp {
    /// Lists the layouts of the parameters and of the running averages.
    fn layouts(models: usize) -> [ParameterLayout; 2] {
        let layers = || SIZES.windows(2).enumerate();
        let layout = ParameterLayout::new(
            layers().flat_map(|(index, pair)| {
                let (inputs, outputs) = (pair[0], pair[1]);
                let shapes = [vec![inputs], vec![inputs], vec![outputs, inputs], vec![outputs]];
                SEGMENTS
                    .iter()
                    .zip(shapes)
                    .map(move |(name, shape)| (format!("layers.{index}.{name}"), shape, *name == "linear.weight"))
            }),
            models,
        );
        let output = format!("layers.{}.linear.weight", SIZES.len() - 2);
        let layout = layout.with_matrices(|name| (name == output).then_some(0));
        let statistics_layout = ParameterLayout::new(
            layers().flat_map(|(index, pair)| {
                let inputs = pair[0];
                ["mean", "var"].map(|name| (format!("layers.{index}.norm.running_{name}"), vec![inputs], false))
            }),
            models,
        );
        [layout, statistics_layout]
    }

    /// Creates a stack with all parameters zero; see [`Mlp::initialize`].
    pub fn new(models: usize, kind: Kind, device: Device) -> Result<Mlp, TrainError> {
        let [layout, statistics_layout] = Mlp::layouts(models);
        let zeros = |layout: &ParameterLayout| Tensor::f_zeros([layout.length() as i64], (kind, device));
        let (parameters, gradients) = (zeros(&layout)?, zeros(&layout)?);
        let statistics = zeros(&statistics_layout)?;
        for variances in (1..statistics_layout.segments().len()).step_by(2) {
            let _ = statistics_layout.view(&statistics, variances).f_fill_(1.0)?;
        }
        Mlp::of(models, [parameters, gradients, statistics])
    }

    /// Makes a model of the stack that shares the stack's tensors.
    pub(super) fn member(&self, model: usize) -> Result<Mlp, TrainError> {
        let part = |tensor: &Tensor| self.layout.of_model(tensor, model);
        Mlp::of(1, [part(&self.parameters)?, part(&self.gradients)?, part(&self.statistics)?])
    }

    fn of(models: usize, [parameters, gradients, statistics]: [Tensor; 3]) -> Result<Mlp, TrainError> {
        let [layout, statistics_layout] = Mlp::layouts(models);
        let (kind, device) = (parameters.kind(), parameters.device());
        let views = (0..SIZES.len() - 1).map(|index| {
            let layer = |flat| Layer::of(&layout, flat, index);
            let parameters = layer(&parameters);
            let transposed = parameters.weight.f_transpose(1, 2)?;
            let running = [0, 1].map(|which| statistics_layout.view(&statistics, 2 * index + which));
            Ok::<_, TrainError>(Views { parameters, gradients: layer(&gradients), transposed, running })
        });
        let layers = views.collect::<Result<_, _>>()?;
        Ok(Mlp {
            layout,
            statistics_layout,
            parameters,
            gradients,
            statistics,
            layers,
            kind,
            device,
            with_tensors: device != Device::Cpu || models > 1,
            group: Arc::new(Group::alone()),
        })
    }

    /// Switches to tensor operations everywhere, as on a GPU and for several models.
    pub fn with_tensor_operations(mut self) -> Mlp {
        self.with_tensors = true;
        self
    }

    /// Shares each batch with the other processes of a group, which have the same parameters: losses, gradients and
    /// running averages are those of the whole batch. For a stack of one model only.
    pub(super) fn join(&mut self, group: Arc<Group>) {
        assert_eq!(self.models(), 1, "several processes train a single model");
        self.with_tensors |= !group.is_alone();
        self.group = group;
    }

    pub fn parameters(&self) -> &Tensor {
        &self.parameters
    }

    /// The gradients after [`Mlp::differentiate`].
    pub fn gradients(&self) -> &Tensor {
        &self.gradients
    }

    /// The running means and variances of the batch normalisations.
    pub fn statistics(&self) -> &Tensor {
        &self.statistics
    }

    pub fn layout(&self) -> &ParameterLayout {
        &self.layout
    }

    pub fn statistics_layout(&self) -> &ParameterLayout {
        &self.statistics_layout
    }

    pub fn models(&self) -> usize {
        self.layout.models()
    }

    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// Draws a model's parameters as PyTorch does, from a stream of the key: weights and biases of a linear layer
    /// uniform within ±1/√inputs; γ = 1, β = 0.
    pub fn initialize(&mut self, model: usize, key: Key) -> Result<(), TrainError> {
        let mut values = Vec::with_capacity(self.layout.model_size());
        for (index, segment) in self.layout.segments().iter().enumerate() {
            let size = segment.size();
            let within = 1.0 / (SIZES[index / SEGMENTS.len()] as f64).sqrt();
            let mut stream = Stream::new(key.at(index as u64));
            match SEGMENTS[index % SEGMENTS.len()] {
                "norm.weight" => values.resize(values.len() + size, 1.0),
                "norm.bias" => values.resize(values.len() + size, 0.0),
                _ => values.extend((0..size).map(|_| (2.0 * stream.uniform() - 1.0) * within)),
            }
        }
        self.set_model(model, &values)
    }

    /// Sets all parameters of a model, segment after segment.
    pub fn set_model(&mut self, model: usize, values: &[f64]) -> Result<(), TrainError> {
        let mut rest = values;
        for (index, segment) in self.layout.segments().iter().enumerate() {
            let (values, after) = rest.split_at(segment.size());
            rest = after;
            let values = Tensor::f_from_slice(values)?.f_view(&segment.shape[..])?;
            self.layout.view(&self.parameters, index).get(model as i64).f_copy_(&values)?;
        }
        Ok(())
    }

    pub fn model(&self, model: usize) -> Result<Vec<f64>, TrainError> {
        let mut values = Vec::with_capacity(self.layout.model_size());
        for index in 0..self.layout.segments().len() {
            let part = self.layout.view(&self.parameters, index).get(model as i64);
            values.extend(Vec::<f64>::try_from(part.f_to_kind(Kind::Double)?.f_flatten(0, -1)?)?);
        }
        Ok(values)
    }

    /// Computes the training loss of each model on its images, `[models]`, and all gradients. In a group, `batch` is
    /// this process's part of the images.
    pub fn differentiate(&mut self, batch: Batch) -> Result<Tensor, TrainError> {
        self.differentiate_parts(batch, |_, _| Ok(()))
    }

    /// Differentiates like [`Mlp::differentiate`], and in a group calls `part` with the contribution of this process's
    /// images to the gradients, and their fraction of the batch.
    pub(super) fn differentiate_parts(
        &mut self,
        batch: Batch,
        part: impl FnOnce(&Tensor, f64) -> Result<(), TrainError>,
    ) -> Result<Tensor, TrainError> {
        match (self.with_tensors, self.kind) {
            (true, _) => {
                let (operations, own) = (self.tensor_operations(&batch)?, batch.labels.size()[1] as f64);
                let mut losses = self.differentiate_with(&operations, batch)?;
                part(&self.gradients, own / operations.images)?;
                self.group.sum(&mut self.gradients)?;
                self.group.sum(&mut losses)?;
                Ok(losses)
            }
            (false, Kind::Double) => self.differentiate_with(&processor::Operations::<f64>(PhantomData), batch),
            (false, _) => self.differentiate_with(&processor::Operations::<f32>(PhantomData), batch),
        }
    }

    fn tensor_operations(&self, batch: &Batch) -> Result<TensorOperations, TrainError> {
        let mut images = Tensor::f_from_slice(&[batch.labels.size()[1]])?;
        self.group.sum(&mut images)?;
        Ok(TensorOperations { group: Arc::clone(&self.group), images: images.f_int64_value(&[0])? as f64 })
    }

    /// Computes the tensors of each layer for the backward pass, and the outputs, without the last bias. Updates the
    /// running averages.
    fn forward(&mut self, operations: &impl Operations, images: Tensor) -> Result<(Vec<Passed>, Tensor), TrainError> {
        let last = self.layers.len() - 1;
        let mut passed = Vec::with_capacity(self.layers.len());
        let mut inputs = images;
        for (index, Views { parameters, transposed, running, .. }) in self.layers.iter_mut().enumerate() {
            let through = operations.normalize(inputs, parameters, running)?;
            let outputs = through.normalized.f_bmm(transposed)?;
            passed.push(through);
            inputs = if index < last { operations.bias_and_relu(outputs, &parameters.bias)? } else { outputs };
        }
        Ok((passed, inputs))
    }

    fn last_bias(&self) -> &Tensor {
        &self.layers[self.layers.len() - 1].parameters.bias
    }

    fn differentiate_with(&mut self, operations: &impl Operations, batch: Batch) -> Result<Tensor, TrainError> {
        let (passed, outputs) = self.forward(operations, batch.images)?;
        let (losses, mut by_outputs) = operations.cross_entropy(outputs, self.last_bias(), &batch.labels)?;
        for (index, (layer, passed)) in self.layers.iter_mut().zip(&passed).enumerate().rev() {
            let Views { parameters, gradients, .. } = layer;
            operations.bias_gradient(&by_outputs, &mut gradients.bias)?;
            let _ = by_outputs.f_transpose(1, 2)?.f_bmm_out(&gradients.weight, &passed.normalized)?;
            let by_normalized = by_outputs.f_bmm(&parameters.weight)?;
            by_outputs = operations.normalize_backward(by_normalized, passed, parameters, gradients, index == 0)?;
        }
        Ok(losses)
    }

    pub fn update(&mut self, optimizer: &mut FlatOptimizer, query_results: &QueryResults) -> Result<(), TrainError> {
        optimizer.step(&self.layout, &mut self.parameters, &self.gradients, query_results)
    }

    /// Computes the results of an optimizer's queries about a batch, which `batch` creates again. Labels are drawn from
    /// the streams of `keys`, one for each model. The running averages stay unchanged.
    pub fn query_results(
        &mut self,
        queries: GradientQueries,
        keys: &[Key],
        batch: impl Fn() -> Result<Batch, TrainError>,
    ) -> Result<QueryResults, TrainError> {
        if !queries.any() {
            return Ok(QueryResults::default());
        }
        let statistics = self.statistics.f_detach_copy()?;
        let samples = self.tensor_operations(&batch()?)?.images;
        let query_results = QueryResults::compute(queries, self, samples, |mlp, labels| {
            let mut batch = batch()?;
            if labels == Labels::OfModel {
                let logits = mlp.logits(&batch)?;
                let uniforms = uniforms(keys, samples as usize, mlp.device)?;
                let own = mlp.group.part(samples as usize);
                batch.labels = drawn_labels(&logits, &uniforms.f_narrow(1, own.start as i64, own.len() as i64)?)?;
            }
            mlp.differentiate(batch).map(drop)
        });
        self.statistics.f_copy_(&statistics)?;
        query_results
    }

    /// Computes the gradients of a batch without updating the running averages.
    pub(super) fn gradients_of(&mut self, batch: Batch) -> Result<&Tensor, TrainError> {
        let statistics = self.statistics.f_detach_copy()?;
        let outcome = self.differentiate(batch);
        self.statistics.f_copy_(&statistics)?;
        outcome.map(|_| &self.gradients)
    }

    /// Computes the logits of a training batch, normalised by its own mean and variance. Updates the running averages.
    fn logits(&mut self, batch: &Batch) -> Result<Tensor, TrainError> {
        // The first normalisation may change its inputs.
        let images = batch.images.f_detach_copy()?;
        let (_, outputs) = match (self.with_tensors, self.kind) {
            (true, _) => self.forward(&self.tensor_operations(batch)?, images),
            (false, Kind::Double) => self.forward(&processor::Operations::<f64>(PhantomData), images),
            (false, _) => self.forward(&processor::Operations::<f32>(PhantomData), images),
        }?;
        Ok(outputs.f_add(&self.last_bias().f_unsqueeze(1)?)?)
    }

    /// Computes a model's loss and accuracy over all images, with the running averages.
    pub fn evaluate(&self, model: usize, images: &Images) -> Result<Evaluation, TrainError> {
        // The paper's test batches on a GPU; parts that fit into the cache on a processor.
        let part = if self.device == Device::Cpu { 1024 } else { 8192 };
        let layers = (0..self.layers.len()).map(|index| self.folded(model, index)).collect::<Result<Vec<_>, _>>()?;
        let (mut loss, mut right) = (0.0, 0.0);
        for start in (0..images.count()).step_by(part) {
            let batch = images.range(start..(start + part).min(images.count()), self.kind)?;
            let mut inputs = batch.images.f_squeeze_dim(0)?;
            let labels = batch.labels.f_squeeze_dim(0)?;
            for (index, (weight, bias)) in layers.iter().enumerate() {
                inputs = bias.f_addmm(&inputs, weight)?;
                if index + 1 < layers.len() {
                    let _ = inputs.f_relu_()?;
                }
            }
            let losses = inputs.f_log_softmax(-1, None)?.f_gather(1, &labels.f_unsqueeze(1)?, false)?;
            loss -= losses.f_sum(Kind::Double)?.f_double_value(&[])?;
            right += inputs.f_argmax(1, false)?.f_eq_tensor(&labels)?.f_sum(Kind::Double)?.f_double_value(&[])?;
        }
        let count = images.count() as f64;
        Ok(Evaluation { loss: loss / count, accuracy: right / count })
    }

    /// Folds the normalisation of a layer of one model into its linear map for evaluation: weight `[inputs, outputs]`
    /// and bias.
    ///
    /// `W (γ (x − mean) r + β) + b = (W γ r) x + (W (β − γ r mean) + b)`
    fn folded(&self, model: usize, index: usize) -> Result<(Tensor, Tensor), TrainError> {
        let Views { parameters: Layer { scale, shift, weight, bias }, running: [mean, variance], .. } =
            &self.layers[index];
        let [scale, shift, weight, bias, mean, variance] =
            [scale, shift, weight, bias, mean, variance].map(|part| part.get(model as i64));
        let factor = scale.f_div(&variance.f_add_scalar(EPSILON)?.f_sqrt()?)?;
        let offset = shift.f_sub(&mean.f_mul(&factor)?)?;
        let bias = weight.f_mv(&offset)?.f_add(&bias)?;
        Ok((weight.f_mul(&factor)?.f_transpose(0, 1)?, bias))
    }
}

struct TensorOperations {
    /// The processes that share a batch.
    pub group: Arc<Group>,
    /// Images of the whole batch.
    pub images: f64,
}

impl TensorOperations {
    /// Computes variance and mean of each unit over the whole batch, `[models, 1, units]`.
    fn moments(&self, inputs: &Tensor) -> Result<(Tensor, Tensor), TrainError> {
        if self.group.is_alone() {
            return Ok(inputs.f_var_mean_correction(&[1][..], 0, true)?);
        }
        let mut mean = inputs.f_sum_dim_intlist(&[1][..], true, None::<Kind>)?;
        self.group.sum(&mut mean)?;
        let _ = mean.f_div_scalar_(self.images)?;
        let mut variance = inputs.f_sub(&mean)?.f_square()?.f_sum_dim_intlist(&[1][..], true, None::<Kind>)?;
        self.group.sum(&mut variance)?;
        let _ = variance.f_div_scalar_(self.images)?;
        Ok((variance, mean))
    }
}

impl Operations for TensorOperations {
    fn normalize(&self, inputs: Tensor, layer: &Layer, running: &mut [Tensor; 2]) -> Result<Passed, TrainError> {
        let (variance, mean) = self.moments(&inputs)?;
        let [running_mean, running_variance] = running;
        let _ = running_mean.f_lerp_(&mean.f_squeeze_dim(1)?, MOMENTUM)?;
        let unbiased = variance.f_squeeze_dim(1)?.f_mul_scalar(self.images / (self.images - 1.0))?;
        let _ = running_variance.f_lerp_(&unbiased, MOMENTUM)?;
        let inverse_deviation = variance.f_add_scalar(EPSILON)?.f_rsqrt()?;
        let normalized = inputs
            .f_sub(&mean)?
            .f_mul_(&inverse_deviation.f_mul(&layer.scale.f_unsqueeze(1)?)?)?
            .f_add_(&layer.shift.f_unsqueeze(1)?)?;
        Ok(Passed { inputs, normalized, mean, inverse_deviation })
    }

    fn bias_and_relu(&self, mut outputs: Tensor, bias: &Tensor) -> Result<Tensor, TrainError> {
        Ok(outputs.f_add_(&bias.f_unsqueeze(1)?)?.f_relu_()?)
    }

    /// In a group, computes this process's parts of the losses.
    fn cross_entropy(
        &self,
        mut outputs: Tensor,
        bias: &Tensor,
        labels: &Tensor,
    ) -> Result<(Tensor, Tensor), TrainError> {
        let logs = outputs.f_add_(&bias.f_unsqueeze(1)?)?.f_log_softmax(-1, None)?;
        let labels = labels.f_unsqueeze(-1)?;
        let losses = logs.f_gather(-1, &labels, false)?.f_squeeze_dim(-1)?;
        let losses = losses.f_sum_dim_intlist(&[1][..], false, None::<Kind>)?.f_div_scalar(self.images)?;
        let mut gradient = logs.f_exp()?;
        let ones = Tensor::f_full_like(&labels.f_to_kind(gradient.kind())?, -1.0)?;
        let _ = gradient.f_scatter_add_(-1, &labels, &ones)?.f_div_scalar_(self.images)?;
        Ok((losses.f_neg()?, gradient))
    }

    fn bias_gradient(&self, by_outputs: &Tensor, gradient: &mut Tensor) -> Result<(), TrainError> {
        gradient.f_copy_(&by_outputs.f_sum_dim_intlist(&[1][..], false, None::<Kind>)?)?;
        Ok(())
    }

    fn normalize_backward(
        &self,
        by_normalized: Tensor,
        passed: &Passed,
        layer: &Layer,
        gradient: &mut Layer,
        first: bool,
    ) -> Result<Tensor, TrainError> {
        let standard = passed.inputs.f_sub(&passed.mean)?.f_mul_(&passed.inverse_deviation)?;
        let mut by_shift = by_normalized.f_sum_dim_intlist(&[1][..], true, None::<Kind>)?;
        let mut by_scale = by_normalized.f_mul(&standard)?.f_sum_dim_intlist(&[1][..], true, None::<Kind>)?;
        gradient.shift.f_copy_(&by_shift.f_squeeze_dim(1)?)?;
        gradient.scale.f_copy_(&by_scale.f_squeeze_dim(1)?)?;
        if first {
            return Ok(by_normalized);
        }
        // The gradients of γ and β stay those of this process's images, as all gradients are added up later.
        if !self.group.is_alone() {
            let mut sums = Tensor::f_cat(&[&by_shift, &by_scale], 1)?;
            self.group.sum(&mut sums)?;
            (by_shift, by_scale) = (sums.f_narrow(1, 0, 1)?, sums.f_narrow(1, 1, 1)?);
        }
        let mut by_inputs = by_normalized;
        let _ = by_inputs
            .f_sub_(&standard.f_mul(&by_scale)?.f_add_(&by_shift)?.f_div_scalar_(self.images)?)?
            .f_mul_(&passed.inverse_deviation.f_mul(&layer.scale.f_unsqueeze(1)?)?)?
            .f_masked_fill_(&passed.inputs.f_le(0.0)?, 0.0)?;
        Ok(by_inputs)
    }
}
