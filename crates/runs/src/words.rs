//! The meaning of a metric by the words of its name, for runs that do not describe their metrics.

use serde::{Deserialize, Serialize};

/// Whether smaller or larger values of a metric are better.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Better {
    Lower,
    Higher,
    #[default]
    Neither,
}

/// The words of the name of a metric or of a setting, in lower case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Words(Vec<String>);

/// Words besides `loss` in the name of the training's loss, with their weights: the tag with the smallest sum is
/// chosen.
const OF_TRAINING_LOSS: [(&str, u32); 6] =
    [("train", 1), ("training", 1), ("step", 2), ("batch", 4), ("total", 8), ("epoch", 16)];
/// Words for data that are not trained on; losses on the earlier ones are preferred for judging a run.
const HELD_OUT: [&str; 8] = ["val", "valid", "validation", "eval", "evaluation", "dev", "heldout", "test"];
/// Words for losses that are only a part, and for numbers that are no loss.
const NO_LOSS: [&str; 14] = [
    "scale",
    "scaler",
    "scaling",
    "aux",
    "auxiliary",
    "weight",
    "coef",
    "coefficient",
    "reg",
    "penalty",
    "min",
    "max",
    "std",
    "lr",
];
/// Words for settings; digits may follow them, as in `beta1`.
const OF_SETTINGS: [&str; 40] = [
    "lr",
    "η",
    "learning",
    "batch",
    "batchsize",
    "seed",
    "decay",
    "wd",
    "beta",
    "betas",
    "eps",
    "epsilon",
    "alpha",
    "gamma",
    "lambda",
    "momentum",
    "nesterov",
    "warmup",
    "dropout",
    "layers",
    "heads",
    "dim",
    "width",
    "depth",
    "hidden",
    "embd",
    "channels",
    "vocab",
    "context",
    "optimizer",
    "optim",
    "rule",
    "scheduler",
    "schedule",
    "patience",
    "fold",
    "model",
    "dataset",
    "precision",
    "dtype",
];
/// Words for measurements of a setting, as in `momentum_norm`.
const OF_MEASURES: [&str; 6] = ["norm", "grad", "gradient", "mean", "std", "time"];
const LOWER_IS_BETTER: [&str; 8] = ["loss", "perplexity", "ppl", "nll", "error", "mse", "rmse", "mae"];
const HIGHER_IS_BETTER: [&str; 7] = ["acc", "accuracy", "f1", "auc", "bleu", "iou", "reward"];

impl Words {
    pub fn of(name: &str) -> Words {
        let (mut words, mut word, mut before) = (Vec::new(), String::new(), ' ');
        for sign in name.chars() {
            let is_boundary = sign.is_uppercase() && before.is_lowercase();
            if (is_boundary || !sign.is_alphanumeric()) && !word.is_empty() {
                words.push(std::mem::take(&mut word));
            }
            if sign.is_alphanumeric() {
                word.extend(sign.to_lowercase());
            }
            before = sign;
        }
        words.extend(Some(word).filter(|word| !word.is_empty()));
        Words(words)
    }

    fn has(&self, some: &[&str]) -> bool {
        self.0.iter().any(|word| some.contains(&word.as_str()))
    }

    pub fn is_evaluation(&self) -> bool {
        self.has(&HELD_OUT) && !(self.has(&["dev"]) && self.has(&["std"]))
    }

    /// Whether a number of this name is a setting if it never changes.
    pub fn is_setting(&self) -> bool {
        let is_word = |word: &String| OF_SETTINGS.contains(&word.trim_end_matches(|sign: char| sign.is_ascii_digit()));
        let is_measured = self.better() != Better::Neither || self.is_evaluation() || self.has(&OF_MEASURES);
        self.0.iter().any(is_word) && !is_measured
    }

    pub fn is_training(&self) -> bool {
        self.has(&["train", "training"])
    }

    pub fn is_loss(&self) -> bool {
        self.has(&["loss"]) && !self.has(&NO_LOSS)
    }

