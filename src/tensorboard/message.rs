//! The messages of event files, with the fields that hold scalars. Numbers of fields are those of TensorBoard's
//! `event.proto`, `summary.proto` and `tensor.proto`; fields that are not named here are skipped.

use prost::{Message, Oneof};

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
    Tensor(Tensor),
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
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Tensor {
    /// 1 for float, 2 for double.
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
    /// Returns the scalar, unless this is a histogram, a picture, or something else.
    pub(super) fn scalar(&self) -> Option<f64> {
        let plugin = self.metadata.as_ref().and_then(|metadata| metadata.plugin.as_ref());
        if plugin.is_some_and(|plugin| !matches!(plugin.name.as_str(), "" | "scalars")) {
            return None;
        }
        match self.number.as_ref()? {
            Number::Simple(number) => Some(f64::from(*number)),
            Number::Tensor(tensor) => tensor.scalar(),
        }
    }
}

impl Tensor {
    fn scalar(&self) -> Option<f64> {
        let sizes = self.shape.iter().flat_map(|shape| &shape.dimensions).map(|dimension| dimension.size);
        if sizes.into_iter().any(|size| size != 1) {
            return None;
        }
        match self.dtype {
            1 => match self.floats.as_slice() {
                [number] => Some(f64::from(*number)),
                _ => Some(f64::from(f32::from_le_bytes(self.content.as_slice().try_into().ok()?))),
            },
            2 => match self.doubles.as_slice() {
                [number] => Some(*number),
                _ => Some(f64::from_le_bytes(self.content.as_slice().try_into().ok()?)),
            },
            _ => None,
        }
    }
}
