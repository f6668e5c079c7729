//! The page in a browser: where it is, and the columns that its readers share.
//!
//! | module | contents |
//! |---|---|
//! | `args` | the options |
//! | `links` | one-time links, and the sessions that begin with them |
//! | `entrance` | where browsers show the token of a link, and who one with a cookie is |
//! | `leased` | answers that end with a session |

mod args;
mod entrance;
mod leased;
mod links;

use std::io;
use std::sync::Arc;

use tokio::net::TcpListener;
use tokio::sync::Mutex;
use weft_web::Board;

use crate::this_host;
use crate::tls::Tls;
pub(crate) use args::PageArgs;
pub(crate) use entrance::{Entrance, needs_none, recognise};
pub(crate) use links::{LinkError, Links, Made, Whose};

/// What the services hold of the page.
#[derive(Debug, Clone)]
pub(crate) struct Page {
    /// Its address for people; empty where no page is served.
    pub(crate) url: Arc<str>,
    /// Layout and columns, computed once for all readers.
    pub(crate) board: Arc<Mutex<Board>>,
    /// Links and sessions of browsers.
    pub(crate) links: Links,
    /// Whether browsers are asked for certificates.
    pub(crate) asks_for_certificates: bool,
}

impl Page {
    pub(crate) fn new(listener: Option<&TcpListener>, tls: Option<&Tls>) -> Self {
        let url = listener.and_then(|listener| url(listener, tls.is_some()).ok());
        Self {
            url: url.unwrap_or_default().into(),
            board: Arc::default(),
            links: Links::default(),
            asks_for_certificates: tls.is_some_and(Tls::asks_for_certificates),
        }
    }
}

/// Address of the page for people: with the name of this host where the page is at all of its addresses.
pub(crate) fn url(listener: &TcpListener, tls: bool) -> io::Result<String> {
    let scheme = if tls { "https" } else { "http" };
    let address = listener.local_addr()?;
    let name = address.ip().is_unspecified().then(this_host::name);
    Ok(match name.flatten() {
        Some(name) => format!("{scheme}://{name}:{}/", address.port()),
        None => format!("{scheme}://{address}/"),
    })
}
