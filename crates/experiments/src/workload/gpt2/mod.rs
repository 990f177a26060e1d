//! Pre-training of GPT-2 (Appendix "GPT-2" of the paper), of any size.

mod shape;

use serde::{Deserialize, Serialize};
use valleyscope_engine::optimizer::RuleSpec;
use valleyscope_engine::quantity::{
    Accumulation, CheckpointInterval, ClipNorm, EvaluationBatches, EvaluationInterval, FinalLearningRate, KeepInterval,
    LearningRate, LoggingInterval, MeasureInterval, Processes, Range, SampleInterval, SampleTemperature, SampleTokens,
    SequenceCount, TopK, TrainingSteps, WarmupSteps,
};
use valleyscope_engine::setting::Extent;
use valleyscope_engine::spec_error::{SpecError, broken};
use valleyscope_runs::{Measure, MetricId, MetricInfo, MetricScale, Started, Unit};

use super::form::{self, FieldInfo, Section, Show, Value, choice, number};
use super::runs::{is_one, is_usual_interval};
use super::{
    Common, CommonMut, Course, DataStatus, DataStatusResult, Dataset, DeviceChoice, Needs, NotFinite, RunSpec,
    RunsPreset, Sharing, WorkloadInfo,
};
use crate::dataset::text::{TextNeeds, TextSource, TextSources, TokenizerKind};
use crate::dataset::{DataChoice, text};
use crate::view::ticks::grouped;

pub use shape::{Attention, Gpt2Precision, Gpt2Shape};

/// Trainings of GPT-2, one after another.
pub type Gpt2Preset = RunsPreset<Gpt2Spec>;

/// One training of a GPT-2.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Gpt2Spec {
    /// The name in lists and legends; without it, the optimizer's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    pub shape: Gpt2Shape,
    #[serde(deserialize_with = "RuleSpec::deserialize_in_training")]
    pub optimizer: RuleSpec,
    /// The learning rate at the end of the warm-up.
    pub learning_rate: LearningRate,
    pub schedule: Schedule,
    /// The norm to which longer gradients are clipped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clip: Option<ClipNorm>,
    /// Sequences of a micro-batch.
    pub batch_size: SequenceCount,
    /// Micro-batches of a step.
    #[serde(default = "Accumulation::of::<1>")]
    pub accumulation: Accumulation,
    pub steps: TrainingSteps,
    /// The seed of the initial weights and of the sequences of the batches.
    #[serde(default)]
    pub seed: u64,
    /// Steps from one point of the training curve to the next.
    #[serde(default = "LoggingInterval::of::<10>")]
    pub log_every: LoggingInterval,
    /// Steps from one evaluation to the next.
    #[serde(default = "EvaluationInterval::of::<1000>")]
    pub eval_every: EvaluationInterval,
    /// Batches of an evaluation, always the same.
    #[serde(default = "EvaluationBatches::of::<200>")]
    pub eval_batches: EvaluationBatches,
    #[serde(default = "CheckpointInterval::of::<1000>")]
    pub checkpoint_every: CheckpointInterval,
    /// The interval of checkpoints that are kept, beside the last two and the best.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keep_every: Option<KeepInterval>,
    /// Text that the model writes while it learns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sample: Option<Sampling>,
    /// Steps from one measure of the gradient's noise, signal and oscillation to the next; 0 for none.
    #[serde(default = "MeasureInterval::of::<100>", skip_serializing_if = "is_usual_interval")]
    pub measure_every: MeasureInterval,
    #[serde(default)]
    pub not_finite: NotFinite,
    /// A model in Hugging Face's format, `model.safetensors` or the folder that holds it, with the initial weights.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub init_from: Option<String>,
    /// The tokenizer for text.
    #[serde(default)]
    pub tokenizer: TokenizerKind,
    #[serde(default)]
    pub data: DataChoice,
    #[serde(default)]
    pub device: DeviceChoice,
    /// Processes on this machine that share each batch; others may start them instead.
    #[serde(default = "Processes::of::<1>", skip_serializing_if = "is_one")]
    pub processes: Processes,
    /// Whether each of several processes keeps the optimizer's memory for a part of the parameters only, and steps
    /// these.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub shard_optimizer: bool,
    #[serde(default)]
    pub precision: Gpt2Precision,
    #[serde(default)]
    pub attention: Attention,
}

