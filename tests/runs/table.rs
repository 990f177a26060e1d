//! The points of a run as CSV.

use valleyscope::run::{Eval, Event, History, Pixel, Record, ScanAxes, Started, Timestamp, Train, write_csv};

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

#[test]
fn a_scan_has_a_row_for_each_model() {
    let axes = ScanAxes {
        optimizers: vec!["Adam".into()],
        batch_sizes: vec![8],
        learning_rates: vec![0.001, 0.1],
        replicates: 2,
        steps: 400,
    };
    let pixel = Pixel {
        optimizer: "Adam".into(),
        batch_size: 8,
        train_loss: vec![vec![1.0, 2.0], vec![3.0, f64::NAN]],
        test_loss: vec![vec![5.0, 6.0], vec![7.0, 8.0]],
        test_accuracy: vec![vec![0.1, 0.2], vec![0.3, 0.4]],
        ..Pixel::default()
    };
    let started = Started { scan: Some(axes), ..Started::default() };
    let history = history(vec![(0, Event::Started(started)), (1, Event::Pixel(pixel))]);
    let expected = "\
optimizer,batch_size,learning_rate,replicate,train_loss,test_loss,test_accuracy
Adam,8,0.001,0,1,5,0.1
Adam,8,0.001,1,2,6,0.2
Adam,8,0.1,0,3,7,0.3
Adam,8,0.1,1,NaN,8,0.4
";
    assert_eq!(csv(&history), (4, expected.to_owned()));
}
