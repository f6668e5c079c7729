//! Reading the configuration again, on SIGHUP or by the API.

use std::sync::Arc;

use tokio::sync::{Mutex, mpsc, watch};
use tracing::{error, info, warn};
use weft_config::{Finding, Severity};

use crate::config::{Loaded, Source};
use crate::engine::Request;
use crate::hub::{Happening, Hub};
use crate::queries::QuerySettings;

/// Reads the configuration again, one after the other.
pub(crate) struct Reloader {
    source: Source,
    hub: Arc<Hub>,
    engine: mpsc::Sender<Request>,
    queries: watch::Sender<QuerySettings>,
    one_at_a_time: Mutex<()>,
}

/// What came of a reload.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) findings: Vec<Finding>,
    pub(crate) applied: bool,
}

impl Reloader {
    pub(crate) fn new(
        source: Source,
        hub: Arc<Hub>,
        engine: mpsc::Sender<Request>,
        queries: watch::Sender<QuerySettings>,
    ) -> Self {
        Self {
            source,
            hub,
            engine,
            queries,
            one_at_a_time: Mutex::new(()),
        }
    }

    /// The file's name, empty where there is none.
    pub(crate) fn file(&self) -> String {
        self.source
            .file()
            .map_or_else(String::new, |file| file.display().to_string())
    }

    /// Reads the file; puts it in force unless something in it is wrong, or nothing shall change.
    ///
    /// # Errors
    /// In words, when the file cannot be read or used; nothing was changed then. Findings are no
    /// error: they are in the outcome.
    pub(crate) async fn reload(&self, validate_only: bool) -> Result<Outcome, String> {
        let _turn = self.one_at_a_time.lock().await;
        let source = self.source.clone();
        let loaded = tokio::task::spawn_blocking(move || source.load()).await;
        let loaded = loaded.map_err(|error| error.to_string())?;
        let Loaded { findings, usable } = loaded.map_err(|error| error.to_string())?;
        let refused = findings
            .iter()
            .any(|finding| finding.severity == Severity::Error);
        if refused || validate_only {
            if !refused {
                usable?;
            }
            return Ok(Outcome {
                findings,
                applied: false,
            });
        }
        let usable = usable?;
        let sent = self
            .engine
            .send(Request::Reconfigure(Box::new(usable.settings)))
            .await;
        sent.map_err(|_| "the daemon is stopping".to_owned())?;
        self.queries.send_replace(usable.queries);
        self.hub.set_config(usable.in_force);
        let what = format!("{} is in force", self.file());
        info!(event = "config_reloaded", applied = true, "{what}");
        self.hub.tell(Happening::Config {
            applied: true,
            what,
        });
        Ok(Outcome {
            findings,
            applied: true,
        })
    }

    /// The same for SIGHUP: what comes of it is logged and told.
    pub(crate) async fn reload_and_tell(&self) {
        let why = match self.reload(false).await {
            Ok(outcome) if outcome.applied => {
                for finding in &outcome.findings {
                    warn!(event = "config_finding", "{finding}");
                }
                return;
            }
            Ok(outcome) => {
                let errors = outcome.findings.iter();
                let errors = errors.filter(|finding| finding.severity == Severity::Error);
                let lines: Vec<String> = errors.map(ToString::to_string).collect();
                lines.join("\n")
            }
            Err(why) => why,
        };
        error!(
            event = "config_reloaded",
            applied = false,
            "the new configuration is refused, the old one stays in force:\n{why}"
        );
        let what = format!(
            "{} is refused, the old one stays in force: {why}",
            self.file()
        );
        self.hub.tell(Happening::Config {
            applied: false,
            what,
        });
    }
}