/// The interval and the settings of text samples.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sampling {
    pub every: SampleInterval,
    #[serde(default = "SampleTokens::of::<100>")]
    pub tokens: SampleTokens,
    #[serde(default = "temperature")]
    pub temperature: SampleTemperature,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub top_k: Option<TopK>,
}

fn temperature() -> SampleTemperature {
    SampleTemperature::clamped(0.8)
}

pub(super) static TEXT: Dataset = Dataset {
    name: "text",
    automatic: "Automatic: text in the folder that VALLEYSCOPE_DATA names, else text that the program makes up",
    folder: "train.bin and val.bin of tokens, or files of text",
    synthetic: "Made-up text (no real corpus)",
    files: None,
};
const PRECISIONS: &[(Gpt2Precision, &str)] = &[
    (Gpt2Precision::Float32, "float32"),
    (Gpt2Precision::BFloat16, "bfloat16"),
    (Gpt2Precision::Float16, "float16"),
    (Gpt2Precision::Float64, "float64"),
];
const ATTENTIONS: &[(Attention, &str)] = &[(Attention::Fused, "fused"), (Attention::Explicit, "explicit")];
const TOKENIZERS: &[(TokenizerKind, &str)] = &[(TokenizerKind::Gpt2, "GPT-2's"), (TokenizerKind::Char, "characters")];

