//! The points of a run as CSV.

use valleyscope::run::{Eval, Event, History, Record, Started, Timestamp, Train, write_csv};

fn history(events: Vec<(u64, Event)>) -> History {
    let mut history = History::default();
    for (index, (step, event)) in events.into_iter().enumerate() {
        let time = Timestamp::from_millisecond(1_772_366_400_000 + 250 * index as i64).unwrap();
        history.apply(Record { step, time, wall_s: 0.5 * index as f64, event });
    }
    history
}

fn csv(history: &History) -> (u64, String) {
    let mut bytes = Vec::new();
    let rows = write_csv(history, &mut bytes).unwrap();
    (rows, String::from_utf8(bytes).unwrap())
}

#[test]
fn curves_share_a_table() {
    let train =
        |loss| Event::Train(Train { loss, lr: 0.1, grad_norm: 2.0, samples_per_s: None, tokens_per_s: Some(5.0) });
    let eval = Event::Eval(Eval { test_loss: Some(0.75), test_accuracy: Some(0.5), ..Eval::default() });
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
