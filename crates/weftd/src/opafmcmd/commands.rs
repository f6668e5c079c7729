//! The commands of `opafmcmd`, carried out as the same commands of `weft` are.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;
use tokio::sync::{mpsc, oneshot};
use tracing::{info, warn};
use weft_fabric::enums::SmState;
use weft_history::audit;
use weft_manager::CommandError;
use weft_manager::sm::loop_test::LoopTestOrder;
use weft_manager::sm::pause::PAUSE_MAX;

use super::adaptive;
use super::loop_test::{self as shown, LoopCommand};
use super::message::{Asked, Message, Return};
use super::text::counters;
use crate::audit::{Audit, Outcome};
use crate::control::{Asker, Control, ElementOrder, Refusal, usual_deadline};
use crate::counters::Scope;
use crate::dump::{Sources, dump};
use crate::event_hub::{EventHub, unix_time_ns};
use crate::logging::{of_vendor_level, with_mask, with_mode};
use crate::loop_test;
use crate::operations::Origin;
use crate::request::{Request, ask};

/// Who gives the orders.
const BY: Asker = Asker("opafmcmd");

/// Which of the vendor's managers a socket stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Manager {
    Subnet,
    Performance,
}

/// What the commands need.
#[derive(Clone)]
pub(crate) struct Commands {
    pub(crate) hub: std::sync::Arc<EventHub>,
    pub(crate) control: Control,
    pub(crate) engine: mpsc::Sender<Request>,
    pub(crate) connected_to: std::sync::Arc<str>,
    pub(crate) audit: Audit,
    pub(crate) instance: usize,
}

impl Commands {
    /// Carries a message of a user of this host out; it becomes the answer.
    pub(super) async fn carry_out(&self, manager: Manager, user: u32, message: &mut Message<'_>) {
        let answer = match message.asked() {
            Ok(asked) => match asked.change() {
                Some(name) => self.recorded(manager, asked, name, user, message).await,
                None => self.answer(manager, asked, message).await,
            },
            Err(code) => Err(code),
        };
        match answer {
            Ok(data) => message.answer(Return::Done, &data),
            Err(code) => message.answer(code, &[]),
        }
    }

    /// Carries a change out, and records it.
    async fn recorded(
        &self,
        manager: Manager,
        asked: Asked,
        name: &str,
        user: u32,
        message: &Message<'_>,
    ) -> Result<Vec<u8>, Return> {
        let entry = audit::Asked {
            way: "opafmcmd".to_owned(),
            peer: format!("user {user}"),
            method: format!("opafmcmd/{name}"),
            digest: audit::Hash::digest(message.data()).to_string(),
            request: message
                .number()
                .map_or(Value::Null, |number| json!({ "number": number })),
            ..audit::Asked::default()
        };
        let open = self.audit.asked(entry).await;
        let answer = self.answer(manager, asked, message).await;
        let outcome = match &answer {
            Ok(_) => Outcome::ok(),
            Err(code) => Outcome::refused(code.grpc(), format!("opafmcmd is told {code:?}")),
        };
        open.ended(outcome).await;
        answer
    }