const FIELDS: &[Section<Gpt2Spec>] = &[
    Section {
        heading: "Data and device",
        show: Show::Open,
        fields: &[
            form::data(&TEXT).at(|it| Some(Value::Data(&mut it.data, &TEXT))),
            FieldInfo::other("tokenizer", "Tokens", "What text is cut into")
                .at(|it| choice(&mut it.tokenizer, TOKENIZERS)),
            form::DEVICE.at(|it| Some(Value::Device(&mut it.device))),
            form::PROCESSES.at(|it| number(&mut it.processes)),
            form::SHARD.at(|it| (it.processes.get() > 1).then_some(Value::Switch(&mut it.shard_optimizer))),
            form::precision("Of products of matrices; all else is in float32 where they are in half precision")
                .at(|it| choice(&mut it.precision, PRECISIONS)),
            FieldInfo::other(
                "attention",
                "Attention",
                "Explicit as the authors had it, whose scores can overflow in float16",
            )
            .text(|_, name| format!("{} attention", name.to_lowercase()))
            .at(|it| choice(&mut it.attention, ATTENTIONS)),
        ],
    },
    Section {
        heading: "Size of the model",
        show: Show::Folded,
        fields: &[
            size("shape.layers", "Layers", "Blocks of attention and feed-forward net")
                .at(|it| number(&mut it.shape.layers)),
            size("shape.heads", "Heads", "Attention heads of a block").at(|it| number(&mut it.shape.heads)),
            size("shape.width", "Width", "Numbers for a token").at(|it| number(&mut it.shape.width)),
            size("shape.context", "Context", "The most tokens in a sequence").at(|it| number(&mut it.shape.context)),
            size("shape.vocabulary", "Vocabulary", "Different tokens").at(|it| number(&mut it.shape.vocabulary)),
            FieldInfo::other("shape.bias", "Biases", "Of linear layers and normalisations")
                .at(|it| Some(Value::Switch(&mut it.shape.bias))),
            FieldInfo::other(
                "shape.scale_attn_by_inverse_layer_idx",
                "Scale by layer",
                "Attention scores are also divided by the layer's number",
            )
            .at(|it| Some(Value::Switch(&mut it.shape.scale_attn_by_inverse_layer_idx))),
            FieldInfo::other(
                "shape.decay_embeddings",
                "Decay wte, wpe",
                "Weight decay also acts on the embeddings of tokens and positions",
            )
            .at(|it| Some(Value::Switch(&mut it.shape.decay_embeddings))),
        ],
    },
    Section {
        heading: "",
        show: Show::Open,
        fields: &[FieldInfo::other("size", "", "").identity().at(|it| Some(Value::Note(it.size())))],
    },
    Section {
        heading: "Optimizer",
        show: Show::Open,
        fields: &[
            form::RULE.at(|it| Some(Value::Rule(&mut it.optimizer))),
            form::RATE
                .labelled("Peak rate η", "The learning rate at the end of the warm-up")
                .at(|it| number(&mut it.learning_rate)),
            FieldInfo::whole(
                "schedule.warmup",
                "Warm-up",
                WarmupSteps::RANGE,
                "Steps in which the learning rate grows",
            )
            .text(|_, steps| format!("warm-up {steps}"))
            .at(|it| number(&mut it.schedule.warmup)),
            FieldInfo::number(
                "schedule.min_lr",
                "Final rate",
                FinalLearningRate::RANGE,
                "The learning rate at the end",
            )
            .slider(Extent::logarithmic(1e-7, 1e-2))
            .text(|_, rate| format!("final η {rate}"))
            .live()
            .at(|it| number(&mut it.schedule.min_lr)),
        ],
    },
    Section {
        heading: "Training",
        show: Show::Open,
        fields: &[
            // Evaluations are batches of as many sequences, which stays while the training runs.
            FieldInfo::whole("batch_size", "Sequences", SequenceCount::RANGE, "Of a micro-batch")
                .identity()
                .at(|it| number(&mut it.batch_size)),
            // The number of samples of a step, which titles show, includes the accumulation.
            FieldInfo::whole("accumulation", "Micro-batches", Accumulation::RANGE, "Whose gradients make one step")
                .identity()
                .live()
                .at(|it| number(&mut it.accumulation)),
            form::steps("Steps of the run, which the schedule spans").at(|it| number(&mut it.steps)),
            form::seed("Names the initial weights and the sequences. Runs that differ only in it are replicates.")
                .at(|it| Some(Value::Seed(&mut it.seed))),
            FieldInfo::number("clip", "Clip norm", ClipNorm::RANGE, "Longer gradients are cut to this norm")
                .slider(Extent::logarithmic(0.01, 100.0))
                .optional("no clip")
                .at(|it| it.clip.as_mut().and_then(number)),
        ],
    },
    Section {
        heading: "Logging and checkpoints",
        show: Show::Folded,
        fields: &[
            form::LOG_EVERY.at(|it| number(&mut it.log_every)),
            form::interval("eval_every", "Evaluate every", "Steps between evaluations")
                .at(|it| number(&mut it.eval_every)),
            FieldInfo::whole(
                "eval_batches",
                "Evaluation batches",
                EvaluationBatches::RANGE,
                "Micro-batches of an evaluation",
            )
            .bookkeeping()
            .at(|it| number(&mut it.eval_batches)),
            form::CHECKPOINT_EVERY.at(|it| number(&mut it.checkpoint_every)),
            form::MEASURE_EVERY.at(|it| number(&mut it.measure_every)),
            form::NOT_FINITE.at(|it| choice(&mut it.not_finite, form::AT_NAN)),
            FieldInfo::whole(
                SampleInterval::NAME,
                "Sample every",
                SampleInterval::RANGE,
                "Steps between texts that the model writes",
            )
            .bookkeeping()
            .at(|it| number(&mut it.sample.as_mut()?.every)),
            FieldInfo::whole(SampleTokens::NAME, "Sample tokens", SampleTokens::RANGE, "Tokens of such a text")
                .bookkeeping()
                .at(|it| number(&mut it.sample.as_mut()?.tokens)),
            FieldInfo::number(
                SampleTemperature::NAME,
                "Temperature",
                SampleTemperature::RANGE,
                "0 takes the likeliest token each time",
            )
            .slider(Extent::linear(0.0, 2.0))
            .bookkeeping()
            .at(|it| number(&mut it.sample.as_mut()?.temperature)),
        ],
    },
    Section {
        heading: "",
        show: Show::Never,
        fields: &[
            form::NAME.at(|_| None),
            form::KEEP_EVERY.at(|it| it.keep_every.as_mut().and_then(number)),
            FieldInfo::whole(TopK::NAME, "Sample top k", TopK::RANGE, "")
                .bookkeeping()
                .at(|it| it.sample.as_mut()?.top_k.as_mut().and_then(number)),
            FieldInfo::other("init_from", "Initial weights", "")
                .optional("initial weights of its own")
                .text(|_, path| {
                    let file = path.trim_matches('"').rsplit(['/', '\\']).next().unwrap_or(path);
                    format!("weights of {file}")
                })
                .at(|_| None),
        ],
    },
];

