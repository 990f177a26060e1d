//! GPT-2 of any size (Appendix "GPT-2" of the paper has GPT-2 small).
//!
//! Its parameters and gradients are flat tensors. Gradients are libtorch's ([`network`]); half precision converts the
//! weights in each pass, as PyTorch's autocast does.

mod files;
mod network;

use network::Network;
use tch::{Device, Kind, Tensor};
use valleyscope_engine::lanes::Lanes;
use valleyscope_engine::random::{Key, Stream, Streams};
use valleyscope_experiments::workload::{Attention, Gpt2Precision, Gpt2Shape};

use crate::layout::is_finite;
use crate::{Check, Differentiable, FlatOptimizer, ParameterLayout, QueryResults, TrainError};

/// A GPT-2: a residual stream `[tokens, width]` to which each block adds attention and a feed-forward net.
///
/// ```text
/// x = wte[token] + wpe[position]
/// x ← x + attention(LN(x)),  x ← x + W₂ gelu(W₁ LN(x))     in each block
/// logits = LN(x) wteᵗ
/// ```
///
/// All parameters are one flat tensor, and so are their gradients. Half precision follows PyTorch's autocast: matrix
/// products and the operations between two of them (GELU, fused attention) in half, the residual stream,
/// normalisations, softmax and loss in single precision, as are parameters and gradients.
///
/// Only methods that return plain values block on a GPU.
#[derive(Debug)]
pub struct Gpt2 {
    layout: ParameterLayout,
    parameters: Tensor,
    network: Network,
    gradients: Tensor,
}

impl Differentiable for Gpt2 {
    fn parameters_mut(&mut self) -> &mut Tensor {
        &mut self.parameters
    }

    fn gradients_mut(&mut self) -> &mut Tensor {
        &mut self.gradients
    }
}

impl Gpt2 {
    /// Creates a model with all parameters zero; see [`Gpt2::initialize`].
    ///
    /// # Errors
    ///
    /// Fails if the shape breaks a rule, or the device has not enough memory.
    pub fn new(
        shape: Gpt2Shape,
        precision: Gpt2Precision,
        attention: Attention,
        device: Device,
    ) -> Result<Gpt2, TrainError> {
        shape.check().map_err(|error| TrainError::Refused(error.to_string()))?;
        let (kind, product_kind) = kinds(precision);
        let layout = network::layout(&shape);
        let zeros = || Tensor::f_zeros([layout.length() as i64], (kind, device));
        let (parameters, gradients) = (zeros()?, zeros()?);
        let network = Network::new(shape, attention, product_kind, &layout, [&parameters, &gradients])?;
        Ok(Gpt2 { layout, parameters, network, gradients })
    }

    pub fn shape(&self) -> &Gpt2Shape {
        &self.network.shape
    }

    pub fn device(&self) -> Device {
        self.parameters.device()
    }

    pub fn layout(&self) -> &ParameterLayout {
        &self.layout
    }

    pub fn parameters(&self) -> &Tensor {
        &self.parameters
    }

    /// The sum of the gradients of [`Gpt2::differentiate`].
    pub fn gradients(&self) -> &Tensor {
        &self.gradients
    }

    /// Sets all parameters to those of a fresh GPT-2, from streams of the key: weights from Normal(0, 0.02), those that
    /// add to the residual stream from Normal(0, 0.02/√(2 layers)); γ = 1; biases 0.
    pub fn initialize(&mut self, key: Key) -> Result<(), TrainError> {
        const DEVIATION: f64 = 0.02;
        let residual = DEVIATION / f64::from(2 * self.shape().layers).sqrt();
        for (index, segment) in self.layout.segments().iter().enumerate() {
            let mut view = self.layout.view(&self.parameters, index);
            let deviation = match (segment.name.as_str(), segment.shape.len()) {
                (name, 1) => {
                    let _ = view.f_fill_(if name.ends_with("weight") { 1.0 } else { 0.0 })?;
                    continue;
                }
                (name, _) if name.ends_with("c_proj.weight") => residual,
                _ => DEVIATION,
            };
            let values = normals(key.at(index as u64), segment.size(), deviation);
            let values = Tensor::f_from_slice(&values)?.f_view(&view.size()[..])?;
            view.f_copy_(&values)?;
        }
        Ok(())
    }

    /// Sets the stored gradients to zero.
    pub fn forget_gradients(&mut self) -> Result<(), TrainError> {
        let _ = self.gradients.f_zero_()?;
        Ok(())
    }

