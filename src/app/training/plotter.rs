//! The thread that reads whole runs and makes their curves.
//!
//! Curves are *tracks*: columns of numbers with the extremes of their blocks, so that a plot of a million points draws a
//! few for each column of pixels. Smoothing is applied before, as smoothing thinned data would give another curve.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel, sync_channel};
use std::time::Duration;

use valleyscope_engine::terminal_escape::visible;
use valleyscope_runs::{MetricId, MetricInfo, MetricSource, RunFolder, RunHistory, RunMark, RunReader, SettingChange};

use super::track::{OfStep, Track};
use crate::app::shell::jobs::Wake;
use crate::runs::MetricAliases;

/// The interval between checks of the files.
const POLL_INTERVAL: Duration = Duration::from_millis(300);

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct CurveRequest {
    /// The groups of runs, each shown as one curve: a run's or the mean of several.
    pub groups: Vec<Vec<RunFolder>>,
    /// The weight of smoothing, from 0, none, to below 1.
    pub smoothing: f64,
    /// The names under which metrics are shown.
    pub aliases: Arc<MetricAliases>,
}

#[derive(Clone, Debug, Default)]
pub struct RunCurves {
    pub runs: Vec<RunFolder>,
    /// The metrics that the runs log.
    pub metrics: Vec<MetricInfo>,
    pub tracks: BTreeMap<MetricId, Arc<Track>>,
    /// The marks on the curves, in the order of steps.
    pub marks: Vec<RunMark>,
}

impl RunCurves {
    /// Makes the curves of a history that belongs to no folder.
    pub(super) fn of_history(history: &RunHistory) -> RunCurves {
        let mut curves = RunCurves::default();
        curves.extend(history, 0.0, &MetricAliases::default());
        curves
    }

    /// Adds a history's new points to the tracks of its metrics.
    fn extend(&mut self, history: &RunHistory, smoothing: f64, aliases: &MetricAliases) {
        let started = history.started();
        let of_step = OfStep {
            samples: started.and_then(|started| started.batch_size).unwrap_or(1) as f64,
            tokens: started.and_then(|started| started.tokens_per_step).unwrap_or(0) as f64,
        };
        let batches = batches(history);
        let fork = history.forked().map(|forked| forked.from_step);
        self.metrics.clear();
        for (logged, info) in aliases.apply(history.metrics()) {
            let Some(metric) = info.metric() else { continue };
            let curve = history.curve(logged);
            // Evaluations are few, and means over many samples already.
            let smoothing = if info.source == MetricSource::Evaluation { 0.0 } else { smoothing };
            if !curve.is_empty() {
                let new = || Arc::new(Track::new(of_step, smoothing).forked_at(fork));
                let track = self.tracks.entry(metric).or_insert_with(new);
                if track.len() < curve.len() {
                    let track = Arc::make_mut(track);
                    track.set_batches(&batches);
                    track.extend(&curve);
                }
            }
            self.metrics.push(info);
        }
    }
}

pub(super) struct Plotter {
    requests: Sender<CurveRequest>,
    drawn: Receiver<(CurveRequest, Vec<RunCurves>)>,
}

impl Plotter {
    pub(super) fn start(wake: Wake) -> Plotter {
        let (requests, inbox) = channel();
        let (outbox, drawn) = sync_channel(1);
        std::thread::spawn(move || {
            PlotterThread { inbox, outbox, wake, members: Vec::new(), request: CurveRequest::default() }.run()
        });
        Plotter { requests, drawn }
    }

    pub(super) fn ask(&self, request: CurveRequest) {
        // The thread ends after this sender.
        let _ = self.requests.send(request);
    }

    pub(super) fn take(&self) -> Option<(CurveRequest, Vec<RunCurves>)> {
        self.drawn.try_iter().last()
    }
}

struct PlotterThread {
    inbox: Receiver<CurveRequest>,
    outbox: SyncSender<(CurveRequest, Vec<RunCurves>)>,
    wake: Wake,
    members: Vec<PlottedRun>,
    request: CurveRequest,
}

