//! The messages of event files, with the fields that hold scalars. Numbers of fields are those of TensorBoard's
//! `event.proto`, `summary.proto` and `tensor.proto`; fields that are not named here are skipped.

use std::collections::BTreeMap;

use prost::{Message, Oneof};
use serde_json::{Map, Number as JsonNumber, Value as Json};

/// Something that happened at a step.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Event {
    /// Seconds since 1970.
    #[prost(double, tag = "1")]
    pub wall_time: f64,
    #[prost(int64, tag = "2")]
    pub step: i64,
    #[prost(oneof = "What", tags = "3, 5, 7")]
    pub what: Option<What>,
}

#[derive(Clone, PartialEq, Oneof)]
pub(super) enum What {
    /// The first event of a file: `brain.Event:2`.
    #[prost(string, tag = "3")]
    FileVersion(String),
    #[prost(message, tag = "5")]
    Summary(Summary),
    #[prost(message, tag = "7")]
    SessionLog(SessionLog),
}

/// A start or an end of the writing program.
#[derive(Clone, PartialEq, Message)]
pub(super) struct SessionLog {
    #[prost(int32, tag = "1")]
    pub status: i32,
}

impl SessionLog {
    /// Makes the earlier points of all tags from the event's step on void.
    pub(super) const START: SessionLog = SessionLog { status: 1 };

