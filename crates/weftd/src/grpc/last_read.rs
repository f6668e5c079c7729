//! Answers that take long to make and that several clients ask for, such as the pages that look at one moment.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Mutex;
use tonic::Status;

/// How long an answer is kept.
const KEPT: Duration = Duration::from_secs(60);

/// The last answers, each with its question, `MOST` of them. One is made at a time: whoever asks meanwhile waits, and may ask
/// the same.
#[derive(Debug)]
pub(super) struct LastRead<Q, A, const MOST: usize>(Arc<Mutex<Answers<Q, A>>>);

/// The newest first.
type Answers<Q, A> = VecDeque<(Q, Arc<A>)>;

impl<Q, A, const MOST: usize> Clone for LastRead<Q, A, MOST> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<Q, A, const MOST: usize> Default for LastRead<Q, A, MOST> {
    fn default() -> Self {
        Self(Arc::default())
    }
}

impl<Q, A, const MOST: usize> LastRead<Q, A, MOST>
where
    Q: PartialEq + Copy + Send + 'static,
    A: Send + Sync + 'static,
{
    /// The answer to a question, by `read` unless it is kept.
    pub(super) async fn answer(
        &self,
        question: Q,
        read: impl Future<Output = Result<A, Status>>,
    ) -> Result<Arc<A>, Status> {
        let mut last = self.0.lock().await;
        if let Some((_, answer)) = last.iter().find(|(of, _)| *of == question) {
            return Ok(Arc::clone(answer));
        }
        let answer = Arc::new(read.await?);
        last.truncate(MOST - 1);
        last.push_front((question, Arc::clone(&answer)));
        self.forget_later(&answer);
        Ok(answer)
    }

    /// Forgets an answer after a while.
    fn forget_later(&self, answer: &Arc<A>) {
        let (last, kept) = (Arc::clone(&self.0), Arc::downgrade(answer));
        tokio::spawn(async move {
            tokio::time::sleep(KEPT).await;
            let mut last = last.lock().await;
            last.retain(|(_, one)| !std::ptr::eq(Arc::as_ptr(one), kept.as_ptr()));
        });
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[tokio::test]
    async fn one_question_is_answered_once_for_all_who_ask() {
        let (last, made) = (LastRead::<u32, u32, 1>::default(), Cell::new(0));
        let make = |question: u32| {
            made.set(made.get() + 1);
            async move { Ok(question * 2) }
        };
        let asked = async |question| {
            *last
                .answer(question, async { make(question).await })
                .await
                .unwrap()
        };
        let (first, second) = tokio::join!(asked(7), asked(7));
        assert_eq!((first, second, made.get()), (14, 14, 1));
        // Another question takes its place.
        assert_eq!((asked(8).await, made.get()), (16, 2));
        assert_eq!((asked(7).await, made.get()), (14, 3));
    }

    #[tokio::test]
    async fn a_refusal_is_not_kept() {
        let last = LastRead::<u32, u32, 1>::default();
        let refused = last.answer(7, async { Err(Status::unavailable("not yet")) });
        assert_eq!(refused.await.unwrap_err().message(), "not yet");
        assert_eq!(*last.answer(7, async { Ok(1) }).await.unwrap(), 1);
    }
}
