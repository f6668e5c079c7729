//! Nodes and ports that a change is of, by what people call them.

use clap::Args;

#[derive(Debug, Args)]
pub(super) struct Node {
    /// Nodes: a name (edge1, node1), a pattern ('core*') or a GUID (0x0011750101000001)
    #[arg(value_name = "NODE")]
    node: String,
}

#[derive(Debug, Args)]
pub(super) struct Port {
    /// Ports: edge1:3, node1:1, 'core*:*', 0x0011750102000001:3, or 5% of the links between switches
    #[arg(value_name = "PORT")]
    port: String,
    /// Port number, if only a node is named before it
    #[arg(value_name = "NUMBER")]
    number: Option<u8>,
}

/// Ports, and a number that is written there.
#[derive(Debug, Args)]
pub(super) struct PortAnd {
    /// Ports: edge1:3, node1:1, 'core*:*', 0x0011750102000001:3, or 5% of the links between switches
    #[arg(value_name = "PORT")]
    port: String,
    /// The number; before it the port's, if only a node is named
    #[arg(value_name = "VALUE", required = true, num_args = 1..=2)]
    values: Vec<u32>,
}

/// Nodes or ports that are changed.
pub(super) struct Wanted {
    pub(super) text: String,
    pub(super) ports: bool,
}

impl Node {
    pub(super) fn wanted(&self) -> Wanted {
        Wanted {
            text: self.node.clone(),
            ports: false,
        }
    }
}

pub(super) fn port(text: &str, number: Option<u32>) -> Wanted {
    Wanted {
        text: match number {
            Some(number) => format!("{text}:{number}"),
            None => text.to_owned(),
        },
        ports: true,
    }
}

impl Port {
    pub(super) fn wanted(&self) -> Wanted {
        port(&self.port, self.number.map(u32::from))
    }
}

impl PortAnd {
    pub(super) fn wanted(&self) -> Wanted {
        let number = self.values.first().filter(|_| self.values.len() > 1);
        port(&self.port, number.copied())
    }

    /// The number in a range.
    pub(super) fn value(
        &self,
        what: &str,
        allowed: std::ops::RangeInclusive<u32>,
    ) -> Result<u32, String> {
        let value = self.values.last().copied().unwrap_or_default();
        match allowed.contains(&value) {
            true => Ok(value),
            false => Err(format!(
                "{what}: {value}, allowed: {} to {}",
                allowed.start(),
                allowed.end()
            )),
        }
    }
}