const fn size(key: &'static str, label: &'static str, help: &'static str) -> FieldInfo {
    FieldInfo::whole(key, label, Range::new("the number", 0.0, u32::MAX as f64), help)
}

impl Gpt2Spec {
    /// Returns the requirements on the tokens of its data.
    pub fn wanted(&self) -> TextNeeds {
        TextNeeds { tokenizer: self.tokenizer, context: self.shape.context as usize }
    }

    /// Refuses data with more distinct tokens than the model's vocabulary.
    pub fn check_vocabulary(&self, needed: usize) -> Result<(), String> {
        let known = self.shape.vocabulary;
        if needed <= known as usize {
            return Ok(());
        }
        Err(format!(
            "the text has {needed} different tokens, and `shape.vocabulary` is {known}; set it to {needed} or more"
        ))
    }

    /// Returns the size of the model and of its steps, in words; empty for an invalid shape.
    fn size(&self) -> String {
        if self.shape.check().is_err() {
            return String::new();
        }
        let [parameters, tokens] = [self.shape.parameters(), self.tokens_per_step()].map(grouped);
        format!("{parameters} parameters, {tokens} tokens a step")
    }

    pub fn tokens_per_step(&self) -> u64 {
        (self.batch_size.get() * self.accumulation.get()) as u64 * u64::from(self.shape.context)
    }
}

impl RunSpec for Gpt2Spec {
    const INFO: &'static WorkloadInfo = &WorkloadInfo {
        name: "GPT-2, pre-training",
        family: "GPT-2",
        dataset: &TEXT,
        with_smaller_batches: " with more accumulation",
    };

    const FIELDS: &'static [Section<Gpt2Spec>] = FIELDS;

    fn common(&self) -> Common<'_> {
        Common {
            name: self.name.as_deref(),
            rule: &self.optimizer,
            learning_rate: self.learning_rate,
            batch_size: (self.batch_size.get() * self.accumulation.get()) as u64,
            seed: self.seed,
            course: Course {
                steps: self.steps.get() as u64,
                log_every: self.log_every.get() as u64,
                eval_every: self.eval_every.get() as u64,
                checkpoint_every: self.checkpoint_every.get() as u64,
                keep_every: self.keep_every.map(|every| every.get() as u64),
                measure_every: self.measure_every.get() as u64,
                sample_every: self.sample.map(|sample| sample.every.get() as u64),
                not_finite: self.not_finite,
            },
            data: &self.data,
            device: self.device,
            sharing: Sharing { processes: self.processes, shard_optimizer: self.shard_optimizer },
            precision: self.precision.name(),
        }
    }

    fn common_mut(&mut self) -> CommonMut<'_> {
        CommonMut { name: &mut self.name, seed: &mut self.seed, data: &mut self.data }
    }

    fn check(&self) -> Result<(), SpecError> {
        self.shape.check().map_err(|error| error.at("shape"))?;
        let most = 1 << 16;
        if self.shape.vocabulary > most {
            let complaint =
                format!("must be at most {most}, as tokens have two bytes, found {}", self.shape.vocabulary);
            return broken("shape.vocabulary", complaint);
        }
        if let Some(path) = &self.init_from {
            SpecError::check_length("init_from", path, 1..=4096)?;
        }
        let (peak, least) = (self.learning_rate.get(), self.schedule.min_lr.get());
        if least > peak {
            let complaint = format!("is {least}, more than `learning_rate`, which is {peak}");
            return broken("schedule.min_lr", complaint);
        }
        Ok(())
    }

    fn most_processes(&self) -> (usize, &'static str) {
        let sequences = self.batch_size.get() * self.accumulation.get();
        (sequences, "one for each sequence of a step (`batch_size` times `accumulation`)")
    }

    fn samples_at_once(&self) -> u64 {
        self.batch_size.get() as u64
    }

    fn needs(&self, sequences: u64) -> Needs {
        let parameters = self.shape.parameters();
        let bytes = if self.precision == Gpt2Precision::Float64 { 8 } else { 4 };
        let activations = self.shape.activations(sequences, self.precision, self.attention);
        // Forward and backward pass, and the scores of attention.
        let [layers, width, context] = [self.shape.layers, self.shape.width, self.shape.context].map(f64::from);
        let matrices = parameters as f64 - context * width;
        let tokens = context * (sequences * self.accumulation.get() as u64) as f64;
        let step_operations = (6.0 * matrices + 12.0 * layers * width * context) * tokens;
        let course = self.common().course;
        Needs::of_model(&self.shape.tensors(), bytes, &self.optimizer, &course, activations, step_operations)
    }

    fn data_status(&self) -> DataStatusResult {
        let text::TextStatus { source, vocabulary, warnings, .. } =
            text::status(&self.data, self.wanted(), &TextSources::of_this_machine())?;
        vocabulary.map_or(Ok(()), |needed| self.check_vocabulary(needed))?;
        let is_fallback = source == TextSource::Synthetic && self.data == DataChoice::Automatic;
        let data = if is_fallback {
            "made-up text, as no real text was found. Choose a folder that holds some; `valleyscope data text` makes \
             tokens of it."
                .to_owned()
        } else {
            source.to_string()
        };
        Ok(DataStatus { data, is_fallback, warnings })
    }

    fn model(&self) -> String {
        format!("{}, numbers in {}", self.shape.words(), self.precision.of_parameters())
    }

    fn evaluation(&self) -> String {
        let Gpt2Spec { eval_batches, batch_size, precision, attention, .. } = self;
        format!("{} batches of {}, in {}, {attention:?}", eval_batches.get(), batch_size.get(), precision.name())
    }

    fn describe(&self, started: Started) -> Started {
        let measures = Measure::infos().into_iter().filter(|_| self.measure_every.get() > 0);
        let metrics = metrics().into_iter().chain(measures).collect();
        Started { tokens_per_step: Some(self.tokens_per_step()), metrics, ..started }
    }
}

