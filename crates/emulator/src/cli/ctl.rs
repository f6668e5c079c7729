//! Changes a running fabric.

use std::error::Error;
use std::io::{Write, stdout};

use clap::Args;
use serde_json::json;
use weft_emulator::control::{Controller, ControllerError};
use weft_emulator::target::{Place, Target};
use weft_fabric::text::for_terminal;
use weft_fabric::{Guid, PortNum};
use weft_transport::Address;

use super::change::Change;

const EXAMPLES: &str = "\
Examples:
  weft-emulator ctl link-down edge1:19
  weft-emulator ctl link-down 5% --seed 7
  weft-emulator ctl link-lanes 'core*:*' 3
  weft-emulator ctl node-down core2
  weft-emulator ctl --connect unix:PATH silence edge1     the fabric of `weftd --emulate`: its log names the socket";

/// A change of a running fabric.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Ctl {
    /// Address of the emulator: unix:PATH or tcp:HOST:PORT
    #[arg(
        long,
        value_name = "ADDRESS",
        default_value = weft_emulator::server::DEFAULT_ADDRESS,
        global = true
    )]
    connect: Address,
    /// Print what was changed as JSON
    #[arg(long, global = true)]
    json: bool,
    /// Chooses the links of a share such as 5%
    #[arg(long, global = true, value_name = "N", default_value_t = 1)]
    seed: u64,
    #[command(subcommand)]
    change: Change,
}

pub(crate) async fn run(ctl: Ctl) -> Result<(), Box<dyn Error>> {
    change(ctl).await.map_err(|error| match error.downcast_ref() {
        Some(ControllerError::Connect(away)) => {
            let advice = "what `weft-emulator` prints and `weftd --emulate` logs names its socket: give that as --connect";
            format!("{away}; {advice}").into()
        }
        _ => error,
    })
}

async fn change(ctl: Ctl) -> Result<(), Box<dyn Error>> {
    let controller = Controller::Socket(ctl.connect);
    if let Change::Cables(change) = &ctl.change {
        return change.run(&controller, ctl.json).await;
    }
    if let Change::Keys(keys) = &ctl.change {
        return keys.run(&controller, ctl.json).await;
    }
    let Some((done, wanted)) = ctl.change.wanted() else {
        return match ctl.change.of_all()? {
            Some((control, said)) => {
                controller.control(control).await?;
                match ctl.json {
                    true => print(&json!({ "done": said }).to_string()),
                    false => print(&said),
                }
            }
            None => {
                let report = controller.traffic().await?;
                print(&serde_json::to_string_pretty(&report)?)
            }
        };
    };
    let target = Target {
        text: wanted.text,
        ports: wanted.ports,
        seed: ctl.seed,
    };
    let places = controller.places(target).await?;
    for place in &places {
        let port = PortNum(place.port.unwrap_or_default());
        let control = ctl.change.at(Guid(place.guid), port)?;
        controller.control(control).await?;
        if !ctl.json {
            print(&format!("{done}: {}", described(place)))?;
        }
    }
    match ctl.json {
        true => print(&serde_json::to_string_pretty(
            &json!({ "done": done, "at": places }),
        )?),
        false => Ok(()),
    }
}

/// `edge1:3 (to core1:1)`.
pub(super) fn described(place: &Place) -> String {
    let port = place.port.map_or(String::new(), |port| format!(":{port}"));
    let far = place.far.as_ref();
    let far = far.map_or(String::new(), |(name, port)| format!(" (to {name}:{port})"));
    format!("{}{port}{far}", place.name)
}

pub(super) fn print(text: &str) -> Result<(), Box<dyn Error>> {
    writeln!(stdout(), "{}", for_terminal(text))
        .map_err(|error| format!("cannot write: {error}"))?;
    Ok(())
}
