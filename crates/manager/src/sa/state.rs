//! The whole state as bytes and back, for recordings. Indexes of the snapshot are made again.

use std::collections::VecDeque;
use std::sync::Arc;

use weft_fabric::{Snapshot, Tick};
use weft_state::{Reader, State, StateError, Writer};

use super::view::View;
use super::{Sa, SaSettings};
use crate::gsi::Server;

/// Outputs are taken before the state is written, and are no part of it.
impl State for Sa {
    fn write(&self, to: &mut Writer<'_>) {
        let Self {
            settings,
            server,
            view,
            cables,
            congestion,
            services,
            groups,
            subscriptions,
            keeping,
            now,
            outputs: _,
        } = self;
        settings.write(to);
        server.write(to);
        view.snapshot.write(to);
        cables.write(to);
        congestion.write(to);
        services.write(to);
        groups.write(to);
        subscriptions.write(to);
        keeping.write(to);
        now.write(to);
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, StateError> {
        let settings = SaSettings::read(from)?;
        let server = Server::read(from)?;
        let snapshot = Arc::<Snapshot>::read(from)?;
        Ok(Self {
            view: Arc::new(View::new(snapshot, &settings)),
            settings,
            server,
            cables: State::read(from)?,
            congestion: State::read(from)?,
            services: State::read(from)?,
            groups: State::read(from)?,
            subscriptions: State::read(from)?,
            keeping: State::read(from)?,
            now: Tick::read(from)?,
            outputs: VecDeque::new(),
        })
    }
}
