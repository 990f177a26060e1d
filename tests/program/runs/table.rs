//! The points of a run as CSV.

use valleyscope::export::write_csv;
use valleyscope_runs::{Event, EventRecord, MetricId, MetricValues, RunHistory, Started, Timestamp};

fn history(events: Vec<(u64, Event)>) -> RunHistory {
    let mut history = RunHistory::default();
    for (index, (step, event)) in events.into_iter().enumerate() {
        let time = Timestamp::from_millisecond(1_772_366_400_000 + 250 * index as i64).unwrap();
        history.apply(EventRecord { step, time, wall_s: 0.5 * index as f64, event });
    }
    history
}

fn csv(history: &RunHistory) -> (u64, String) {
    let mut bytes = Vec::new();
    let rows = write_csv(history, &mut bytes).unwrap();
    (rows, String::from_utf8(bytes).unwrap())
}

#[test]
fn curves_share_a_table() {
    let train = |loss| {
        Event::Train(MetricValues::from([
            (MetricId::LOSS, loss),
            (MetricId::LEARNING_RATE, 0.1),
            (MetricId::GRAD_NORM, 2.0),
            (MetricId::TOKENS_PER_S, 5.0),
        ]))
    };
    let eval = Event::Eval(MetricValues::from([(MetricId::TEST_LOSS, 0.75), (MetricId::TEST_ACCURACY, 0.5)]));
    let history = history(vec![
        (0, Event::Started(Started::default())),
        (1, train(f64::NAN)),
        (2, train(1.5)),
        (2, eval),
        (3, train(f64::INFINITY)),
    ]);
    let expected = "\
step,time,wall_s,loss,lr,grad_norm,tokens_per_s,test_loss,test_accuracy
1,2026-03-01T12:00:00.25Z,0.5,NaN,0.1,2,5,,
2,2026-03-01T12:00:00.5Z,1,1.5,0.1,2,5,,
2,2026-03-01T12:00:00.75Z,1.5,,,,,0.75,0.5
3,2026-03-01T12:00:01Z,2,inf,0.1,2,5,,
";
    assert_eq!(csv(&history), (4, expected.to_owned()));
}

#[test]
fn any_metric_has_a_column_even_if_some_events_lack_it() {
    let [loss, scale, ratio] = ["loss", "loss_scale", "update_ratio"].map(|name| MetricId::named(name).unwrap());
    let train = |values: Vec<(MetricId, f64)>| Event::Train(values.into_iter().collect());
    let history = history(vec![
        (1, train(vec![(loss, 3.0), (scale, 8.0)])),
        (2, train(vec![(loss, 2.0), (ratio, 0.5), (scale, 4.0)])),
        (3, train(vec![(loss, 1.0)])),
    ]);
    let expected = "\
step,time,wall_s,loss,loss_scale,update_ratio
1,2026-03-01T12:00:00Z,0,3,8,
2,2026-03-01T12:00:00.25Z,0.5,2,4,0.5
3,2026-03-01T12:00:00.5Z,1,1,,
";
    assert_eq!(csv(&history), (3, expected.to_owned()));
    assert_eq!(history.curve(scale).step, [1, 2]);
}
