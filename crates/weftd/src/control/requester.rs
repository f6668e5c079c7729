//! The requester that waits for the answer to an order, and its deadline.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use tokio::sync::oneshot;
use tokio::time::{Instant, timeout_at};

use super::Refusal;

const WAITS: u8 = 0;
const BEGUN: u8 = 1;
const GIVEN_UP: u8 = 2;

/// The actor's end of an order.
#[derive(Debug)]
pub(super) struct Requester<T> {
    reply: oneshot::Sender<Result<T, Refusal>>,
    state: Arc<AtomicU8>,
}

/// The client's end.
#[derive(Debug)]
pub(super) struct Answer<T> {
    reply: oneshot::Receiver<Result<T, Refusal>>,
    state: Arc<AtomicU8>,
    begin_by: Instant,
}

/// Both ends of an order that has to begin by then.
pub(super) fn pair<T>(begin_by: Instant) -> (Requester<T>, Answer<T>) {
    let (sender, reply) = oneshot::channel();
    let state = Arc::new(AtomicU8::new(WAITS));
    let requester = Requester {
        reply: sender,
        state: Arc::clone(&state),
    };
    let answer = Answer {
        reply,
        state,
        begin_by,
    };
    (requester, answer)
}

fn settle(state: &AtomicU8, to: u8) -> bool {
    let settled = state.compare_exchange(WAITS, to, Ordering::AcqRel, Ordering::Acquire);
    settled.is_ok()
}

impl<T> Requester<T> {
    /// Begins the order; false when its client is gone or has given up, and it must not begin.
    pub(super) fn begin(&self) -> bool {
        !self.reply.is_closed() && settle(&self.state, BEGUN)
    }

    /// Sends the answer; false if the requester has gone.
    pub(super) fn answer(self, answer: Result<T, Refusal>) -> bool {
        self.reply.send(answer).is_ok()
    }
}

impl<T> Answer<T> {
    /// Waits until the order has begun, at most until its deadline, and then for its end.
    pub(super) async fn wait(mut self) -> Result<T, Refusal> {
        let answered = match timeout_at(self.begin_by, &mut self.reply).await {
            Ok(answered) => answered,
            Err(_) if settle(&self.state, GIVEN_UP) => return Err(Refusal::TooLate),
            Err(_) => self.reply.await,
        };
        answered.unwrap_or(Err(Refusal::Stopping))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn soon() -> Instant {
        Instant::now() + Duration::from_millis(50)
    }

    #[tokio::test]
    async fn what_nobody_waits_for_does_not_begin() {
        let (requester, answer) = pair::<()>(soon());
        drop(answer);
        assert!(!requester.begin());
    }

    #[tokio::test]
    async fn what_cannot_begin_in_time_fails_and_does_not_begin() {
        let (requester, answer) = pair::<()>(soon());
        assert!(matches!(answer.wait().await, Err(Refusal::TooLate)));
        assert!(!requester.begin());
    }

    #[tokio::test]
    async fn what_has_begun_is_waited_for_beyond_its_deadline() {
        let (requester, answer) = pair(soon());
        assert!(requester.begin());
        let answering = async {
            tokio::time::sleep(Duration::from_millis(150)).await;
            requester.answer(Ok(7))
        };
        let (heard, answered) = tokio::join!(answering, answer.wait());
        assert!(heard);
        assert_eq!(answered.unwrap(), 7);
    }

    #[tokio::test]
    async fn an_actor_that_ends_is_told() {
        let (requester, answer) = pair::<()>(soon());
        drop(requester);
        assert!(matches!(answer.wait().await, Err(Refusal::Stopping)));
    }
}
