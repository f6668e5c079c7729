//! The health service, by service and by thread.

use std::time::Duration;

use tonic_health::ServingStatus::{self, NotServing, Serving};
use tonic_health::server::HealthReporter;

use crate::event_hub::EventHub;
use crate::heartbeat::{BEAT, Hearts};

/// Silence after which a thread's service is reported as not serving.
const SILENCE_MAX: Duration = Duration::from_secs(5);

/// Services that need the fabric; the empty name is the daemon as a whole. All others show the last known state while the
/// fabric is gone, and say so.
const ACTING: [&str; 8] = [
    "",
    "weft.v1.RouteService",
    "weft.v1.PortService",
    "weft.v1.ReplacementService",
    "weft.v1.PerfService",
    "weft.v1.PerfGroupService",
    "weft.v1.WhatIfService",
    "weft.emulator.v1.EmulatorService",
];
/// The service that does not serve while sweeps are paused, either.
const SWEEPS: &str = "weft.v1.SweepService";

/// Services that only read what is known.
fn reading() -> impl Iterator<Item = &'static str> {
    weft_api::services().filter(|name| !ACTING.contains(name) && *name != SWEEPS)
}

/// Everything that has a status, as it is before the first sweep has ended.
pub(super) async fn begin(reporter: &HealthReporter, hearts: &Hearts) {
    let threads = hearts.iter().map(|heart| service(heart.name()));
    let services = reading().chain(ACTING).chain([SWEEPS]);
    let services = services.map(str::to_owned);
    for name in services.chain(threads) {
        reporter.set_service_status(name, NotServing).await;
    }
}

/// Keeps every status true, for ever: services serve once the first sweep has ended, those that need
/// the fabric as long as it can be reached, that for sweeps unless they are paused, threads as long as they give
/// signs of life.
pub(super) async fn report(reporter: HealthReporter, hub: &EventHub, hearts: &Hearts) {
    let mut attachments = hub.attachments();
    let mut ticks = tokio::time::interval(BEAT);
    let mut swept = false;
    let mut told: Vec<(String, ServingStatus)> = Vec::new();
    loop {
        tokio::select! {
            _ = ticks.tick() => {}
            Ok(()) = attachments.changed() => {}
            () = hub.first_sweep(), if !swept => swept = true,
        }
        let attached = attachments.borrow_and_update().attached;
        let paused = hub.status().pause.is_some();
        let now = statuses(swept, attached, paused, hearts);
        for (name, status) in &now {
            if !told.contains(&(name.clone(), *status)) {
                reporter.set_service_status(name.clone(), *status).await;
            }
        }
        told = now;
    }
}

fn statuses(
    swept: bool,
    attached: bool,
    paused: bool,
    hearts: &Hearts,
) -> Vec<(String, ServingStatus)> {
    let serves = |holds: bool| if holds { Serving } else { NotServing };
    let alive = hearts.beat_within(SILENCE_MAX);
    let reading = reading().map(|name| (name.to_owned(), serves(swept)));
    let acting = ACTING.map(|name| (name.to_owned(), serves(swept && attached && alive)));
    let threads = hearts.iter().map(|heart| {
        let beats = heart.silence() < SILENCE_MAX;
        (service(heart.name()), serves(beats))
    });
    let sweeps = (
        SWEEPS.to_owned(),
        serves(swept && attached && alive && !paused),
    );
    let services = reading.chain(acting).chain([sweeps]);
    services.chain(threads).collect()
}

/// A thread's name as that of a service.
fn service(thread: &str) -> String {
    format!("weftd.{thread}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::heartbeat::Heart;

    #[test]
    fn every_service_of_the_api_has_a_status() {
        let hearts = Hearts::new(Vec::new());
        let told = statuses(true, true, false, &hearts);
        let mut told: Vec<&str> = told.iter().map(|(name, _)| name.as_str()).collect();
        told.sort_unstable();
        let mut all: Vec<&str> = weft_api::services().chain([""]).collect();
        all.sort_unstable();
        assert_eq!(told, all);
        assert!(all.contains(&"weft.v1.PictureService"), "{all:?}");
    }

    #[test]
    fn each_service_has_its_own_status() {
        let hearts = Hearts::new(vec![Heart::new("manager")]);
        let looked_up = |swept, attached, paused, name: &str| {
            let all = statuses(swept, attached, paused, &hearts);
            let found = all.into_iter().find(|(known, _)| known == name);
            found.map(|(_, status)| status)
        };
        let status = |swept, attached, name: &str| looked_up(swept, attached, false, name);
        for (paused, expected) in [(false, Serving), (true, NotServing)] {
            let sweeps = looked_up(true, true, paused, SWEEPS);
            assert_eq!(sweeps, Some(expected));
            assert_eq!(looked_up(true, true, paused, ""), Some(Serving));
        }
        for (swept, attached, acting, reading) in [
            (false, true, NotServing, NotServing),
            (true, true, Serving, Serving),
            (true, false, NotServing, Serving),
        ] {
            assert_eq!(status(swept, attached, ""), Some(acting));
            assert_eq!(status(swept, attached, "weft.v1.PortService"), Some(acting));
            assert_eq!(
                status(swept, attached, "weft.v1.FabricService"),
                Some(reading)
            );
            assert_eq!(status(swept, attached, "weftd.manager"), Some(Serving));
        }
    }
}
