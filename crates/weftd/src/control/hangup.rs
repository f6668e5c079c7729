//! Reload by SIGHUP, which has no requester: the result is logged and published as an event.

use tracing::error;
use weft_config::Severity;
use weft_history::audit::Asked;

use super::{Control, usual_deadline};
use crate::audit::{Audit, Outcome};
use crate::event::DaemonEvent;
use crate::event_hub::EventHub;

/// Reads the configuration file and puts it in force.
pub(crate) async fn reload_and_tell(control: &Control, hub: &EventHub, audit: &Audit) {
    let asked = Asked {
        way: "signal".to_owned(),
        method: "SIGHUP".to_owned(),
        ..Asked::default()
    };
    let open = audit.asked(asked).await;
    let why = match control.reload(false, usual_deadline()).await {
        Ok(outcome) if outcome.applied => return open.ended(Outcome::ok()).await,
        Ok(outcome) => {
            let errors = outcome.findings.iter();
            let errors = errors.filter(|finding| finding.severity == Severity::Error);
            let lines: Vec<String> = errors.map(ToString::to_string).collect();
            lines.join("\n")
        }
        Err(refusal) => refusal.to_string(),
    };
    error!(
        event = "config_reloaded",
        applied = false,
        "the new configuration is refused, the old one stays in force:\n{why}"
    );
    open.ended(Outcome::refused("failed_precondition", why.clone()))
        .await;
    let file = control.file();
    let what = format!("{file} is refused, the old one stays in force: {why}");
    hub.tell(DaemonEvent::Config {
        applied: false,
        what,
    });
}
