//! Noise as it is written to presets.

use serde::ser::SerializeTupleVariant;
use serde::{Serialize, Serializer};

use super::{NoiseKind, NoiseSpec};

impl Serialize for NoiseSpec {
    /// Writes multiplicative noise as its σ, and other noise as a variant of an enum with its values.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let kind = self.kind();
        if kind == NoiseKind::Multiplicative {
            return serializer.serialize_f64(self.sigma());
        }
        let parameters = kind.info().parameters.len();
        let mut variant = serializer.serialize_tuple_variant("Noise", kind as u32, kind.key(), parameters)?;
        for (_, value) in self.parameters() {
            variant.serialize_field(&value)?;
        }
        variant.end()
    }
}