    async fn answer(
        &self,
        manager: Manager,
        asked: Asked,
        message: &Message<'_>,
    ) -> Result<Vec<u8>, Return> {
        match (manager, asked) {
            (_, Asked::Lacking(name)) => Err(lacking(name)),
            (Manager::Performance, Asked::ShowPmCounters) => {
                Ok(self.counters(Scope::Performance, message.room()))
            }
            (Manager::Performance, Asked::ResetPmCounters) => {
                self.reset_counters(Scope::Performance).await
            }
            (Manager::Performance, _) | (_, Asked::Unknown(_)) => Err(Return::Unknown),
            (_, Asked::ShowPmCounters | Asked::ResetPmCounters) => Err(Return::Unknown),
            (_, Asked::ShowCounters) => Ok(self.counters(Scope::Subnet, message.room())),
            (_, Asked::ResetCounters) => self.reset_counters(Scope::Subnet).await,
            (_, Asked::ForceSweep) => self.sweep().await,
            (_, Asked::RestorePriority) => self.restore_priority().await,
            (_, Asked::LogLevel) => self.log_level(message.number()?).await,
            (_, Asked::LogMode) => self.log_mode(message.number()?).await,
            (_, Asked::LogMask) => self.log_mask(message.text(4)?, message.number()?).await,
            (_, Asked::PerfDebug) => {
                info!(
                    event = "durations_shown",
                    "the durations of sweeps and their phases are always in metrics and in 'weft sweep --list'"
                );
                Ok(Vec::new())
            }
            (_, Asked::StateDump) => self.dump(Path::new(message.text(0)?)).await,
            (_, Asked::ShowAdaptiveRouting) => {
                adaptive::shown(&self.hub.config().effective, self.instance)
            }
            (_, Asked::SetAdaptiveRouting) => {
                let order = adaptive::order(message.three_numbers()?);
                self.set_elements(ElementOrder::Adaptive(order)).await
            }
            (_, Asked::ForceRebalance) => {
                info!(
                    event = "always_balanced",
                    "routes always are those that a new calculation gives"
                );
                Ok(Vec::new())
            }
            (_, Asked::ForceRewrite) => match message.number()? {
                on @ (0 | 1) => self.set_elements(ElementOrder::Rewrite(on == 1)).await,
                _ => Err(Return::Invalid),
            },
            (_, Asked::SkipWrites) => {
                let bits = message.number()?;
                self.set_elements(ElementOrder::SkipWrites(bits)).await
            }
            (_, Asked::PauseSweeps) => {
                let paused = self.control.pause(PAUSE_MAX, BY, usual_deadline()).await;
                done(paused)
            }
            (_, Asked::ResumeSweeps) => done(self.control.resume(BY, usual_deadline()).await),
            (_, Asked::LoopTest(command)) => self.loop_test(command, message).await,
        }
    }

    /// The text of counts, cut so that a 0 ends it: the client prints up to there.
    fn counters(&self, scope: Scope, room: usize) -> Vec<u8> {
        let counted = self.hub.counters().read(&self.hub.status(), scope);
        ended(counters(&counted, unix_time_ns()), room)
    }

    async fn reset_counters(&self, scope: Scope) -> Result<Vec<u8>, Return> {
        let reset = self.control.reset_counters(scope, BY, usual_deadline());
        done(reset.await)
    }

    async fn set_elements(&self, order: ElementOrder) -> Result<Vec<u8>, Return> {
        let by = Origin {
            author: "opafmcmd".to_owned(),
            ..Origin::default()
        };
        done(self.control.set_elements(order, by, usual_deadline()).await)
    }

    async fn loop_test(
        &self,
        command: LoopCommand,
        message: &Message<'_>,
    ) -> Result<Vec<u8>, Return> {
        let test = loop_test::status(&self.engine).await;
        let test = test.map_err(|refusal| code(&refusal))?;
        let asked = message.data();
        match command {
            LoopCommand::ShowPaths => {
                shown::part(asked, &shown::paths(&test, shown::index(asked)?))
            }
            LoopCommand::ShowTables => {
                let tables = shown::tables(&self.hub.snapshot(), shown::index(asked)?);
                shown::part(asked, &tables)
            }
            LoopCommand::ShowTopology => shown::part(asked, &shown::topology(&self.hub.snapshot())),
            LoopCommand::ShowConfig => Ok(ended(shown::config(&test), message.room())),
            // It comes without a number.
            LoopCommand::Stop => {
                self.order_loop_test(LoopTestOrder::Stop, message.room())
                    .await
            }
            _ => match command.order(message.number()?, &test) {
                Some(order) => self.order_loop_test(order, message.room()).await,
                None => Err(Return::Internal),
            },
        }
    }

    /// Carries an order to the loop test out; like the vendor's manager it answers after the sweep.
    async fn order_loop_test(&self, order: LoopTestOrder, room: usize) -> Result<Vec<u8>, Return> {
        let done = loop_test::order(&self.hub, &self.engine, order, BY).await;
        if let Ok(sweep) = done {
            loop_test::swept(&self.hub, sweep).await;
        }
        match shown::outcome(order, done) {
            Ok(text) => Ok(ended(text, room)),
            Err(refusal) => Err(code(&refusal)),
        }
    }