impl PlotterThread {
    fn run(mut self) {
        loop {
            let asked = match self.inbox.recv_timeout(POLL_INTERVAL) {
                Ok(request) => {
                    self.request = self.inbox.try_iter().last().unwrap_or(request);
                    self.open_requested();
                    true
                }
                Err(RecvTimeoutError::Timeout) => false,
                Err(RecvTimeoutError::Disconnected) => return,
            };
            let request = &self.request;
            let is_new = self.members.iter_mut().fold(false, |is_new, member| member.poll(request) | is_new);
            if is_new || asked {
                let drawn = self.request.groups.iter().map(|group| self.drawn(group)).collect();
                if self.outbox.send((self.request.clone(), drawn)).is_err() {
                    return;
                }
                if asked {
                    self.wake.now();
                } else {
                    self.wake.soon();
                }
            }
        }
    }

    fn open_requested(&mut self) {
        let wanted: Vec<&RunFolder> = self.request.groups.iter().flatten().collect();
        self.members.retain(|member| wanted.contains(&member.reader.run()));
        for run in wanted {
            if !self.members.iter().any(|member| member.reader.run() == run) {
                let (reader, curves) = (RunReader::new(run.clone()), RunCurves::default());
                self.members.push(PlottedRun { reader, curves, made_for: None });
            }
        }
    }

    fn drawn(&self, group: &[RunFolder]) -> RunCurves {
        let members = group.iter().filter_map(|run| self.members.iter().find(|member| member.reader.run() == run));
        let members: Vec<&RunCurves> = members.map(|member| &member.curves).collect();
        let mut tracks = BTreeMap::new();
        let metrics = union(members.iter().map(|member| &member.metrics[..]));
        for metric in metrics.iter().filter_map(MetricInfo::metric) {
            let of: Vec<&Arc<Track>> = members.iter().filter_map(|member| member.tracks.get(&metric)).collect();
            let track = match of[..] {
                [] => continue,
                [only] => Arc::clone(only),
                _ => Arc::new(Track::mean_of(&of.iter().map(|track| &***track).collect::<Vec<_>>())),
            };
            tracks.insert(metric, track);
        }
        let mut marks: Vec<RunMark> = members.iter().flat_map(|member| member.marks.iter().cloned()).collect();
        marks.sort_by_key(|mark| mark.step);
        marks.dedup();
        RunCurves { runs: group.to_vec(), metrics, tracks, marks }
    }
}

/// Lists all metrics of several runs, each once, in the order of the first run that has them.
pub(super) fn union<'m>(of: impl Iterator<Item = &'m [MetricInfo]>) -> Vec<MetricInfo> {
    let mut union: Vec<MetricInfo> = Vec::new();
    for info in of.flatten() {
        if !union.iter().any(|known| known.name == info.name) {
            union.push(info.clone());
        }
    }
    union.sort_by_key(|info| info.source == MetricSource::Evaluation);
    union
}

/// Lists the steps at which commands have changed the batch, and the factors of the first batch size after them.
fn batches(history: &RunHistory) -> Vec<(u64, f64)> {
    let mut factor = 1.0;
    let changes = history.changes().iter().filter(|(_, change)| change.is_of_batch() && change.before > 0.0);
    let batches = changes.map(|(step, SettingChange { before, now, .. })| {
        factor *= now / before;
        (*step, factor)
    });
    batches.collect()
}

struct PlottedRun {
    reader: RunReader,
    curves: RunCurves,
    /// The history's generation, the smoothing and the names of metrics for which the tracks were made.
    made_for: Option<(u64, f64, Arc<MetricAliases>)>,
}

impl PlottedRun {
    /// Reads new events; returns whether there were any.
    fn poll(&mut self, CurveRequest { smoothing, aliases, .. }: &CurveRequest) -> bool {
        let smoothing = *smoothing;
        // Events that were read before an error count; the list of runs shows the error.
        let is_new = self.reader.poll().unwrap_or(false);
        let history = self.reader.history();
        let made_for = Some((history.generation(), smoothing, Arc::clone(aliases)));
        let anew = self.made_for != made_for;
        if anew {
            self.curves.tracks.clear();
            self.made_for = made_for;
        }
        if !is_new && !anew {
            return false;
        }
        self.curves.marks = history.marks();
        for mark in &mut self.curves.marks {
            mark.label = visible(&mark.label).into_owned();
        }
        self.curves.extend(history, smoothing, aliases);
        true
    }
}
