//! The plan in force that the master's configuration file lacks: a standby that takes over follows its own file, and says
//! which plan has ended with that.

use std::sync::Arc;

use tokio::sync::watch;
use tracing::warn;
use weft_fabric::enums::SmState;

use super::{Offer, PartKind};
use crate::event_hub::{EventHub, Planned};

/// Longest description that is taken over, characters.
const WORDS_MAX: usize = 2000;

/// Hands on what is said of the plan in force, at the start and whenever that changes.
pub(crate) async fn offer_plan(offer: Arc<Offer>, hub: Arc<EventHub>) {
    let mut plans = hub.plans();
    // What was said before this task ran counts too.
    plans.mark_changed();
    while plans.changed().await.is_ok() {
        let plan = plans.borrow_and_update().clone();
        offer.put(PartKind::Plan, offered(&plan));
    }
    std::future::pending::<()>().await;
}

/// What standbys are told of a plan: nothing of one that has ended already.
fn offered(plan: &Planned) -> Option<Arc<[u8]>> {
    let tells = plan.in_force && !plan.words.is_empty();
    tells.then(|| Arc::from(plan.words.as_bytes()))
}

/// Says which plan of the master before has ended when this manager takes over.
pub(crate) async fn tell_ended(
    inherited: watch::Sender<Option<Arc<[u8]>>>,
    whose: String,
    hub: Arc<EventHub>,
) {
    let mut statuses = hub.statuses();
    let mut before = SmState::DISCOVERING;
    while statuses.changed().await.is_ok() {
        let role = statuses.borrow_and_update().role;
        let takes_over = role == SmState::MASTER && before != role;
        before = role;
        if !takes_over {
            continue;
        }
        if let Some(words) = inherited.send_replace(None) {
            let words = String::from_utf8_lossy(&words);
            let words: String = words.chars().take(WORDS_MAX).collect();
            let told = format!(
                "a plan of the master before, {whose}, has ended with the takeover, and this manager follows \
                 its own configuration file; plan it again if it is wanted. There it said: {words}"
            );
            warn!(event = "plan_ended", "{told}");
            hub.set_planned(Planned {
                words: told.into(),
                in_force: false,
            });
        }
    }
    std::future::pending::<()>().await;
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::event_hub::InForce;

    #[tokio::test]
    async fn what_was_said_before_the_task_ran_is_handed_on() {
        for (words, told) in [("", None), ("dmodc", Some("dmodc"))] {
            let hub = Arc::new(EventHub::new(InForce::default()));
            hub.set_planned(Planned {
                words: words.into(),
                in_force: true,
            });
            let offer = Arc::new(Offer::default());
            let mut parts = offer.parts();
            let task = tokio::spawn(offer_plan(Arc::clone(&offer), hub));
            parts.changed().await.unwrap();
            let (kind, part) = parts.borrow().next_after(0).unwrap();
            assert_eq!(kind, PartKind::Plan);
            assert_eq!(part.bytes.as_deref(), told.map(str::as_bytes));
            task.abort();
        }
    }

    #[test]
    fn a_plan_that_has_ended_is_not_handed_on() {
        let plan = |words: &str, in_force| Planned {
            words: words.into(),
            in_force,
        };
        assert_eq!(
            offered(&plan("dmodc", true)).as_deref(),
            Some(&b"dmodc"[..])
        );
        assert_eq!(offered(&plan("it has ended", false)), None);
        assert_eq!(offered(&plan("", true)), None);
    }
}
