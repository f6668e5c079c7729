//! Lease and key of the master, by one connection.

use std::time::Duration;

use weft_etcd::pb::response_op::Response;
use weft_etcd::{Access, Client, EtcdError, Watch, created_at, get, pb, put, txn};

use super::Settings;

/// Of the time of a lease, the part in which a call is answered.
const ANSWERS_IN: u32 = 4;

/// The key as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Key {
    /// The revision at which it was created: a later holder has a higher one.
    pub(super) term: u64,
    pub(super) lease: i64,
    pub(super) value: Vec<u8>,
}

/// A connection.
pub(super) struct Session {
    client: Client,
    watch: Watch,
    key: String,
    lease: Duration,
}

impl Session {
    /// Connects to a server.
    pub(super) async fn begin(settings: &Settings, server: &str) -> Result<Self, EtcdError> {
        let client = connect(settings, server).await?;
        let [from, to] = settings.place.watched();
        let watch = client.watch(&from, &to).await?;
        Ok(Self {
            client,
            watch,
            key: settings.place.master(),
            lease: settings.lease,
        })
    }

    /// Keeps the lease alive; ends it, by setting it to 0, where etcd has no such lease any more.
    pub(super) async fn keep(&self, lease: &mut i64) -> Result<(), EtcdError> {
        if *lease != 0 && !self.client.keep_alive(*lease).await? {
            *lease = 0;
        }
        Ok(())
    }

    /// Reads the key.
    pub(super) async fn look(&self) -> Result<Option<Key>, EtcdError> {
        let found = self.client.range(&self.key, "", 1).await?;
        Ok(found.into_iter().next().map(Key::from))
    }

    /// Takes the key where nobody has it, with a lease, which is made where there is none; the key as it is then.
    pub(super) async fn take(
        &self,
        lease: &mut i64,
        value: &[u8],
    ) -> Result<Option<Key>, EtcdError> {
        if *lease == 0 {
            let seconds = self.lease.as_secs().try_into().unwrap_or(i64::MAX);
            *lease = self.client.grant(seconds).await?;
        }
        let free = created_at(&self.key, 0);
        let take = put(&self.key, value.to_vec(), *lease);
        let done = self
            .client
            .txn(txn(free, vec![take], vec![get(&self.key)]))
            .await?;
        if done.succeeded {
            let revision = done.header.map_or(0, |header| header.revision);
            return Ok(Some(Key {
                term: u64::try_from(revision).unwrap_or(0),
                lease: *lease,
                value: value.to_vec(),
            }));
        }
        let found = done.responses.into_iter().next();
        let found = match found.and_then(|found| found.response) {
            Some(Response::ResponseRange(range)) => range.kvs.into_iter().next(),
            _ => None,
        };
        Ok(found.map(Key::from))
    }

    /// Ends a lease, and the key that is held by it.
    pub(super) async fn give_back(&self, lease: i64) -> Result<(), EtcdError> {
        self.client.revoke(lease).await
    }

    /// The connection.
    pub(super) fn client(&self) -> &Client {
        &self.client
    }

    /// Waits until the key or the state changes.
    pub(super) async fn changes(&mut self) -> Result<(), EtcdError> {
        self.watch.next().await.map(drop)
    }
}

/// Connects to a server.
pub(super) async fn connect(settings: &Settings, server: &str) -> Result<Client, EtcdError> {
    let scheme = match settings.tls {
        Some(_) => "https",
        None => "http",
    };
    let access = Access {
        server: format!("{scheme}://{server}"),
        tls: settings.tls.clone(),
        user: settings.user.clone(),
        within: settings.lease / ANSWERS_IN,
    };
    Client::connect(&access).await
}

impl From<pb::KeyValue> for Key {
    fn from(found: pb::KeyValue) -> Self {
        Self {
            term: u64::try_from(found.create_revision).unwrap_or(0),
            lease: found.lease,
            value: found.value,
        }
    }
}
