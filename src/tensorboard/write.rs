//! Writing a run's points as an event file.

use std::io::{self, Write};

use prost::Message;
use valleyscope_runs::{MetricInfo, RunHistory, Timestamp};

use super::message::{Event, Metadata, Number, Plugin, SessionLog, Summary, Value, What};
use super::record;

/// Writes all points of a run as the scalars of an event file, and returns their number.
///
/// A tag is a metric's name in the events. A number is a float32, as TensorBoard's writers store it, so the seventh digit
/// is lost. The points of a metric follow each other, and equal runs are equal bytes.
pub fn write_history(history: &RunHistory, mut out: impl Write) -> io::Result<u64> {
    out.write_all(&first_record(history.began().unwrap_or(Timestamp::UNIX_EPOCH)))?;
    let mut written = 0;
    for info in history.metrics() {
        let Some(metric) = info.metric() else { continue };
        let curve = history.curve(metric);
        let points = curve.step.iter().zip(curve.time_s).zip(curve.value);
        for (index, ((&step, &time), &number)) in points.enumerate() {
            out.write_all(&scalar_record(&info, (step, time), number, index == 0))?;
            written += 1;
        }
    }
    out.flush()?;
    Ok(written)
}

/// Returns the first record of a file.
pub(super) fn first_record(began: Timestamp) -> Vec<u8> {
    let version = What::FileVersion("brain.Event:2".to_owned());
    framed(&Event { wall_time: began.as_duration().as_secs_f64(), step: 0, what: Some(version) })
}

/// Returns a record of a number at a step, with its time in seconds since 1970. TensorBoard takes the description of a
/// tag from its first point.
pub(super) fn scalar_record(info: &MetricInfo, (step, time): (u64, f64), number: f64, is_described: bool) -> Vec<u8> {
    let plugin = Some(Plugin { name: "scalars".to_owned(), content: Vec::new() });
    let metadata = is_described.then(|| Metadata { plugin, display_name: info.title.clone() });
    let value = Value { tag: info.name.clone(), metadata, number: Some(Number::Simple(number as f32)) };
    framed(&Event { wall_time: time, step: signed(step), what: Some(What::Summary(Summary { value: vec![value] })) })
}

/// Returns a record that makes earlier points from a step on void.
pub(super) fn restart_record(step: u64, time: f64) -> Vec<u8> {
    framed(&Event { wall_time: time, step: signed(step), what: Some(What::SessionLog(SessionLog::START)) })
}

fn signed(step: u64) -> i64 {
    i64::try_from(step).unwrap_or(i64::MAX)
}

fn framed(event: &Event) -> Vec<u8> {
    let mut bytes = Vec::new();
    record::write(&mut bytes, &event.encode_to_vec()).expect("a vector takes any bytes");
    bytes
}
