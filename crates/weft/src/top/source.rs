//! Reading from the daemon's memory.

use tonic::Code;
use weft_api::v1;

use super::LINKS_ON_SCREEN;
use super::data::{Data, Key, key};
use super::group::{Group, Members};
use super::order::Order;
use super::state::{Screen, State};
use crate::args::ScreenName;
use crate::at::too_old;
use crate::connect::{Effort, Session};
use crate::error::CliError;
use crate::pm;

/// Ports of an answer; with virtual fabrics the daemon gives no more than 200.
const PAGE: u32 = 1_000;

/// What a screen needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Want {
    pub(super) links: u32,
    order: Order,
    /// Also all ports: the live view keeps their use.
    pub(super) ports: bool,
    /// Also virtual fabrics, and their counters at all ports.
    fabrics: bool,
    port: Option<Key>,
    /// Also the ports of two nodes.
    pair: Option<[u64; 2]>,
    /// Also the fabric's manager.
    manager: bool,
    /// Also the groups of the configuration.
    groups: bool,
    /// Also the performance manager's settings.
    settings: bool,
    /// A moment of the past, none for the last reading.
    at: Option<v1::Moment>,
}

impl Want {
    pub(super) fn of(state: &State) -> Self {
        let screen = state.screen();
        let is_now = state.at.is_none();
        Self {
            links: LINKS_ON_SCREEN,
            order: state.order,
            ports: true,
            // Of the past they are not kept.
            fabrics: is_now
                && matches!(
                    screen,
                    Screen::Named(ScreenName::Fabrics) | Screen::Fabric(_)
                ),
            port: match screen {
                Screen::Port(key) | Screen::FabricPort(_, key) => Some(*key),
                _ => None,
            },
            pair: match screen {
                Screen::Pair(from, to) => Some([*from, *to]),
                _ => None,
            },
            manager: is_now && *screen == Screen::Named(ScreenName::Image),
            groups: matches!(
                screen,
                Screen::Named(ScreenName::Summary)
                    | Screen::Group(Group::Configured(_))
                    | Screen::Ports(Group::Configured(_))
            ),
            settings: *screen == Screen::Named(ScreenName::Settings),
            at: state.at,
        }
    }
}

impl Want {
    /// How long it may take: what is past is read from files.
    fn effort(&self) -> Effort {
        match self.at {
            None => Effort::Look,
            Some(_) => Effort::Work,
        }
    }
}

/// The ports of a node that had a link in a reading of the past.
fn ports_then(counted: &[v1::PortCounters], node: u64) -> Vec<v1::Port> {
    let ports = counted.iter().filter_map(|port| {
        let id = port.port.as_ref()?.port.filter(|id| id.node_guid == node)?;
        Some(v1::Port {
            id: Some(id),
            neighbor: Some(port.neighbor.as_ref()?.port?),
            state: v1::PortState::Active.into(),
            ..v1::Port::default()
        })
    });
    ports.collect()
}

/// The daemon, and what it has told last.
#[derive(Debug)]
pub(super) struct Source {
    session: Session,
    last: Option<(Want, Data)>,
}

impl Source {
    pub(super) fn new(session: Session) -> Self {
        Self {
            session,
            last: None,
        }
    }

    /// Reads what is wanted; ports only where there is a new image, and what is past only once.
    ///
    /// # Errors
    /// Where the daemon refuses or does not answer.
    pub(super) async fn read(&mut self, want: Want) -> Result<Data, CliError> {
        let known = self.last.as_ref();
        if let Some((_, data)) = known.filter(|(last, _)| want.at.is_some() && *last == want) {
            return Ok(data.clone());
        }
        let loads = self.loads(&want).await?;
        let mut data = match self.last.take() {
            Some((last, data)) if last == want && data.loads.image == loads.image => data,
            _ => self.rest(&want).await?,
        };
        data.loads = loads;
        self.last = Some((want, data.clone()));
        Ok(data)
    }

    async fn loads(&self, want: &Want) -> Result<v1::ListBusiestLinksResponse, CliError> {
        let order = want.order.of_links().unwrap_or(v1::LinkOrder::Utilization);
        let request = v1::ListBusiestLinksRequest {
            limit: want.links,
            order: order.into(),
            at: want.at,
        };
        let effort = want.effort();
        let mut service = self.session.services(effort).perf();
        let loads = service.list_busiest_links(request);
        let loads = self.session.answer(effort, loads).await?;
        match want.at.is_some() && loads.moment.is_none() {
            true => Err(too_old()),
            false => Ok(loads),
        }
    }

