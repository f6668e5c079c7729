//! A connection to one server.

use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::timeout;
use tokio_stream::wrappers::ReceiverStream;
use tonic::metadata::{Ascii, MetadataValue};
use tonic::transport::{Channel, ClientTlsConfig, Endpoint};
use tonic::{Request, Status, Streaming};

use crate::pb;
use pb::auth_client::AuthClient;
use pb::kv_client::KvClient;
use pb::lease_client::LeaseClient;
use pb::watch_client::WatchClient;
use pb::watch_request::RequestUnion;

/// Most bytes of an answer: above etcd's own limit of a request, 1.5 MiB.
const ANSWER_MAX: usize = 4 << 20;

/// How etcd is reached.
#[derive(Clone)]
pub struct Access {
    /// `http://HOST:PORT` or `https://HOST:PORT`.
    pub server: String,
    pub tls: Option<ClientTlsConfig>,
    /// User and password.
    pub user: Option<(String, String)>,
    /// Time for connecting, and for each call.
    pub within: Duration,
}

/// Why a call has failed.
#[derive(Debug, thiserror::Error)]
pub enum EtcdError {
    /// The server is not reached.
    #[error("{0}")]
    Connect(String),
    /// It does not answer in time.
    #[error("no answer within {} ms", .0.as_millis())]
    Silent(Duration),
    /// It refuses.
    #[error("{}", told(.0))]
    Refused(Box<Status>),
    /// It answers what cannot be used.
    #[error("it answers {0}")]
    Strange(&'static str),
}

/// Longest message of a server that is passed on, characters.
const TOLD_MAX: usize = 200;

/// A server's words, without control characters.
fn told(status: &Status) -> String {
    let words = status.message().chars().take(TOLD_MAX);
    let words: String = words.filter(|one| !one.is_control()).collect();
    match words.is_empty() {
        true => format!("{:?}", status.code()),
        false => words,
    }
}

/// A connection.
#[derive(Debug, Clone)]
pub struct Client {
    channel: Channel,
    token: Option<MetadataValue<Ascii>>,
    within: Duration,
}

impl Client {
    /// Connects, and shows user and password where there are any.
    ///
    /// # Errors
    /// [`EtcdError`].
    pub async fn connect(access: &Access) -> Result<Self, EtcdError> {
        let wrong = |error: tonic::transport::Error| EtcdError::Connect(causes(&error));
        let endpoint = Endpoint::from_shared(access.server.clone()).map_err(wrong)?;
        let endpoint = match access.tls.clone() {
            Some(tls) => endpoint.tls_config(tls).map_err(wrong)?,
            None => endpoint,
        };
        let endpoint = endpoint.connect_timeout(access.within);
        let connected = timeout(access.within, endpoint.connect()).await;
        let channel = connected.map_err(|_| EtcdError::Silent(access.within))?;
        let mut client = Self {
            channel: channel.map_err(wrong)?,
            token: None,
            within: access.within,
        };
        if let Some((name, password)) = &access.user {
            client.token = Some(client.authenticate(name, password).await?);
        }
        Ok(client)
    }

    async fn authenticate(
        &self,
        name: &str,
        password: &str,
    ) -> Result<MetadataValue<Ascii>, EtcdError> {
        let request = pb::AuthenticateRequest {
            name: name.to_owned(),
            password: password.to_owned(),
        };
        let mut auth = AuthClient::new(self.channel.clone());
        let answer = self.answer(auth.authenticate(request)).await?;
        let token = answer.token.parse();
        token.map_err(|_| EtcdError::Strange("a token that is none"))
    }

    /// Executes a transaction.
    ///
    /// # Errors
    /// [`EtcdError`].
    pub async fn txn(&self, txn: pb::TxnRequest) -> Result<pb::TxnResponse, EtcdError> {
        let mut kv = self.kv();
        self.answer(kv.txn(self.request(txn))).await
    }

    /// The values of keys from one up to, and without, another; of one alone where that is empty. At most `limit`.
    ///
    /// # Errors
    /// [`EtcdError`].
    pub async fn range(
        &self,
        from: &str,
        to: &str,
        limit: i64,
    ) -> Result<Vec<pb::KeyValue>, EtcdError> {
        let request = pb::RangeRequest {
            key: from.into(),
            range_end: to.into(),
            limit,
        };
        let mut kv = self.kv();
        Ok(self.answer(kv.range(self.request(request))).await?.kvs)
    }

