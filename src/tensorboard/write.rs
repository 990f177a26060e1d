//! Writing a run's points as an event file.

use std::io::{self, Write};

use prost::Message;
use valleyscope_runs::{MetricInfo, RunHistory};

use super::message::{Event, Metadata, Number, Plugin, Summary, Value, What};
use super::record;

/// Writes all points of a run as the scalars of an event file, and returns their number.
///
/// A tag is a metric's name in the events. A number is a float32, as TensorBoard's writers store it, so the seventh digit
/// is lost. The points of a metric follow each other, and equal runs are equal bytes.
pub fn write_history(history: &RunHistory, mut out: impl Write) -> io::Result<u64> {
    let began = history.began().map_or(0.0, |began| began.as_duration().as_secs_f64());
    let version = What::FileVersion("brain.Event:2".to_owned());
    record::write(&mut out, &Event { wall_time: began, step: 0, what: Some(version) }.encode_to_vec())?;
    let mut written = 0;
    for info in history.metrics() {
        let Some(metric) = info.metric() else { continue };
        let curve = history.curve(metric);
        let points = curve.step.iter().zip(curve.time_s).zip(curve.value);
        for (index, ((&step, &wall_time), &number)) in points.enumerate() {
            // TensorBoard takes the description of a tag from its first point.
            let value = value(&info, number, index == 0);
            let step = i64::try_from(step).unwrap_or(i64::MAX);
            let event = Event { wall_time, step, what: Some(What::Summary(Summary { value: vec![value] })) };
            record::write(&mut out, &event.encode_to_vec())?;
            written += 1;
        }
    }
    out.flush()?;
    Ok(written)
}

fn value(info: &MetricInfo, number: f64, is_described: bool) -> Value {
    let plugin = Some(Plugin { name: "scalars".to_owned() });
    let metadata = is_described.then(|| Metadata { plugin, display_name: info.title.clone() });
    Value { tag: info.name.clone(), metadata, number: Some(Number::Simple(number as f32)) }
}
