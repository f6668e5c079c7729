//! A change of ports, one after the other.
//!
//! The daemon checks several ports together before the first one is changed. Then each change is asked for when the one
//! before it has been told: if the output is lost, or this program ends, the rest is left alone.

use std::collections::BTreeMap;
use std::process::ExitCode;

use serde_json::{Value, json};
use tonic_types::StatusExt;
use weft_api::client::ClientError;
use weft_api::v1;
use weft_fabric::text::{count, count_and};

use crate::args::PortArgs;
use crate::asked;
use crate::connect::{Effort, Session};
use crate::error::CliError;
use crate::output;
use crate::unreported;

/// Exit code where a port was refused.
const REFUSED: u8 = 1;
/// Exit code where the daemon is gone.
const GONE: u8 = 3;
/// Refusals of a list that are told; the rest is counted.
const TOLD_MAX: usize = 16;

pub(super) struct Change<'a> {
    pub(super) session: &'a Session,
    pub(super) action: v1::PortAction,
    pub(super) link: Option<v1::LinkSettings>,
    pub(super) args: &'a PortArgs,
}

/// A port to change.
pub(super) struct Target {
    pub(super) port: v1::PortId,
    /// Name of its node.
    pub(super) name: String,
    /// Why, in place of the reason of all; may be empty.
    pub(super) reason: String,
}

/// What has become of a port.
struct Outcome<'a> {
    target: &'a Target,
    outcome: v1::PortOutcome,
    code: String,
    message: String,
}

impl Target {
    fn to_set(&self) -> v1::PortToSet {
        v1::PortToSet {
            port: Some(self.port),
            reason: self.reason.clone(),
        }
    }

    fn called(&self) -> String {
        match &self.name[..] {
            "" => format!("port {} of {:#018x}", self.port.port, self.port.node_guid),
            name => format!("port {} of {name}", self.port.port),
        }
    }
}

