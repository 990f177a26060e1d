//! Text generation.

use tch::{Kind, Tensor};
use valleyscope_engine::random::{Key, Stream};

use super::Gpt2;
use crate::{Check, TrainError};

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
        if !(temperature >= 0.0 && temperature.is_finite()) || top_k == Some(0) {
            return Err(TrainError::Refused(format!(
                "expected a temperature of at least 0 and a top_k of at least 1, found {temperature} and {top_k:?}"
            )));
        }
        let mut stream = Stream::new(key);
        let mut text = prompt.to_vec();
        for _ in 0..count {
            let seen = &text[text.len().saturating_sub(self.shape().context as usize)..];
            let tokens = Tensor::f_from_slice(seen)?.f_unsqueeze(0)?.f_to_device(self.device)?;
            let logits = Vec::<f64>::try_from(self.logits(&tokens, check)?.f_view(-1)?.f_to_kind(Kind::Double)?)?;
            text.push(choose(&logits, temperature, top_k, stream.uniform())?);
        }
        Ok(text.split_off(prompt.len()))
    }
}

/// Returns the token at the quantile `uniform` of the probabilities, from the most likely on.
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
