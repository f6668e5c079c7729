//! All hosts at once.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::runtime::Runtime;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use weft_fabric::Guid;
use weft_transport::{Address, PortStatus};

use super::client::{Client, Experience};
use super::question::Question;
use crate::Failure;
use crate::fabrics::new_tree;

/// Ports of the switches.
const RADIX: u8 = 48;
/// A client's targets lie this far apart; a prime, so that each is another.
const STRIDE: usize = 401;
/// Time limit for a manager until every port carries data and it answers.
const PATIENCE: Duration = Duration::from_secs(120);
/// From the first answer to the load: the manager shall be at rest.
const REST: Duration = Duration::from_secs(3);

/// A client at every host, all on one thread.
pub(super) struct Load {
    runtime: Runtime,
    clients: Vec<Client>,
    ports: Arc<Vec<PortStatus>>,
}

/// Results of all clients together.
#[derive(Debug, Default)]
pub(super) struct Asked {
    /// Ascending, seconds.
    pub(super) latencies: Vec<f64>,
    pub(super) again: u64,
    pub(super) busy: u64,
    /// Time from the first request to the last answer.
    seconds: f64,
    /// Time that the manager had on the cores, milliseconds.
    pub(super) manager_ms: u64,
    /// CPU time of the emulated fabric and the clients, which are one process, milliseconds.
    pub(super) rest_ms: u64,
}

impl Asked {
    pub(super) fn per_second(&self) -> f64 {
        self.latencies.len() as f64 / self.seconds.max(f64::MIN_POSITIVE)
    }

    /// A time divided among the queries, microseconds.
    pub(super) fn micros_each(&self, millis: u64) -> f64 {
        1e3 * millis as f64 / self.latencies.len().max(1) as f64
    }

    /// The time within which this fraction of all requests was answered, seconds.
    pub(super) fn quantile(&self, part: f64) -> f64 {
        let last = self.latencies.len().saturating_sub(1);
        let at = (part * last as f64).round() as usize;
        self.latencies.get(at).copied().unwrap_or(0.0)
    }

    fn add(&mut self, experience: Experience) {
        self.latencies.extend(experience.latencies);
        self.again += experience.again;
        self.busy += experience.busy;
    }
}

impl Load {
    /// Puts a client on every host of a fabric of this size, and waits until they are answered.
    pub(super) fn attach(hosts: u64, address: Address) -> Result<Self, Failure> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(Failure::io("runtime"))?;
        let topology = new_tree(hosts, RADIX)?;
        let path = match address {
            Address::Unix(path) => path,
            Address::Tcp { .. } => PathBuf::new(),
        };
        let guids: Vec<Guid> = topology.hfis().map(|(_, node)| node.guid()).collect();
        let attached = runtime.block_on(async {
            let attached = timeout(PATIENCE, attach_all(&path, &guids)).await;
            attached.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
        });
        let clients = attached.map_err(Failure::io("clients on a fabric that comes up"))?;
        let ports = clients.iter().map(|client| client.port.clone()).collect();
        Ok(Self {
            runtime,
            clients,
            ports: Arc::new(ports),
        })
    }

    /// Lets every client send `count` requests, all at the same time.
    pub(super) fn run(&mut self, question: Question, count: u32) -> Result<Asked, Failure> {
        let clients = std::mem::take(&mut self.clients);
        let ports = Arc::clone(&self.ports);
        let asked = self.runtime.block_on(ask(clients, ports, question, count));
        let (clients, asked) = asked.map_err(Failure::io(format!("asking for {question}")))?;
        self.clients = clients;
        Ok(asked)
    }
}

async fn attach_all(path: &Path, guids: &[Guid]) -> io::Result<Vec<Client>> {
    let mut clients = Vec::new();
    for guid in guids {
        clients.push(Client::attach(path, *guid).await?);
    }
    first_answer(&mut clients).await?;
    Ok(clients)
}

/// Waits until the manager knows a path from the first host to the last, and then for it to rest.
async fn first_answer(clients: &mut [Client]) -> io::Result<()> {
    let [first, .., last] = clients else {
        return Err(io::Error::other("fewer than two hosts"));
    };
    let target = || std::iter::once(last.port.clone());
    while first.ask_all(Question::Path, 2, target()).await.is_err() {
        sleep(REST).await;
    }
    sleep(REST).await;
    Ok(())
}

async fn ask(
    clients: Vec<Client>,
    ports: Arc<Vec<PortStatus>>,
    question: Question,
    count: u32,
) -> io::Result<(Vec<Client>, Asked)> {
    let start = Instant::now();
    let mut tasks = JoinSet::new();
    for (index, mut client) in clients.into_iter().enumerate() {
        let ports = Arc::clone(&ports);
        tasks.spawn(async move {
            let hosts = ports.len();
            let places = (0..count as usize).map(|k| (index + 1 + k * STRIDE) % hosts);
            let others = places.filter_map(|place| ports.get(place).cloned());
            let experience = client.ask_all(question, hosts, others).await;
            experience.map(|experience| (index, client, experience))
        });
    }
    let mut asked = Asked::default();
    let mut clients = Vec::new();
    while let Some(joined) = tasks.join_next().await {
        let (index, client, experience) = joined.map_err(io::Error::other)??;
        asked.add(experience);
        clients.push((index, client));
    }
    asked.seconds = start.elapsed().as_secs_f64();
    asked.latencies.sort_by(f64::total_cmp);
    clients.sort_by_key(|(index, _)| *index);
    let clients = clients.into_iter().map(|(_, client)| client).collect();
    Ok((clients, asked))
}