    /// Determines which direction is better; neither if no word of the name decides it.
    pub fn better(&self) -> Better {
        if self.has(&NO_LOSS) {
            Better::Neither
        } else if self.has(&LOWER_IS_BETTER) {
            Better::Lower
        } else if self.has(&HIGHER_IS_BETTER) {
            Better::Higher
        } else {
            Better::Neither
        }
    }

    /// Ranks the tag's loss among those of evaluations: validation before test, whole losses first.
    pub fn evaluation_rank(&self) -> (bool, usize) {
        let position = HELD_OUT.iter().position(|word| self.has(&[word])).unwrap_or(HELD_OUT.len());
        (!self.is_loss(), position)
    }

    /// Ranks the name among those of the training's loss; none if it is not one of them.
    fn training_rank(&self) -> Option<u32> {
        let mut others = self.0.iter().filter(|word| *word != "loss");
        let is_loss = self.0.iter().filter(|word| *word == "loss").count() == 1;
        let weight =
            |word: &String| OF_TRAINING_LOSS.iter().find(|(known, _)| known == word).map(|(_, weight)| *weight);
        is_loss.then(|| others.try_fold(0, |sum, word| Some(sum + weight(word)?))).flatten()
    }
}

/// Finds the tag that is the loss of the training: the first of `loss`, `train_loss`, `loss_step`, `train_loss_step`
/// and so on, in any spelling, or else the only loss that is neither of an evaluation nor a part.
pub fn training_loss<'n>(names: impl Iterator<Item = &'n str> + Clone) -> Option<&'n str> {
    let ranked = names.clone().filter_map(|name| Some((Words::of(name).training_rank()?, name)));
    let exact = ranked.min_by_key(|(rank, name)| (*rank, *name != "loss", *name));
    let is_candidate = |name: &&str| {
        let words = Words::of(name);
        words.is_loss() && !words.is_evaluation() && !words.has(&["hparam"])
    };
    let mut candidates = names.filter(is_candidate);
    let only = candidates.next().filter(|_| candidates.next().is_none());
    exact.map(|(_, name)| name).or(only)
}

#[cfg(test)]
mod tests {
    use super::{Words, training_loss};

    #[test]
    fn the_training_loss_is_found_by_its_exact_name_first() {
        let loss = |names: &[&'static str]| training_loss(names.iter().copied());
        assert_eq!(loss(&["aux_loss", "loss_scale", "train_loss", "val_loss"]), Some("train_loss"));
        assert_eq!(loss(&["Loss", "loss", "train_loss"]), Some("loss"));
        assert_eq!(loss(&["train/loss_epoch", "train/loss_step"]), Some("train/loss_step"));
        assert_eq!(loss(&["Loss/train", "Loss/val"]), Some("Loss/train"));
        assert_eq!(loss(&["trainLoss", "epoch"]), Some("trainLoss"));
        assert_eq!(loss(&["mlm_loss", "val_loss", "loss_scale"]), Some("mlm_loss"));
        assert_eq!(loss(&["loss_d", "loss_g"]), None, "either may be meant");
        assert_eq!(loss(&["val_loss", "loss_scale", "aux_loss", "glossary"]), None);
    }

    #[test]
    fn settings_are_told_by_words() {
        for name in ["lr", "learning_rate", "batchSize", "optimizer.beta2", "weight_decay", "n_layers", "seed"] {
            assert!(Words::of(name).is_setting(), "{name}");
        }
        for name in ["grad_norm", "momentum_norm", "clip_rate", "tokens", "epoch", "batch_loss", "val_batch", "loss"] {
            assert!(!Words::of(name).is_setting(), "{name}");
        }
    }

    #[test]
    fn evaluations_are_told_by_words() {
        for name in ["val_loss", "Loss/val", "eval/loss", "testAccuracy", "validation/ppl"] {
            assert!(Words::of(name).is_evaluation(), "{name}");
        }
        for name in ["loss", "value_loss", "latest", "interval", "std_dev"] {
            assert!(!Words::of(name).is_evaluation(), "{name}");
        }
        let rank = |name| Words::of(name).evaluation_rank();
        assert!(rank("val_loss") < rank("test_loss") && rank("test/loss") < rank("val_accuracy"));
    }
}