impl Change<'_> {
    /// Changes ports; each is told when it is done, refusals on standard error.
    pub(super) async fn all(&self, targets: Vec<Target>) -> Result<ExitCode, CliError> {
        let all = match (&targets[..], self.args.dry_run) {
            ([target], false) => {
                let line = self.one(target).await?;
                self.keep(self.told(target, &line), &line, 0)?;
                return Ok(ExitCode::SUCCESS);
            }
            _ => self.check(&targets).await?,
        };
        if self.args.dry_run {
            return self.plan(&all);
        }
        match all.iter().any(|port| self.forbids_list(port)) {
            true => self.refuse(&all),
            false => self.change(&all).await,
        }
    }

    /// Asks which of several ports could be changed, in the order in which they should be.
    async fn check<'a>(&self, targets: &'a [Target]) -> Result<Vec<Outcome<'a>>, CliError> {
        let key = |port: &v1::PortId| (port.node_guid, port.port);
        let by_port = targets.iter().map(|target| (key(&target.port), target));
        let by_port: BTreeMap<(u64, u32), &Target> = by_port.collect();
        let request = v1::SetPortsRequest {
            ports: targets.iter().map(Target::to_set).collect(),
            action: self.action.into(),
            validate_only: true,
            reason: self.args.reason.clone(),
            author: asked::author(),
            force: self.args.force,
            link: self.link,
        };
        let mut service = self.session.services(Effort::Work).ports();
        let begun = service.set_ports(request);
        let mut answers = self.session.answer(Effort::Work, begun).await?;
        let mut all = Vec::new();
        loop {
            let next = async { Ok(answers.message().await) };
            let answer = match self.session.in_time(Effort::Work, next).await? {
                Ok(Some(answer)) => answer,
                Ok(None) => return Ok(all),
                Err(status) => return Err(self.session.explain(Effort::Work, status).await),
            };
            let port = answer.port.as_ref().and_then(|named| named.port);
            if let Some(target) = port.and_then(|port| by_port.get(&key(&port))) {
                all.push(Outcome {
                    target,
                    outcome: answer.outcome(),
                    code: answer.code,
                    message: answer.message,
                });
            }
        }
    }

    /// Whether a list with this port is not begun.
    fn forbids_list(&self, port: &Outcome<'_>) -> bool {
        match &port.code[..] {
            "CUTS_OFF" => true,
            "OWN_LINK" => !self.args.force,
            _ => false,
        }
    }

    /// Prints what would be done.
    fn plan(&self, all: &[Outcome<'_>]) -> Result<ExitCode, CliError> {
        let mut code = ExitCode::SUCCESS;
        for port in all {
            let name = port.target.called();
            let is_refused = port.outcome != v1::PortOutcome::WouldBeDone;
            if is_refused {
                code = ExitCode::from(REFUSED);
            }
            match (self.args.json, is_refused) {
                (true, _) => output::json_line(&port.as_json())?,
                (false, false) => output::text(format!("would {}\n", would(self.action, &name)))?,
                (false, true) => {
                    output::text(format!("{name} would be refused: {}\n", port.message))?;
                }
            }
        }
        if !self.args.json && all.iter().any(|port| self.forbids_list(port)) && all.len() > 1 {
            output::text("nothing would be changed: some of these ports forbid the whole list\n")?;
        }
        Ok(code)
    }

    /// Tells why nothing of a list is done.
    fn refuse(&self, all: &[Outcome<'_>]) -> Result<ExitCode, CliError> {
        let forbidding = all.iter().filter(|port| self.forbids_list(port));
        for port in forbidding.clone().take(TOLD_MAX) {
            self.complain(port)?;
        }
        let untold = forbidding.count().saturating_sub(TOLD_MAX);
        let more = match untold {
            0 => String::new(),
            count => format!("{count} more are refused; "),
        };
        let all = count(all.len(), "port");
        output::complain("weft: ", &format!("{more}nothing was changed of {all}"));
        Ok(ExitCode::from(REFUSED))
    }

    async fn change(&self, all: &[Outcome<'_>]) -> Result<ExitCode, CliError> {
        let mut code = 0;
        let mut done = String::new();
        for (port, left) in all.iter().zip((0..all.len()).rev()) {
            if port.outcome != v1::PortOutcome::WouldBeDone {
                code = REFUSED;
                self.complain(port)?;
                continue;
            }
            match self.one(port.target).await {
                Ok(line) => {
                    done += &line;
                    self.keep(self.told(port.target, &line), &done, left)?;
                }
                Err(error) => {
                    code = error.exit_code();
                    self.complain(&Outcome::failed(port.target, &error))?;
                    if code == GONE {
                        let rest = left_alone(left);
                        output::complain("weft: ", &rest);
                        break;
                    }
                }
            }
        }
        Ok(ExitCode::from(code))
    }

    /// Changes a port; returns what was done.
    async fn one(&self, target: &Target) -> Result<String, CliError> {
        let reason = match &target.reason[..] {
            "" => &self.args.reason,
            _ => &target.reason,
        };
        let request = v1::SetPortStateRequest {
            port: Some(target.port),
            action: self.action.into(),
            validate_only: false,
            reason: reason.clone(),
            author: asked::author(),
            force: self.args.force,
            link: self.link,
        };
        let mut service = self.session.services(Effort::Work).ports();
        let changed = service.set_port_state(request);
        self.session.answer(Effort::Work, changed).await?;
        Ok(format!("{}\n", done(self.action, &target.called())))
    }

    fn told(&self, target: &Target, line: &str) -> Result<(), CliError> {
        match self.args.json {
            true => output::json_line(&Outcome::done(target).as_json()),
            false => output::text(line),
        }
    }

    fn complain(&self, port: &Outcome<'_>) -> Result<(), CliError> {
        if self.args.json {
            return output::json_line(&port.as_json());
        }
        let name = port.target.called();
        output::complain("weft: ", &format!("{name}: {}", port.message));
        Ok(())
    }

    /// Keeps what was done for the next call where it cannot be printed.
    fn keep(&self, printed: Result<(), CliError>, done: &str, left: usize) -> Result<(), CliError> {
        unreported::or_keep(printed, &format!("{done}{}\n", left_alone(left)))
    }
}

/// What is said of ports that were not tried.
fn left_alone(ports: usize) -> String {
    format!(
        "{} left alone",
        count_and(ports, "more port", ["was", "were"])
    )
}

impl<'a> Outcome<'a> {
    fn done(target: &'a Target) -> Self {
        Self {
            target,
            outcome: v1::PortOutcome::Done,
            code: String::new(),
            message: String::new(),
        }
    }

    fn failed(target: &'a Target, error: &CliError) -> Self {
        let code = match error {
            CliError::Client(ClientError::Refused(status)) => status.get_details_error_info(),
            _ => None,
        };
        Self {
            target,
            outcome: v1::PortOutcome::Failed,
            code: code.map_or_else(String::new, |info| info.reason),
            message: error.to_string(),
        }
    }

    fn as_json(&self) -> Value {
        let outcome = self.outcome.as_str_name();
        json!({
            "port": {
                "guid": format!("{:#018x}", self.target.port.node_guid),
                "name": self.target.name,
                "port": self.target.port.port,
            },
            "outcome": outcome.trim_start_matches("PORT_OUTCOME_").to_lowercase(),
            "code": self.code,
            "message": self.message,
        })
    }
}

fn done(action: v1::PortAction, name: &str) -> String {
    match action {
        v1::PortAction::Disable => format!("disabled {name}"),
        v1::PortAction::Enable | v1::PortAction::Unspecified => format!("enabled {name}"),
        v1::PortAction::Bounce => format!("bounced {name}"),
        v1::PortAction::LedOn => format!("switched on the beacon of {name}"),
        v1::PortAction::LedOff => format!("switched off the beacon of {name}"),
        v1::PortAction::SetLink => format!("set widths or speeds of {name}"),
    }
}

fn would(action: v1::PortAction, name: &str) -> String {
    match action {
        v1::PortAction::Disable => format!("disable {name}"),
        v1::PortAction::Enable | v1::PortAction::Unspecified => format!("enable {name}"),
        v1::PortAction::Bounce => format!("bounce {name}"),
        v1::PortAction::LedOn => format!("switch on the beacon of {name}"),
        v1::PortAction::LedOff => format!("switch off the beacon of {name}"),
        v1::PortAction::SetLink => format!("set widths or speeds of {name}"),
    }
}
