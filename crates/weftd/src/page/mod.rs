//! The page in a browser: where it is, and the columns that its readers share.
//!
//! | module | contents |
//! |---|---|
//! | `args` | the options |

mod args;

use std::io;
use std::sync::Arc;

use tokio::net::TcpListener;
use tokio::sync::Mutex;
use weft_web::Board;

pub(crate) use args::PageArgs;

/// What the services hold of the page.
#[derive(Debug, Clone)]
pub(crate) struct Page {
    /// Its address for people; empty where no page is served.
    pub(crate) url: Arc<str>,
    /// Layout and columns, computed once for all readers.
    pub(crate) board: Arc<Mutex<Board>>,
}

impl Page {
    pub(crate) fn new(listener: Option<&TcpListener>, tls: bool) -> Self {
        let url = listener.and_then(|listener| url(listener, tls).ok());
        Self {
            url: url.unwrap_or_default().into(),
            board: Arc::default(),
        }
    }
}

/// Address of the page for people.
pub(crate) fn url(listener: &TcpListener, tls: bool) -> io::Result<String> {
    let scheme = if tls { "https" } else { "http" };
    Ok(format!("{scheme}://{}/", listener.local_addr()?))
}
