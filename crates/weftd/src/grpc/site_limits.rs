//! Limits that count: what a call would leave out of use, judged before it is carried out.

use std::collections::BTreeSet;

use tokio::sync::OwnedMutexGuard;
use tokio::time::Instant;
use tonic::Status;
use weft_fabric::{Guid, PortNum};
use weft_manager::sm::drains::{Drain, Drains};
use weft_manager::{PortAction, PortOrder};

use super::Services;
use super::refusal::status;
use crate::access::{Bounds, Change, Foreseen};
use crate::control::{Refusal, WouldBe};
use crate::request::{Request as Ask, told};

/// Nobody else changes ports that are counted, where this call is one that is.
#[derive(Debug, Default)]
pub(super) struct Alone(Option<OwnedMutexGuard<()>>);

impl Alone {
    /// Carries a change out. One that is counted goes on to its end when its client goes: until then nobody else begins.
    pub(super) async fn carry_out<T: Send + 'static>(
        self,
        change: impl Future<Output = Result<T, Refusal>> + Send + 'static,
    ) -> Result<T, Refusal> {
        let Some(alone) = self.0 else {
            return change.await;
        };
        let ended = tokio::spawn(async move {
            let ended = change.await;
            drop(alone);
            ended
        });
        ended.await.unwrap_or(Err(Refusal::Stopping))
    }
}

/// Ports by node and number.
type Ends = BTreeSet<(Guid, PortNum)>;

impl Services {
    /// Refuses a plan, or its end, that a limit forbids. What comes back is held until it is carried out: nobody else
    /// changes ports that are counted meanwhile.
    pub(super) async fn plan_within(
        &self,
        bounds: &Bounds,
        would_be: &WouldBe,
    ) -> Result<Alone, Status> {
        let alone = match bounds.count_ports() {
            true => Some(bounds.alone().await),
            false => None,
        };
        let refused = |refusal: Refusal| status(&refusal);
        let drains = self.drained().await.map_err(refused)?;
        let disabled = self.disabled().await.map_err(refused)?;
        let mut after = disabled.clone();
        for (end, action) in &would_be.ports {
            match action {
                PortAction::Disable => after.insert(*end),
                _ => after.remove(end),
            };
        }
        let foreseen = Foreseen {
            drained_switches: change(&drains, &would_be.drains, is_switch),
            drained_links: change(&drains, &would_be.drains, |drain| !is_switch(drain)),
            disabled_ports: Change {
                before: disabled.len(),
                after: after.len(),
            },
        };
        let within = bounds.judge(&foreseen);
        within.map_err(|limited| limited.status())?;
        Ok(Alone(alone))
    }

    /// Refuses to disable ports beyond a limit.
    pub(super) async fn ports_within(
        &self,
        bounds: &Bounds,
        ports: impl IntoIterator<Item = (Guid, PortNum)>,
    ) -> Result<(), Refusal> {
        let mut disabled = self.disabled().await?;
        let before = disabled.len();
        disabled.extend(ports);
        let disabled_ports = Change {
            before,
            after: disabled.len(),
        };
        let foreseen = Foreseen {
            disabled_ports,
            ..Foreseen::default()
        };
        Ok(bounds.judge(&foreseen)?)
    }

    /// Changes a port, if the limits allow that then.
    pub(super) async fn change_port(
        &self,
        order: PortOrder,
        begin_by: Instant,
        bounds: Option<&Bounds>,
    ) -> Result<(), Refusal> {
        let Some(bounds) = bounds else {
            return self.control.port(order, begin_by).await;
        };
        let alone = Alone(Some(bounds.alone().await));
        self.ports_within(bounds, [(order.node, order.port)])
            .await?;
        let control = self.control.clone();
        alone
            .carry_out(async move { control.port(order, begin_by).await })
            .await
    }

    async fn drained(&self) -> Result<Drains, Refusal> {
        told(&self.engine, Ask::Drains).await
    }

    async fn disabled(&self) -> Result<Ends, Refusal> {
        let ports = told(&self.engine, Ask::DisabledPorts).await?;
        Ok(ports.into_iter().map(|one| one.port.end).collect())
    }
}

fn is_switch(drain: &Drain) -> bool {
    matches!(drain, Drain::Switch(_))
}

fn change(before: &Drains, after: &Drains, of: impl Fn(&Drain) -> bool) -> Change {
    let count = |drains: &Drains| drains.iter().filter(|drain| of(drain)).count();
    Change {
        before: count(before),
        after: count(after),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use tokio::sync::{Mutex, oneshot};

    use super::*;

    #[tokio::test]
    async fn nobody_else_begins_while_a_change_goes_on_whose_client_has_gone() {
        let one_by_one = Arc::new(Mutex::new(()));
        let alone = Alone(Some(Arc::clone(&one_by_one).lock_owned().await));
        let (end, ended) = oneshot::channel::<()>();
        let call = alone.carry_out(async move { ended.await.map_err(|_| Refusal::Stopping) });
        let call = tokio::time::timeout(Duration::from_millis(1), call).await;
        assert!(call.is_err(), "the client has gone");
        assert!(one_by_one.try_lock().is_err());
        end.send(()).unwrap();
        drop(one_by_one.lock().await);
    }
}
