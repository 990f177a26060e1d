//! The plots' curves as a CSV table.

use valleyscope_engine::simulation::Bucket;
use valleyscope_experiments::view::DiagnosticMetric;

use crate::export::{CsvCell, CsvWriter};

/// An ensemble to write: its name and its buckets.
pub(super) type Ensemble<'a> = (&'a str, &'a [Bucket]);

const HEADER: [&str; 11] = [
    "first_step",
    "last_step",
    "optimizer",
    "metric",
    "mean",
    "mean_low",
    "mean_high",
    "std",
    "min",
    "max",
    "diverged",
];

/// Formats a table in long form, with a row for each bucket of each optimizer and metric. A bucket covers the steps
/// from `first_step` to `last_step`; numbers read back exactly, with `NaN`, `inf` and `-inf` for values that are not
/// finite.
pub fn csv_of(ensembles: &[Ensemble<'_>], metrics: &[DiagnosticMetric]) -> String {
    const IN_MEMORY: &str = "writing to memory cannot fail";
    let mut csv = CsvWriter::new(Vec::new(), &HEADER).expect(IN_MEMORY);
    for metric in metrics {
        for (name, buckets) in ensembles {
            for bucket in *buckets {
                let value = metric.value(bucket);
                csv.row(&[
                    CsvCell::Whole(bucket.first_step),
                    CsvCell::Whole(bucket.first_step + bucket.steps.saturating_sub(1)),
                    CsvCell::Text(name),
                    CsvCell::Text(metric.key()),
                    CsvCell::Number(value.mean),
                    CsvCell::Number(value.mean_low),
                    CsvCell::Number(value.mean_high),
                    CsvCell::Number(value.std),
                    CsvCell::Number(value.min),
                    CsvCell::Number(value.max),
                    CsvCell::Whole(u64::from(bucket.diverged)),
                ])
                .expect(IN_MEMORY);
            }
        }
    }
    String::from_utf8(csv.into_inner()).expect("names and numbers are text")
}