    async fn sweep(&self) -> Result<Vec<u8>, Return> {
        let status = self.hub.status();
        if matches!(status.role, SmState::STANDBY | SmState::NOT_ACTIVE) {
            return Err(Return::NotMaster);
        }
        if status.pause.is_some() {
            return Err(Return::Busy);
        }
        let (told, answer) = oneshot::channel();
        ask(&self.engine, Request::Sweep(told)).map_err(|refusal| code(&refusal))?;
        let number = answer.await.map_err(|_| Return::Closed)?;
        let number = number.map_err(|_| Return::Unavailable)?;
        info!(
            event = "sweep_asked",
            by = BY.0,
            "{BY} asks for sweep {number}"
        );
        Ok(Vec::new())
    }

    async fn restore_priority(&self) -> Result<Vec<u8>, Return> {
        let restored = self.control.restore_priority(BY, usual_deadline());
        done(restored.await)
    }

    async fn log_level(&self, level: u32) -> Result<Vec<u8>, Return> {
        let filter = of_vendor_level(level).ok_or(Return::Invalid)?;
        self.log_filter(filter).await
    }

    /// Bit 0 alone: where the log goes is settled at the start.
    async fn log_mode(&self, mode: u32) -> Result<Vec<u8>, Return> {
        match mode {
            0 | 1 => {
                let filter = with_mode(&self.control.log_level().filter, mode == 1);
                self.log_filter(filter).await
            }
            2 | 3 => Err(lacking("smLogMode with bit 1")),
            _ => Err(Return::Invalid),
        }
    }

    async fn log_mask(&self, part: &str, mask: u32) -> Result<Vec<u8>, Return> {
        let filter = with_mask(&self.control.log_level().filter, part, mask);
        match filter {
            Some(filter) => self.log_filter(filter).await,
            None => Err(lacking("smLogMask of a part other than SM, SA and PM")),
        }
    }

    async fn log_filter(&self, filter: String) -> Result<Vec<u8>, Return> {
        let set = self.control.set_log_level(filter, BY, usual_deadline());
        done(set.await)
    }

    /// Writes the state into a new file of the directory that the client names.
    async fn dump(&self, dir: &Path) -> Result<Vec<u8>, Return> {
        let document = dump(Sources {
            hub: &self.hub,
            control: &self.control,
            engine: &self.engine,
            connected_to: &self.connected_to,
        });
        let document = document.await.map_err(|refusal| code(&refusal))?;
        let seconds = unix_time_ns() / 1_000_000_000;
        let file = dir.join(format!("weft-dump-{}-{seconds}.json", self.instance));
        match write_new(file.clone(), &document).await {
            Ok(()) => {
                info!(
                    event = "state_dumped",
                    by = BY.0,
                    "the state is written to {}, asked for by {BY}",
                    file.display()
                );
                Ok(Vec::new())
            }
            Err(error) => {
                warn!(
                    event = "state_not_dumped",
                    "the state cannot be written to {}: {error}",
                    file.display()
                );
                Err(Return::Internal)
            }
        }
    }
}

/// A text as it fits into this many bytes with the 0 that ends it.
fn ended(text: String, room: usize) -> Vec<u8> {
    let mut bytes = text.into_bytes();
    bytes.truncate(room.saturating_sub(1));
    bytes
}

/// Writes a file that is not there yet, for its owner alone.
async fn write_new(file: PathBuf, bytes: &[u8]) -> std::io::Result<()> {
    let mut options = tokio::fs::OpenOptions::new();
    options.write(true).create_new(true).mode(0o600);
    let mut file = options.open(file).await?;
    file.write_all(bytes).await?;
    file.flush().await
}

fn lacking(name: &str) -> Return {
    warn!(
        event = "command_lacking",
        "opafmcmd asks for {name}, which weftd does not have"
    );
    Return::NotSupported
}

fn done<T>(result: Result<T, Refusal>) -> Result<Vec<u8>, Return> {
    let done = result.map(|_| Vec::new());
    done.map_err(|refusal| {
        warn!(event = "command_refused", "opafmcmd is refused: {refusal}");
        code(&refusal)
    })
}

fn code(refusal: &Refusal) -> Return {
    match refusal {
        Refusal::Port(CommandError::NotMaster { .. }) => Return::NotMaster,
        Refusal::Port(CommandError::Paused) | Refusal::Busy | Refusal::ManyPlans => Return::Busy,
        Refusal::Detached(_) => Return::Unavailable,
        Refusal::LogLevel(_) | Refusal::Config(_) => Return::Invalid,
        Refusal::TooLate => Return::Late,
        Refusal::Stopping => Return::Closed,
        _ => Return::Internal,
    }
}
