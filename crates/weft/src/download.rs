//! Files that the daemon sends in parts.

use std::future::Future;
use std::io::Write;
use std::path::Path;

use tokio_stream::StreamExt;
use tonic::{Response, Status, Streaming};

use crate::connect::{Effort, Session};
use crate::error::CliError;
use crate::output;

/// Writes a file to `to`, or to standard output; `bytes` takes them from a message.
///
/// # Errors
/// [`CliError`] where the daemon refuses or is too slow, or the file cannot be written, and that of `bytes`.
pub(crate) async fn download<T>(
    session: &Session,
    call: impl Future<Output = Result<Response<Streaming<T>>, Status>>,
    mut bytes: impl FnMut(T) -> Result<Vec<u8>, CliError>,
    to: Option<&Path>,
) -> Result<(), CliError> {
    let mut parts = session.answer(Effort::Work, call).await?;
    let mut out = output::sink(to)?;
    loop {
        let next = async { Ok(parts.next().await) };
        match session.in_time(Effort::Work, next).await? {
            Some(Ok(part)) => out.write_all(&bytes(part)?)?,
            Some(Err(status)) => return Err(session.explain(Effort::Work, status).await),
            None => break,
        }
    }
    out.flush()?;
    Ok(())
}