/// Euclidean norm of all parameters.
pub const PARAM_NORM: MetricId = MetricId::of("param_norm");
/// Euclidean norm of the optimizer's momentum.
pub const MOMENTUM_NORM: MetricId = MetricId::of("momentum_norm");
/// The fraction of steps whose gradient was clipped.
pub const CLIP_RATE: MetricId = MetricId::of("clip_rate");
/// The factor of the loss in float16.
pub const LOSS_SCALE: MetricId = MetricId::of("loss_scale");
/// Skipped steps so far, whose gradients were not finite in float16.
pub const SKIPPED: MetricId = MetricId::of("skipped");

fn metrics() -> Vec<MetricInfo> {
    let on_log_axis = |info| MetricInfo { scale: MetricScale::Log, ..info };
    vec![
        MetricId::LOSS.info(),
        MetricId::LEARNING_RATE.info(),
        on_log_axis(MetricId::GRAD_NORM.info()),
        PARAM_NORM.described("Parameter norm", Unit::Plain),
        on_log_axis(MOMENTUM_NORM.described("Momentum norm", Unit::Plain)),
        CLIP_RATE.described("Steps clipped", Unit::Fraction),
        on_log_axis(LOSS_SCALE.described("Loss scale", Unit::Exact)),
        SKIPPED.described("Steps skipped", Unit::Exact),
        MetricId::TOKENS_PER_S.info(),
        MetricId::VAL_LOSS.info(),
        MetricId::TRAIN_LOSS.info(),
    ]
}

/// The schedule of the learning rate: a linear warm-up, then half a cosine.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Schedule {
    /// W, the steps of the warm-up.
    pub warmup: WarmupSteps,
    /// The learning rate after the last step.
    pub min_lr: FinalLearningRate,
}

impl Schedule {
    /// Returns the learning rate of update i = 0, 1, … of a run of N steps:
    ///
    /// ```text
    /// η(i) = peak · i/W                                               for i < W
    /// η(i) = min_lr + ½ (peak − min_lr) (1 + cos π (i − W)/(N − W))   for W ≤ i < N
    /// η(i) = min_lr                                                   from N on
    /// ```
    pub fn learning_rate(&self, peak: f64, update: u64, steps: u64) -> f64 {
        let (warmup, least) = (self.warmup.get() as u64, self.min_lr.get());
        if update < warmup {
            return peak * update as f64 / warmup as f64;
        }
        if update >= steps {
            return least;
        }
        let share = (update - warmup) as f64 / (steps - warmup) as f64;
        least + 0.5 * (peak - least) * (1.0 + (std::f64::consts::PI * share).cos())
    }
}
