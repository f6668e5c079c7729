//! Lines about links that break a rule for links with errors.

use tracing::{info, warn};
use weft_manager::link_errors::ErrorRule;
use weft_manager::sm::isolation::OverReason;
use weft_manager::{LinkEnd, LinkErrors, Standing};

use super::span;

/// A link breaks a rule.
pub(super) fn found(found: &LinkErrors) {
    let (event, effect) = effect(found);
    let LinkErrors { a, b, excess, .. } = found;
    warn!(
        event,
        a = a.name,
        a_guid = %a.node,
        a_port = a.port.0,
        b = b.name,
        b_guid = %b.node,
        b_port = b.port.0,
        rule = %excess.rule,
        measured = excess.measured,
        limit = excess.limit,
        window_s = excess.window.as_secs(),
        offences = found.offences,
        "{found}; {effect}"
    );
}

fn effect(found: &LinkErrors) -> (&'static str, String) {
    let count = match found.offences {
        0 | 1 => String::new(),
        count => format!(", as this is the {count}. time in a row"),
    };
    match found.standing {
        Standing::Isolated => (
            "link_isolated",
            format!("routes leave it out for {}{count}", span(found.hold)),
        ),
        Standing::DryRun => (
            "link_isolation_dry_run",
            "with the action quarantine routes would leave it out".to_owned(),
        ),
        Standing::Spared(why) => ("link_spared", format!("it stays in use: {why}")),
    }
}

/// That is over.
pub(super) fn over(a: &LinkEnd, b: &LinkEnd, rule: ErrorRule, was_out: bool, why: OverReason) {
    let effect = match was_out {
        true => "may be used again",
        false => "is not told of any more for its errors",
    };
    info!(
        event = "link_errors_over",
        a = a.name,
        a_guid = %a.node,
        a_port = a.port.0,
        b = b.name,
        b_guid = %b.node,
        b_port = b.port.0,
        rule = %rule,
        was_isolated = was_out,
        "the link from {a} to {b} {effect}: {why}"
    );
}