    /// Divides the gradients by `scale`, and clips them if their norm is more than `most`: times `most / (norm +
    /// 1e-6)`. Returns their norm before clipping, a tensor on the device. It is finite exactly if all gradients are,
    /// as long as the sum of their squares does not overflow.
    pub fn clip(&mut self, most: Option<f64>, scale: f64) -> Result<Tensor, TrainError> {
        let norm = self.gradients.f_norm()?.f_div_scalar(scale)?;
        let Some(most) = most else {
            if scale != 1.0 {
                let _ = self.gradients.f_div_scalar_(scale)?;
            }
            return Ok(norm);
        };
        let mut factor = norm.f_add_scalar(1e-6)?.f_reciprocal()?.f_mul_scalar_(most)?.f_clamp_max_(1.0)?;
        let factor = factor.f_div_scalar_(scale)?;
        // On the processor there is no wait to avoid, and often no factor to apply.
        if self.device() != Device::Cpu || factor.f_double_value(&[])? != 1.0 {
            let _ = self.gradients.f_mul_(&factor)?;
        }
        Ok(norm)
    }

    pub fn update(&mut self, optimizer: &mut FlatOptimizer, query_results: &QueryResults) -> Result<(), TrainError> {
        optimizer.step(&self.layout, &mut self.parameters, &self.gradients, query_results)
    }

    /// Finds the first tensor with a number that is not finite, among the parameters or their gradients; returns its
    /// name.
    pub fn first_not_finite(&self, flat: &Tensor) -> Result<Option<&str>, TrainError> {
        if is_finite(flat)? {
            return Ok(None);
        }
        for (index, segment) in self.layout.segments().iter().enumerate() {
            if !is_finite(&self.layout.view(flat, index))? {
                return Ok(Some(&segment.name));
            }
        }
        Ok(None)
    }
}

fn kinds(precision: Gpt2Precision) -> (Kind, Kind) {
    match precision {
        Gpt2Precision::Float32 => (Kind::Float, Kind::Float),
        Gpt2Precision::Float64 => (Kind::Double, Kind::Double),
        Gpt2Precision::BFloat16 => (Kind::Float, Kind::BFloat16),
        Gpt2Precision::Float16 => (Kind::Float, Kind::Half),
    }
}

/// Draws from Normal(0, deviation), using eight streams of the key at the same time.
fn normals(key: Key, count: usize, deviation: f64) -> Vec<f64> {
    const LANES: usize = 8;
    let mut streams = Streams::new(std::array::from_fn::<_, LANES, _>(|lane| key.at(lane as u64)));
    let mut values = Vec::with_capacity(count.next_multiple_of(2 * LANES));
    while values.len() < count {
        for Lanes(draws) in streams.normal_pair::<Lanes<f64, LANES>>() {
            values.extend(draws.map(|draw| deviation * draw));
        }
    }
    values.truncate(count);
    values
}

impl Gpt2 {
    /// Generates `count` tokens after the prompt, one after another.
    ///
    /// Each is drawn from the softmax of the logits over `temperature`, among the `top_k` most likely ones if that is
    /// given; at temperature 0 it is the most likely. Only the end of a text longer than the context is used. The draws
    /// use a stream of the key.
    ///
    /// # Errors
    ///
    /// Fails if the prompt is empty or has tokens outside the model's vocabulary, if logits are not finite, and if
    /// `check` fails.
    pub fn generate(
        &self,
        prompt: &[i64],
        count: usize,
        temperature: f64,
        top_k: Option<usize>,
        key: Key,
        check: &mut Check<'_>,
    ) -> Result<Vec<i64>, TrainError> {
        if prompt.is_empty() {
            return Err(TrainError::Refused("expected a prompt of at least one token, found none".to_owned()));
        }
        let mut stream = Stream::new(key);
        let mut text = prompt.to_vec();
        for _ in 0..count {
            let seen = &text[text.len().saturating_sub(self.shape().context as usize)..];
            let tokens = Tensor::f_from_slice(seen)?.f_unsqueeze(0)?.f_to_device(self.device())?;
            let logits = Vec::<f64>::try_from(self.logits(&tokens, check)?.f_view(-1)?.f_to_kind(Kind::Double)?)?;
            text.push(choose(&logits, temperature, top_k, stream.uniform())?);
        }
        Ok(text.split_off(prompt.len()))
    }
}

/// Chooses the token at the quantile `uniform` of the probabilities, from the most likely on.
fn choose(logits: &[f64], temperature: f64, top_k: Option<usize>, uniform: f64) -> Result<i64, TrainError> {
    if let Some(bad) = logits.iter().find(|logit| !logit.is_finite()) {
        let message = format!("expected finite logits, found {bad}: the model has diverged");
        return Err(TrainError::Refused(message));
    }
    let mut order: Vec<usize> = (0..logits.len()).collect();
    order.sort_by(|&a, &b| logits[b].total_cmp(&logits[a]));
    order.truncate(top_k.unwrap_or(order.len()));
    let most = logits[order[0]];
    if temperature == 0.0 {
        return Ok(order[0] as i64);
    }
    let weights: Vec<f64> = order.iter().map(|&token| ((logits[token] - most) / temperature).exp()).collect();
    let mut left = uniform * weights.iter().sum::<f64>();
    let chosen = weights.iter().position(|weight| {
        left -= weight;
        left < 0.0
    });
    Ok(order[chosen.unwrap_or(order.len() - 1)] as i64)
}