    /// A new lease that ends by itself after so many seconds; its number.
    ///
    /// # Errors
    /// [`EtcdError`].
    pub async fn grant(&self, seconds: i64) -> Result<i64, EtcdError> {
        let request = pb::LeaseGrantRequest { ttl: seconds };
        let mut lease = self.lease();
        let granted = self
            .answer(lease.lease_grant(self.request(request)))
            .await?;
        match granted.id {
            0 => Err(EtcdError::Strange("no lease")),
            id => Ok(id),
        }
    }

    /// Begins the time of a lease anew; false where it has ended.
    ///
    /// # Errors
    /// [`EtcdError`].
    pub async fn keep_alive(&self, id: i64) -> Result<bool, EtcdError> {
        let asked = tokio_stream::iter([pb::LeaseKeepAliveRequest { id }]);
        let mut lease = self.lease();
        let answer = async {
            let answers = lease.lease_keep_alive(self.request(asked)).await?;
            let first = answers.into_inner().message().await?;
            first.ok_or_else(|| Status::unavailable("it ends the call"))
        };
        let answer = timeout(self.within, answer).await;
        let answer = answer.map_err(|_| EtcdError::Silent(self.within))?;
        let answer = answer.map_err(|status| EtcdError::Refused(Box::new(status)))?;
        Ok(answer.ttl > 0)
    }

    /// Ends a lease.
    ///
    /// # Errors
    /// [`EtcdError`].
    pub async fn revoke(&self, id: i64) -> Result<(), EtcdError> {
        let request = pb::LeaseRevokeRequest { id };
        let mut lease = self.lease();
        self.answer(lease.lease_revoke(self.request(request)))
            .await?;
        Ok(())
    }

    /// Watches keys from one up to, and without, another; one alone where that is empty. Changes from the moment at which
    /// this returns on are told.
    ///
    /// # Errors
    /// [`EtcdError`].
    pub async fn watch(&self, from: &str, to: &str) -> Result<Watch, EtcdError> {
        let create = pb::WatchCreateRequest {
            key: from.into(),
            range_end: to.into(),
        };
        let create = pb::WatchRequest {
            request_union: Some(RequestUnion::CreateRequest(create)),
        };
        let (asks, asked) = mpsc::channel(1);
        // There is room for one.
        let _ = asks.try_send(create);
        let mut watch =
            WatchClient::new(self.channel.clone()).max_decoding_message_size(ANSWER_MAX);
        let call = watch.watch(self.request(ReceiverStream::new(asked)));
        let answers = self.answer(call).await?;
        let mut watch = Watch {
            answers,
            _asks: asks,
        };
        let first = timeout(self.within, watch.next()).await;
        first.map_err(|_| EtcdError::Silent(self.within))??;
        Ok(watch)
    }

    fn kv(&self) -> KvClient<Channel> {
        KvClient::new(self.channel.clone()).max_decoding_message_size(ANSWER_MAX)
    }

    fn lease(&self) -> LeaseClient<Channel> {
        LeaseClient::new(self.channel.clone())
    }

    /// With the token.
    fn request<T>(&self, message: T) -> Request<T> {
        let mut request = Request::new(message);
        if let Some(token) = &self.token {
            request.metadata_mut().insert("token", token.clone());
        }
        request
    }

    async fn answer<T>(
        &self,
        call: impl Future<Output = Result<tonic::Response<T>, Status>>,
    ) -> Result<T, EtcdError> {
        let answer = timeout(self.within, call).await;
        let answer = answer.map_err(|_| EtcdError::Silent(self.within))?;
        let answer = answer.map_err(|status| EtcdError::Refused(Box::new(status)))?;
        Ok(answer.into_inner())
    }
}

/// Changes of keys as they come.
pub struct Watch {
    answers: Streaming<pb::WatchResponse>,
    /// The call ends with it.
    _asks: mpsc::Sender<pb::WatchRequest>,
}

impl Watch {
    /// The next changes.
    ///
    /// # Errors
    /// [`EtcdError::Refused`] where the watch has ended.
    pub async fn next(&mut self) -> Result<Vec<pb::Event>, EtcdError> {
        let ended = |status| EtcdError::Refused(Box::new(status));
        let answer = self.answers.message().await.map_err(ended)?;
        let answer = answer.ok_or_else(|| ended(Status::unavailable("it ends the watch")))?;
        if answer.canceled {
            return Err(ended(Status::aborted(answer.cancel_reason)));
        }
        Ok(answer.events)
    }
}

/// An error with its causes.
fn causes(error: &dyn std::error::Error) -> String {
    let mut words = error.to_string();
    let mut cause = error.source();
    while let Some(next) = cause {
        let next_words = next.to_string();
        if !words.contains(&next_words) {
            words += &format!(": {next_words}");
        }
        cause = next.source();
    }
    words
}
