//! Registrations of agents.

use std::collections::BTreeMap;

use weft_transport::Registration;
use weft_umad_abi::umad::CA_AGENTS_MAX;

use super::PortId;

/// Most agents of a process.
pub const AGENTS_MAX: usize = 1024;
/// Bits of a key that number the agents of a process; the others number the process.
const AGENT_BITS: u32 = 12;

/// Which side segments and reassembles messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RmppOwner {
    /// The agent sends single datagrams only.
    Nobody,
    /// The program, which sees each segment.
    User,
    /// The kernel, so that the program sees whole messages.
    Kernel,
}

/// A program's interest in a class.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Agent {
    /// Its port.
    pub port: PortId,
    /// Management class.
    pub class: u8,
    /// Version of the class.
    pub version: u8,
    /// The vendor's identifier, for vendor classes.
    pub oui: u32,
    /// Bit n: requests with method n are for it.
    pub methods: u128,
    /// The side that does RMPP.
    pub rmpp: RmppOwner,
}

impl Agent {
    /// Its queue pair: 0 for subnet management, 1 for the rest.
    pub fn qp(&self) -> u32 {
        u32::from(!weft_wire::header::class::is_sm(self.class))
    }

    /// The request to the fabric on its behalf, by its key; `None` for agents that only send.
    pub fn registration(&self, key: u32) -> Option<Registration> {
        (self.methods != 0).then_some(Registration {
            token: key,
            class: self.class,
            version: self.version,
            oui: self.oui,
            methods: self.methods,
        })
    }
}

/// The agents of a process, each by a key that is the upper half of its transaction ids.
#[derive(Debug)]
pub struct Agents {
    client: u32,
    /// With the number that the agent has at its port.
    by_key: BTreeMap<u32, (u32, Agent)>,
    next: u32,
}

impl Agents {
    /// None, in the process that the fabric knows by this number.
    pub fn new(client: u32) -> Self {
        Self {
            client,
            by_key: BTreeMap::new(),
            next: 0,
        }
    }

    /// Lets one in; returns its key and its number at the port, or nothing when there are too many.
    pub fn add(&mut self, agent: Agent) -> Option<(u32, u32)> {
        if self.by_key.len() >= AGENTS_MAX {
            return None;
        }
        let taken = |number: &u32| self.find(agent.port, *number).is_some();
        let number = (0..CA_AGENTS_MAX).find(|number| !taken(number))?;
        // A key is not used again soon: late answers would come to the wrong agent.
        let key = loop {
            let key = self.client << AGENT_BITS | self.next & ((1 << AGENT_BITS) - 1);
            self.next = self.next.wrapping_add(1);
            if !self.by_key.contains_key(&key) {
                break key;
            }
        };
        self.by_key.insert(key, (number, agent));
        Some((key, number))
    }

    fn find(&self, port: PortId, number: u32) -> Option<u32> {
        let mut agents = self.by_key.iter();
        agents
            .find(|(_, (own, agent))| *own == number && agent.port == port)
            .map(|(key, _)| *key)
    }

    /// The agent with a number at a port, with its key.
    pub fn at_port(&self, port: PortId, number: u32) -> Option<(u32, Agent)> {
        let key = self.find(port, number)?;
        self.by_key.get(&key).map(|(_, agent)| (key, *agent))
    }

    /// The agent with a key, and its number at its port.
    pub fn get(&self, key: u32) -> Option<(u32, Agent)> {
        self.by_key.get(&key).copied()
    }

    /// The agent that requests and traps like this one are for.
    pub fn serving(&self, mad: &[u8]) -> Option<u32> {
        let wants = |(key, (_, agent)): &(&u32, &(u32, Agent))| {
            let registration = agent.registration(**key);
            registration.is_some_and(|registration| registration.wants(mad))
        };
        self.by_key.iter().find(wants).map(|(key, _)| *key)
    }

    /// Takes one out; returns its key.
    pub fn remove(&mut self, port: PortId, number: u32) -> Option<u32> {
        let key = self.find(port, number)?;
        self.by_key.remove(&key);
        Some(key)
    }

    /// Takes all of a port out; returns their keys.
    pub fn remove_port(&mut self, port: PortId) -> Vec<u32> {
        let gone = self
            .by_key
            .extract_if(.., |_, (_, agent)| agent.port == port);
        gone.map(|(key, _)| key).collect()
    }
}