    async fn rest(&self, want: &Want) -> Result<Data, CliError> {
        let mut data = Data::default();
        if want.ports {
            data.ports = self.ports(want).await?;
        }
        if let Some(key) = want.port {
            data.port = self.port(key, want).await?;
        }
        if want.fabrics {
            let mut service = self.session.services(Effort::Look).virtual_fabrics();
            let listed = service.list_virtual_fabrics(v1::ListVirtualFabricsRequest {});
            let listed = self.session.answer(Effort::Look, listed).await?;
            data.fabrics = listed.virtual_fabrics;
        }
        for node in want.pair.into_iter().flatten() {
            let ports = match &want.at {
                None => self.node_ports(node).await?,
                Some(_) => ports_then(&data.ports, node),
            };
            data.links.extend(ports);
        }
        if want.manager {
            let mut service = self.session.services(Effort::Look).fabric();
            let fabric = service.get_fabric(v1::GetFabricRequest::default());
            data.fabric = Some(self.session.answer(Effort::Look, fabric).await?);
        }
        if want.groups {
            data.groups = self.groups(want.at.as_ref()).await?;
        }
        if want.settings {
            data.settings = Some(pm::settings(&self.session).await?);
        }
        Ok(data)
    }

    /// The ports of a node with their states; none if it is gone.
    async fn node_ports(&self, node: u64) -> Result<Vec<v1::Port>, CliError> {
        let request = v1::ListPortsRequest {
            focus: format!("nodeguid:{node:#018x}"),
            page_size: PAGE,
            ..v1::ListPortsRequest::default()
        };
        let mut service = self.session.services(Effort::Look).fabric();
        let listed = service.list_ports(request).await;
        match listed {
            Err(status) if status.code() == Code::NotFound => Ok(Vec::new()),
            listed => {
                let listed = self.session.answer(Effort::Look, async { listed }).await?;
                Ok(listed.ports)
            }
        }
    }

    /// The groups of the configuration with their ports.
    async fn groups(&self, at: Option<&v1::Moment>) -> Result<Vec<Members>, CliError> {
        let mut groups = Vec::new();
        for group in pm::groups(&self.session, &[], at).await?.groups {
            if group.built_in {
                continue;
            }
            let name = group.name;
            let ports = pm::ports(&self.session, &name, "", &["port.port"], at).await?;
            let ports = ports.ports.iter().map(|port| key(port.port.as_ref()));
            let ports = ports.collect();
            groups.push(Members { name, ports });
        }
        Ok(groups)
    }

    async fn ports(&self, want: &Want) -> Result<Vec<v1::PortCounters>, CliError> {
        let mut request = v1::ListPortCountersRequest {
            selection: Some(v1::CounterSelection {
                virtual_fabrics: want.fabrics,
                ..v1::CounterSelection::default()
            }),
            page_size: if want.fabrics { 200 } else { PAGE },
            at: want.at,
            ..v1::ListPortCountersRequest::default()
        };
        let mut ports = Vec::new();
        loop {
            let mut service = self.session.services(Effort::Look).counters();
            let listed = service.list_port_counters(request.clone());
            let listed = self.session.answer(Effort::Look, listed).await?;
            ports.extend(listed.ports);
            if listed.next_page_token.is_empty() {
                return Ok(ports);
            }
            request.page_token = listed.next_page_token;
        }
    }

    async fn port(
        &self,
        (node_guid, port): Key,
        want: &Want,
    ) -> Result<Option<v1::PortCounters>, CliError> {
        let request = v1::GetPortCountersRequest {
            port: Some(v1::PortId { node_guid, port }),
            selection: Some(v1::CounterSelection {
                lanes: want.at.is_none(),
                virtual_fabrics: want.at.is_none(),
                ..v1::CounterSelection::default()
            }),
            at: want.at,
        };
        let mut service = self.session.services(Effort::Look).counters();
        let got = service.get_port_counters(request);
        Ok(self.session.answer(Effort::Look, got).await?.port)
    }
}