    pub(super) fn is_start(&self) -> bool {
        *self == SessionLog::START
    }
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Summary {
    #[prost(message, repeated, tag = "1")]
    pub value: Vec<Value>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Value {
    #[prost(string, tag = "1")]
    pub tag: String,
    #[prost(message, optional, tag = "9")]
    pub metadata: Option<Metadata>,
    #[prost(oneof = "Number", tags = "2, 8")]
    pub number: Option<Number>,
}

#[derive(Clone, PartialEq, Oneof)]
pub(super) enum Number {
    /// A scalar as PyTorch's and older TensorFlow's writers store it.
    #[prost(float, tag = "2")]
    Simple(f32),
    /// A scalar as TensorFlow 2 stores it: a tensor of rank 0.
    #[prost(message, tag = "8")]
    Tensor(Box<Tensor>),
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Metadata {
    #[prost(message, optional, tag = "1")]
    pub plugin: Option<Plugin>,
    /// The title of the tag.
    #[prost(string, tag = "2")]
    pub display_name: String,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Plugin {
    /// `scalars` for scalars.
    #[prost(string, tag = "1")]
    pub name: String,
    #[prost(bytes = "vec", tag = "2")]
    pub content: Vec<u8>,
}

/// The content of the plugin `hparams`.
#[derive(Clone, PartialEq, Message)]
pub(super) struct HparamsContent {
    #[prost(message, optional, tag = "3")]
    pub start: Option<HparamsStart>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct HparamsStart {
    #[prost(btree_map = "string, message", tag = "1")]
    pub hparams: BTreeMap<String, HparamValue>,
}

/// `google.protobuf.Value`.
#[derive(Clone, PartialEq, Message)]
pub(super) struct HparamValue {
    #[prost(oneof = "Hparam", tags = "2, 3, 4")]
    pub kind: Option<Hparam>,
}

#[derive(Clone, PartialEq, Oneof)]
pub(super) enum Hparam {
    #[prost(double, tag = "2")]
    Number(f64),
    #[prost(string, tag = "3")]
    Text(String),
    #[prost(bool, tag = "4")]
    Bool(bool),
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Tensor {
    /// The type of numbers, as in `types.proto`.
    #[prost(int32, tag = "1")]
    pub dtype: i32,
    #[prost(message, optional, tag = "2")]
    pub shape: Option<Shape>,
    #[prost(bytes = "vec", tag = "4")]
    pub content: Vec<u8>,
    #[prost(float, repeated, tag = "5")]
    pub floats: Vec<f32>,
    #[prost(double, repeated, tag = "6")]
    pub doubles: Vec<f64>,
    #[prost(int32, repeated, tag = "7")]
    pub ints: Vec<i32>,
    #[prost(int64, repeated, tag = "10")]
    pub longs: Vec<i64>,
    #[prost(bool, repeated, tag = "11")]
    pub bools: Vec<bool>,
    /// The bits of float16 and bfloat16.
    #[prost(int32, repeated, tag = "13")]
    pub halves: Vec<i32>,
    #[prost(uint32, repeated, tag = "16")]
    pub unsigned: Vec<u32>,
    #[prost(uint64, repeated, tag = "17")]
    pub unsigned_longs: Vec<u64>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Shape {
    #[prost(message, repeated, tag = "2")]
    pub dimensions: Vec<Dimension>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Dimension {
    #[prost(int64, tag = "1")]
    pub size: i64,
}

impl Value {
    /// Returns the scalar, or the kind of what this is instead, such as `histograms`.
    pub(super) fn scalar(&self) -> Result<f64, &str> {
        let plugin = self.plugin().map_or("", |plugin| plugin.name.as_str());
        if !matches!(plugin, "" | "scalars") {
            return Err(plugin);
        }
        let scalar = match &self.number {
            Some(Number::Simple(number)) => Some(f64::from(*number)),
            Some(Number::Tensor(tensor)) => tensor.scalar(),
            None => None,
        };
        scalar.ok_or("other kinds")
    }

    /// Returns the settings of the run, if this is their description by `add_hparams` or the plugin's callback.
    pub(super) fn hparams(&self) -> Option<Map<String, Json>> {
        let plugin = self.plugin().filter(|plugin| plugin.name == HPARAMS)?;
        let start = HparamsContent::decode(plugin.content.as_slice()).ok()?.start?;
        let json = |value: HparamValue| {
            Some(match value.kind? {
                // Numbers of other programs are whole in the file only by their value.
                Hparam::Number(number) if number.fract() == 0.0 && number.abs() < 1e15 => Json::from(number as i64),
                Hparam::Number(number) => {
                    JsonNumber::from_f64(number).map_or_else(|| number.to_string().into(), Json::Number)
                }
                Hparam::Text(text) => Json::String(text),
                Hparam::Bool(value) => Json::Bool(value),
            })
        };
        Some(start.hparams.into_iter().filter_map(|(name, value)| Some((name, json(value)?))).collect())
    }

    fn plugin(&self) -> Option<&Plugin> {
        self.metadata.as_ref()?.plugin.as_ref()
    }
}

/// The plugin whose values describe the settings of runs.
pub(super) const HPARAMS: &str = "hparams";

impl Tensor {
    fn scalar(&self) -> Option<f64> {
        let sizes = self.shape.iter().flat_map(|shape| &shape.dimensions).map(|dimension| dimension.size);
        if sizes.into_iter().any(|size| size != 1) {
            return None;
        }
        /// Returns the only number, or the first bytes of the content.
        fn one<T: Copy, const N: usize>(numbers: &[T], content: &[u8], of: fn([u8; N]) -> T) -> Option<T> {
            match numbers {
                [number] => Some(*number),
                [] => content.try_into().ok().map(of),
                _ => None,
            }
        }
        let Tensor { content, floats, doubles, ints, longs, bools, halves, unsigned, unsigned_longs, .. } = self;
        let bits = || Some(one(halves, content, |bytes| u16::from_le_bytes(bytes).into())? as u16);
        Some(match self.dtype {
            1 => one(floats, content, f32::from_le_bytes)?.into(),
            2 => one(doubles, content, f64::from_le_bytes)?,
            3 => one(ints, content, i32::from_le_bytes)?.into(),
            4 => one(ints, content, |bytes: [u8; 1]| bytes[0].into())?.into(),
            5 => one(ints, content, |bytes| i16::from_le_bytes(bytes).into())?.into(),
            6 => one(ints, content, |bytes| i8::from_le_bytes(bytes).into())?.into(),
            9 => one(longs, content, i64::from_le_bytes)? as f64,
            10 => u8::from(one(bools, content, |bytes: [u8; 1]| bytes[0] != 0)?).into(),
            14 => half::bf16::from_bits(bits()?).into(),
            17 => one(ints, content, |bytes| u16::from_le_bytes(bytes).into())?.into(),
            19 => half::f16::from_bits(bits()?).into(),
            22 => one(unsigned, content, u32::from_le_bytes)?.into(),
            23 => one(unsigned_longs, content, u64::from_le_bytes)? as f64,
            _ => return None,
        })
    }
}
