use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// The version of the format of presets. There is only one so far; a file of another version is refused.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FormatVersion;

impl FormatVersion {
    pub(crate) const CURRENT: u32 = 1;
}

impl Serialize for FormatVersion {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u32(Self::CURRENT)
    }
}

impl<'de> Deserialize<'de> for FormatVersion {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match u32::deserialize(deserializer)? {
            Self::CURRENT => Ok(FormatVersion),
            other => Err(de::Error::custom(format_args!("expected version {}, found {other}", Self::CURRENT))),
        }
    }
}
