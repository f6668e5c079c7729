//! Reads a manager's publications and events, as the daemon's API does.

use std::sync::Arc;

use weft_fabric::{Snapshot, Tick};
use weft_manager::io::Event;

use crate::oracle::{Breach, published};

/// Broken rules that are kept between two looks.
const BREACHES_MAX: usize = 8;

/// Checks each snapshot when it is published, and the events about it once all of them have arrived:
/// they follow it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Reader {
    /// The snapshot up to which events have been judged.
    judged: Arc<Snapshot>,
    last: Arc<Snapshot>,
    /// Events since then, and the beginning of the current sweep.
    since: Vec<(Tick, Event)>,
    breaches: Vec<Breach>,
}

impl Reader {
    /// Another manager is read from now on.
    pub(crate) fn begin(&mut self) {
        self.judged = Arc::default();
        self.last = Arc::default();
        self.since.clear();
    }

    pub(crate) fn told(&mut self, now: Tick, event: &Event) {
        self.since.push((now, event.clone()));
    }

    pub(crate) fn published(&mut self, snapshot: &Arc<Snapshot>) {
        self.judge_events();
        let broken = published::check_snapshot(&self.last, snapshot);
        self.note(broken);
        self.last = Arc::clone(snapshot);
    }

    /// The events of the last snapshot have all come.
    fn judge_events(&mut self) {
        if !Arc::ptr_eq(&self.judged, &self.last) {
            let untold = published::check_events(&self.judged, &self.last, &self.since);
            self.note(untold);
        }
        self.note(published::check_causes(&self.since));
        // A sweep that is still running is also the cause of later events.
        let starts = |(_, event): &(Tick, Event)| matches!(event, Event::SweepStarted { .. });
        let ends = |(_, event): &(Tick, Event)| matches!(event, Event::SweepEnded(_));
        let under_way = self.since.iter().rposition(starts);
        let over = self.since.iter().rposition(ends);
        let kept = under_way.filter(|at| over.is_none_or(|over| over < *at));
        self.since = kept.map(|at| self.since[at].clone()).into_iter().collect();
        self.judged = Arc::clone(&self.last);
    }

    fn note(&mut self, broken: Vec<Breach>) {
        let room = BREACHES_MAX.saturating_sub(self.breaches.len());
        self.breaches.extend(broken.into_iter().take(room));
    }

    /// Breaches since the last call.
    pub(crate) fn take(&mut self) -> Vec<Breach> {
        self.judge_events();
        std::mem::take(&mut self.breaches)
    }
}
