//! The thread that computes the manager's plans, one at a time, while the manager serves others.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{Notify, mpsc};
use weft_manager::{PlanInput, Planned};

/// The next plan to compute. A new request replaces one that has not started.
#[derive(Debug, Default)]
struct Wanted {
    input: Mutex<Option<Arc<PlanInput>>>,
    changed: Notify,
}

impl Wanted {
    fn swap(&self, input: Option<Arc<PlanInput>>) -> Option<Arc<PlanInput>> {
        let mut place = self.input.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::replace(&mut place, input)
    }
}

/// The manager's end.
#[derive(Debug)]
pub(crate) struct Plans {
    wanted: Arc<Wanted>,
    made: mpsc::Receiver<Box<Planned>>,
}

impl Plans {
    /// Has a plan computed.
    pub(crate) fn begin(&self, input: Arc<PlanInput>) {
        self.wanted.swap(Some(input));
        self.wanted.changed.notify_one();
    }

    /// The next plan that is ready; none when the planner has ended. May be dropped and called again.
    pub(crate) async fn next(&mut self) -> Option<Box<Planned>> {
        self.made.recv().await
    }
}

/// The planner's end.
#[derive(Debug)]
pub(crate) struct Planner {
    wanted: Arc<Wanted>,
    made: mpsc::Sender<Box<Planned>>,
}

/// Both ends.
pub(crate) fn planner() -> (Plans, Planner) {
    let wanted = Arc::<Wanted>::default();
    let (made, received) = mpsc::channel(1);
    let plans = Plans {
        wanted: wanted.clone(),
        made: received,
    };
    (plans, Planner { wanted, made })
}

impl Planner {
    /// Computes plans until the receiver has gone.
    pub(crate) async fn run(self) {
        loop {
            tokio::select! {
                () = self.made.closed() => return,
                () = self.wanted.changed.notified() => {}
            }
            if let Some(input) = self.wanted.swap(None)
                && self.made.send(Box::new(input.make())).await.is_err()
            {
                return;
            }
        }
    }
}
