//! Serves the metrics: with TLS and for a token where that is asked for.
//!
//! | module | contents |
//! |---|---|
//! | `args` | the options |
//! | `door` | connections, with TLS or without |

mod args;
mod door;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use tokio::net::TcpListener;
use tokio::task::spawn_blocking;
use tracing::error;
use weft_history::audit::Hash;

use crate::config::read_at_most;
use crate::exposition::Exposition;
use crate::metrics::Metrics;
use crate::stopping::Stopping;
use crate::tls::Tls;
pub(crate) use args::MetricsArgs;
use door::Incoming;

/// The longest file of a token, in bytes.
const TOKEN_MAX: u64 = 1 << 20;

/// Whom the metrics are for.
#[derive(Debug, Clone, Default)]
pub(crate) struct Door {
    /// With it, connections are encrypted.
    pub(crate) tls: Option<Tls>,
    /// With it, only who has the token that the file holds is answered.
    pub(crate) token: Option<PathBuf>,
}

/// Serves until it is time to stop.
pub(crate) async fn serve(
    listener: TcpListener,
    door: Door,
    metrics: Arc<Metrics>,
    stopping: Stopping,
) -> std::io::Result<()> {
    let Door { tls, token } = door;
    let mut app = Router::new()
        .route("/metrics", get(scrape))
        .route("/", get(|| async { "weftd: metrics are at /metrics\n" }))
        .with_state(metrics);
    if let Some(file) = token {
        app = app.layer(from_fn_with_state(Arc::from(file), check));
    }
    axum::serve(Incoming::new(listener, tls)?, app)
        .with_graceful_shutdown(stopping.wait())
        .await
}

async fn scrape(State(metrics): State<Arc<Metrics>>, headers: HeaderMap) -> Response {
    let accept = headers.get(header::ACCEPT);
    let accept = accept.and_then(|value| value.to_str().ok());
    let exposition = Exposition::accepted(accept.unwrap_or_default());
    match metrics.scraped() {
        Ok(text) => {
            let kind = [(header::CONTENT_TYPE, exposition.content_type())];
            (kind, exposition.text(text)).into_response()
        }
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, error.to_string()).into_response(),
    }
}

/// Passes on a request that has the token of the file, which is read for each: it may be exchanged.
async fn check(State(file): State<Arc<Path>>, request: Request, next: Next) -> Response {
    let shown = request.headers().get(header::AUTHORIZATION);
    let shown = shown.and_then(|value| value.to_str().ok()?.strip_prefix("Bearer "));
    let shown = shown.map(|token| token.trim().to_owned());
    let reading = spawn_blocking(move || token(&file));
    let wanted = reading.await.map_err(|error| error.to_string()).flatten();
    match wanted {
        Ok(wanted) if shown.is_some_and(|shown| is_same(&shown, &wanted)) => {
            next.run(request).await
        }
        Ok(_) => refuse(
            StatusCode::UNAUTHORIZED,
            "weftd: the token is missing or wrong (Authorization: Bearer TOKEN)\n",
        ),
        Err(why) => {
            error!(
                event = "metrics_token",
                "the token of the metrics cannot be read: {why}; nobody gets them"
            );
            refuse(
                StatusCode::INTERNAL_SERVER_ERROR,
                "weftd: the token of the metrics cannot be read, see its log\n",
            )
        }
    }
}

fn refuse(status: StatusCode, why: &'static str) -> Response {
    (status, [(header::WWW_AUTHENTICATE, "Bearer")], why).into_response()
}

/// The token of a file: its text without blanks around it, which must not be empty.
pub(crate) fn token(file: &Path) -> Result<String, String> {
    let about = |why: String| format!("{}: {why}", file.display());
    let bytes = read_at_most(file, TOKEN_MAX).map_err(about)?;
    let text = String::from_utf8(bytes).map_err(|error| about(error.to_string()))?;
    match text.trim() {
        "" => Err(about("it is empty".to_owned())),
        token => Ok(token.to_owned()),
    }
}

/// Compares digests: how long that takes tells nothing of the token.
fn is_same(shown: &str, wanted: &str) -> bool {
    let digest = |text: &str| Hash::digest(text.as_bytes()).to_string();
    digest(shown) == digest(wanted)
}
