//! Control of a fabric, in this process or behind a socket.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use thiserror::Error;
use weft_transport::document::DOCUMENT_MAX;
use weft_transport::{Address, ConnectError, request_control};

use crate::host::{HostHandle, RequestError};
use crate::io::Control;
use crate::target::{Place, Target};
use crate::traffic::TrafficReport;

/// A query about a running fabric, as JSON on the socket, like [`Control`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Query {
    /// Current state of the traffic jobs; the answer is a [`TrafficReport`].
    Traffic,
    /// The nodes or ports that a text names; the answer is a list of [`Place`]s.
    Places(Target),
}

/// Changes and queries a fabric.
#[derive(Debug, Clone)]
pub enum Controller {
    /// The fabric is in this process.
    Here(HostHandle),
    /// It is behind a socket.
    Socket(Address),
}

/// Why a change or a query failed.
#[derive(Debug, Error)]
pub enum ControllerError {
    /// The fabric refused.
    #[error("{0}")]
    Refused(String),
    /// The socket cannot be reached.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// The fabric has been stopped.
    #[error("the emulated fabric has been stopped")]
    Stopped,
    /// The answer has an unexpected form.
    #[error("the emulator's answer makes no sense: {0}")]
    Answer(#[from] serde_json::Error),
}

impl From<RequestError> for ControllerError {
    fn from(error: RequestError) -> Self {
        match error {
            RequestError::Stopped => Self::Stopped,
            RequestError::Control(error) => Self::Refused(error.to_string()),
        }
    }
}

impl Controller {
    /// Changes the fabric.
    ///
    /// # Errors
    /// [`ControllerError`].
    pub async fn control(&self, control: Control) -> Result<(), ControllerError> {
        match self {
            Self::Here(handle) => {
                handle.control(control).await?;
                Ok(())
            }
            Self::Socket(address) => request(address, &control).await.map(drop),
        }
    }

    /// The nodes or ports that a text names.
    ///
    /// # Errors
    /// [`ControllerError`].
    pub async fn places(&self, target: Target) -> Result<Vec<Place>, ControllerError> {
        let answer = match self {
            Self::Here(handle) => places(handle, target).await?,
            Self::Socket(address) => request(address, &Query::Places(target)).await?,
        };
        Ok(serde_json::from_value(answer)?)
    }

    /// Current state of the traffic jobs.
    ///
    /// # Errors
    /// [`ControllerError`].
    pub async fn traffic(&self) -> Result<TrafficReport, ControllerError> {
        match self {
            Self::Here(handle) => Ok(handle.traffic().await?),
            Self::Socket(address) => {
                let answer = request(address, &Query::Traffic).await?;
                Ok(serde_json::from_value(answer)?)
            }
        }
    }
}

async fn request(address: &Address, request: &impl Serialize) -> Result<Value, ControllerError> {
    let reply = request_control(address, serde_json::to_vec(request)?).await?;
    let reply: Value = serde_json::from_slice(&reply)?;
    match reply.get("error").and_then(Value::as_str) {
        Some(error) => Err(ControllerError::Refused(error.to_owned())),
        None => Ok(reply),
    }
}

/// Answers JSON from a socket: a [`Query`] with its result, a [`Control`] with `null`, and
/// refusals with `{"error": "…"}`.
pub(crate) async fn answer(handle: &HostHandle, json: &[u8]) -> Vec<u8> {
    let reply = match serde_json::from_slice::<Query>(json) {
        Ok(Query::Traffic) => traffic(handle).await,
        Ok(Query::Places(target)) => places(handle, target).await,
        Err(_) => change(handle, json).await,
    };
    let refused = |error: String| json!({ "error": error }).to_string();
    let text = match reply.map(|reply| reply.to_string()) {
        Ok(text) if text.len() <= DOCUMENT_MAX => text,
        Ok(text) => refused(format!(
            "the answer would be {} bytes long, allowed: {DOCUMENT_MAX}",
            text.len()
        )),
        Err(error) => refused(error.to_string()),
    };
    text.into_bytes()
}

async fn places(handle: &HostHandle, target: Target) -> Result<Value, ControllerError> {
    let topology = handle
        .inspect(|emulator| emulator.topology().clone())
        .await?;
    let places = target.places(&topology);
    let places = places.map_err(|error| ControllerError::Refused(error.to_string()))?;
    Ok(serde_json::to_value(places)?)
}

async fn traffic(handle: &HostHandle) -> Result<Value, ControllerError> {
    Ok(serde_json::to_value(handle.traffic().await?)?)
}

async fn change(handle: &HostHandle, json: &[u8]) -> Result<Value, ControllerError> {
    let control: Control = serde_json::from_slice(json)
        .map_err(|error| ControllerError::Refused(error.to_string()))?;
    handle.control(control).await?;
    Ok(Value::Null)
}
