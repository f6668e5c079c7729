//! Changes of what cable is where.

use std::error::Error;

use clap::{Args, Subcommand};
use serde_json::json;
use weft_emulator::control::Controller;
use weft_emulator::io::Control;
use weft_emulator::target::{Place, Target};
use weft_fabric::{Guid, PortNum};

use super::ctl::{described, print};

#[derive(Debug, Subcommand)]
pub(crate) enum CableChange {
    /// Exchange the cables in two ports, as someone plugs them into each other's place
    ExchangeCables(TwoPorts),
    /// Pull an end of a cable and plug it into a port without one
    MoveCable(TwoPorts),
    /// Plug a new cable into two ports: those that are there are pulled, two ports of a switch make a loop
    PlugCable(TwoPorts),
}

#[derive(Debug, Args)]
pub(crate) struct TwoPorts {
    /// A port: edge1:3
    #[arg(value_name = "PORT")]
    a: String,
    /// The other port: edge1:4
    #[arg(value_name = "PORT")]
    b: String,
}

/// The cable in the place of another.
#[derive(Debug, Args)]
pub(crate) struct NewCable {
    /// Its serial number: up to 16 characters
    #[arg(long, value_name = "TEXT")]
    pub(crate) serial: String,
    /// Its part number; without it the usual one of the kind
    #[arg(long, value_name = "TEXT")]
    pub(crate) part: Option<String>,
}

impl CableChange {
    fn ports(&self) -> [&String; 2] {
        let (Self::ExchangeCables(ports) | Self::MoveCable(ports) | Self::PlugCable(ports)) = self;
        [&ports.a, &ports.b]
    }

    /// The change, and what is said of it.
    fn of(&self, ports: [(Guid, PortNum); 2]) -> (Control, &'static str) {
        let [from, to] = ports;
        match self {
            Self::ExchangeCables(_) => (Control::ExchangeCables { ports }, "cables exchanged"),
            Self::MoveCable(_) => (Control::MoveCable { from, to }, "cable moved"),
            Self::PlugCable(_) => (Control::PlugCable { ports }, "cable plugged in"),
        }
    }

    pub(crate) async fn run(
        &self,
        controller: &Controller,
        is_json: bool,
    ) -> Result<(), Box<dyn Error>> {
        let mut places = Vec::new();
        for text in self.ports() {
            let wanted = Target {
                text: text.clone(),
                ports: true,
                seed: 0,
            };
            let found = controller.places(wanted).await?;
            let [place] = &found[..] else {
                return Err(
                    format!("'{text}' names several ports; name one, such as edge1:3").into(),
                );
            };
            places.push(place.clone());
        }
        let [a, b] = &places[..] else { return Ok(()) };
        let end = |place: &Place| (Guid(place.guid), PortNum(place.port.unwrap_or_default()));
        let (control, done) = self.of([end(a), end(b)]);
        controller.control(control).await?;
        match is_json {
            true => print(&serde_json::to_string_pretty(
                &json!({ "done": done, "at": places }),
            )?),
            false => print(&format!("{done}: {} and {}", described(a), described(b))),
        }
    }
}
