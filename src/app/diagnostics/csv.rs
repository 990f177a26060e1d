//! What the plots show, as a table.

use std::fmt::Write as _;

use super::metric::Metric;
use crate::simulation::Bucket;

/// The ensembles to write: name, temperature Θ and buckets of each.
pub type Ensemble<'a> = (&'a str, f64, &'a [Bucket]);

/// A table in long form, a row for each bucket of each optimizer and metric. A bucket covers the steps
/// from `first_step` to `last_step`; numbers are written so that they read back exactly, with `NaN`,
/// `inf` and `-inf` for what is not finite.
pub fn csv_of(ensembles: &[Ensemble<'_>], metrics: &[Metric]) -> String {
    let mut text = String::from("first_step,last_step,optimizer,metric,mean,mean_low,mean_high,std,min,max,diverged\n");
    for metric in metrics {
        for (name, temperature, buckets) in ensembles {
            for bucket in *buckets {
                let value = metric.value(bucket, *temperature);
                let last_step = bucket.first_step + bucket.steps.saturating_sub(1);
                // Writing to a string cannot fail.
                let _ = writeln!(
                    text,
                    "{},{},{},{},{},{},{},{},{},{},{}",
                    bucket.first_step,
                    last_step,
                    quoted(name),
                    metric.key(),
                    value.mean,
                    value.mean_low,
                    value.mean_high,
                    value.std,
                    value.min,
                    value.max,
                    bucket.diverged
                );
            }
        }
    }
    text
}

/// A field, in quotation marks where it needs them.
fn quoted(field: &str) -> String {
    if field.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", field.replace('"', "\"\""))
    } else {
        field.to_owned()
    }
}
