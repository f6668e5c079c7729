//! Congestion control, written to the devices once the fabric is up.

use weft_emulator::io::{Input, Output};
use weft_manager::congestion::{Congestion, CongestionInput, CongestionOutput, CongestionSettings};

use super::perform::ExperimentError;
use crate::world::World;

/// Has all devices of a fabric that is up do what the settings say.
///
/// # Errors
/// [`ExperimentError::Refused`] for the first setting that a device does not take.
pub(super) fn write(
    world: &mut World,
    settings: CongestionSettings,
) -> Result<(), ExperimentError> {
    let mut writer = Congestion::new(settings);
    let mut now = world.now();
    writer.handle(now, CongestionInput::Published(world.snapshot()));
    loop {
        while exchange(world, &mut writer, now)? {}
        let Some(next) = writer.deadline() else {
            return Ok(());
        };
        let answer = world.emulator.deadline();
        now = now.max(answer.map_or(next, |answer| answer.min(next)));
        world
            .emulator
            .handle(now, Input::Tick)
            .map_err(crate::world::WorldError::from)?;
        writer.handle(now, CongestionInput::Tick);
    }
}

/// Carries datagrams to and fro; says whether there were any.
fn exchange(
    world: &mut World,
    writer: &mut Congestion,
    now: weft_fabric::Tick,
) -> Result<bool, ExperimentError> {
    let (node, port) = world.host();
    let mut moved = false;
    while let Some(output) = writer.poll() {
        moved = true;
        match output {
            CongestionOutput::Send(packet) => {
                let input = Input::Send { node, port, packet };
                world
                    .emulator
                    .handle(now, input)
                    .map_err(crate::world::WorldError::from)?;
            }
            CongestionOutput::Held(_) => {}
            CongestionOutput::Refused {
                node,
                attribute,
                status,
                ..
            } => {
                return Err(ExperimentError::Refused {
                    what: format!("{node} answers {attribute:?} with status {status:#06x}"),
                });
            }
        }
    }
    while let Some(Output::Deliver {
        node: to,
        port: at,
        packet,
    }) = world.emulator.poll()
    {
        moved = true;
        if (to, at) == (node, port) {
            writer.handle(now, CongestionInput::Received(packet));
        }
    }
    Ok(moved)
}
