//! Reading the configuration again, on SIGHUP or by the API.

use std::sync::Arc;

use tokio::sync::{Mutex, MutexGuard, mpsc, watch};
use tracing::{error, info, warn};
use weft_config::{Finding, Severity};

use crate::applied::Applied;
use crate::config::{Loaded, Source};
use crate::engine::Request;
use crate::hub::{Happening, Hub, InForce};
use crate::queries::QuerySettings;

/// Reads the configuration again, one after the other.
pub(crate) struct Reloader {
    source: Source,
    hub: Arc<Hub>,
    engine: mpsc::Sender<Request>,
    queries: watch::Sender<QuerySettings>,
    applied: Arc<Applied>,
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
        applied: Arc<Applied>,
    ) -> Self {
        Self {
            source,
            hub,
            engine,
            queries,
            applied,
            one_at_a_time: Mutex::new(()),
        }
    }

    /// The file's name, empty where there is none.
    pub(crate) fn file(&self) -> String {
        self.source
            .file()
            .map_or_else(String::new, |file| file.display().to_string())
    }

    /// What is in force beside the file.
    pub(crate) fn applied(&self) -> &Arc<Applied> {
        &self.applied
    }

    /// Keeps others from changing the configuration meanwhile.
    pub(crate) async fn turn(&self) -> MutexGuard<'_, ()> {
        self.one_at_a_time.lock().await
    }

    /// Checks a configuration that somebody gives in place of the file.
    ///
    /// # Errors
    /// In words, when the check could not be run.
    pub(crate) async fn check(&self, text: String) -> Result<Loaded, String> {
        let source = self.source.clone();
        let loaded = tokio::task::spawn_blocking(move || source.check(text)).await;
        loaded.map_err(|error| error.to_string())
    }

    /// Puts in force what a configuration says of everything but the subnet manager; gives what was.
    pub(crate) fn put_in_force(
        &self,
        (queries, in_force): (QuerySettings, InForce),
        what: String,
    ) -> (QuerySettings, InForce) {
        let before = self.queries.send_replace(queries);
        let config = (*self.hub.config()).clone();
        self.hub.set_config(in_force);
        info!(event = "config_reloaded", applied = true, "{what}");
        let applied = true;
        self.hub.tell(Happening::Config { applied, what });
        (before, config)
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
        let settings = Box::new(usable.settings);
        let sent = self.engine.send(Request::Reconfigure(settings.clone()));
        let stopping = |_| "the daemon is stopping".to_owned();
        sent.await.map_err(stopping)?;
        self.applied.reloaded(&settings).await;
        let what = format!("{} is in force", self.file());
        self.put_in_force((usable.queries, usable.in_force), what);
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
