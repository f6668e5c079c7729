//! The configurations: the stock one, and those that docs/security.md recommends.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use weft_manager::ManagerSettings;
use weft_manager::pm::PmSettings;
use weft_manager::sm::Settings;
use weft_manager::sm::settings::Fencing;

use super::bystanders::PARTITION;
use crate::campaign::SWEEP_INTERVAL;
use crate::campaign::bring_up::RunError;
use crate::campaign::programs::Port;
use crate::cluster::ServiceSettings;

/// Elements of `<Sm>` that docs/security.md recommends, with keys of a test.
pub const HARDENED: &str = include_str!("hardened.xml");

const STOCK: &str = include_str!("../../../../../config/opafm.xml");
/// The instance's section of the stock file, which takes all from `<Common>`.
const OWN: &str = "<Sm/>";
/// Switches let in any source LID and wait for who takes nothing, so that attacks are known to do harm.
const UNCHECKED: &str = "<SmaSpoofingCheck>0</SmaSpoofingCheck><SwitchLifetime>infinite</SwitchLifetime>\
                         <HoqLife>infinite</HoqLife><VLStallCount>0</VLStallCount>";
/// The secret of a site.
const SECRET: [u8; 32] = [0x5E; 32];
/// From one sweep of the PM to the next.
pub(super) const PM_INTERVAL: Duration = Duration::from_secs(5);

/// How the managers are configured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Guard {
    /// As config/opafm.xml has it, without the check of source LIDs, lifetimes of packets and stalled lanes.
    Unchecked,
    /// As config/opafm.xml has it.
    Stock,
    /// With [`HARDENED`]: one M_Key for all ports.
    Keys,
    /// That, with `--fencing-secret`: an M_Key for each port.
    Fenced,
}

impl Guard {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Unchecked, Self::Stock, Self::Keys, Self::Fenced];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Unchecked => "unchecked",
            Self::Stock => "stock",
            Self::Keys => "keys",
            Self::Fenced => "fenced",
        }
    }

    /// Settings of the managers. The bystanders have a partition of their own; unchecked, all others are in it.
    pub(super) fn settings(
        self,
        bystanders: &[Port],
    ) -> Result<(Settings, ServiceSettings), RunError> {
        let own = match self {
            Self::Unchecked => UNCHECKED,
            Self::Stock => "",
            Self::Keys | Self::Fenced => HARDENED,
        };
        let text = STOCK.replace(OWN, &format!("<Sm>{own}</Sm>"));
        let text = with_partition(&text, (self != Self::Unchecked).then_some(bystanders));
        let checked = weft_config::check(text, "opafm.xml");
        let errors: Vec<String> = checked.errors().map(ToString::to_string).collect();
        let wrong = |what: &dyn fmt::Display| RunError::Fabric(format!("{self}: {what}"));
        let instance = checked
            .config
            .and_then(|it| it.instances.into_iter().next());
        let instance = instance.ok_or_else(|| wrong(&errors.join("; ")))?;
        let all = ManagerSettings::from_config(&instance).map_err(|error| wrong(&error))?;
        let mut sm = all.sm;
        sm.sweeps.interval = SWEEP_INTERVAL;
        if self == Self::Fenced {
            sm.fencing = Fencing::new(&SECRET, false);
        }
        let services = ServiceSettings {
            sa: all.sa,
            pm: PmSettings {
                interval: PM_INTERVAL,
                ..all.pm.unwrap_or_default()
            },
        };
        Ok((sm, services))
    }
}

/// A configuration with the bystanders' partition; it is everybody's where they are not named.
fn with_partition(text: &str, bystanders: Option<&[Port]>) -> String {
    let guids = bystanders.unwrap_or_default().iter();
    let guids: String = guids
        .map(|(node, _)| format!("<NodeGUID>{node}</NodeGUID>"))
        .collect();
    let (group, member) = match bystanders {
        Some(_) => (
            format!("<DeviceGroup><Name>Bystanders</Name>{guids}</DeviceGroup>"),
            "Bystanders",
        ),
        None => (String::new(), "All"),
    };
    let partition = format!(
        "<VirtualFabric><Name>Theirs</Name><Enable>1</Enable><PKey>{:#06x}</PKey><Security>1</Security><QOS>0</QOS>\
         <Member>{member}</Member><Application>AllOthers</Application></VirtualFabric>",
        PARTITION.0 & 0x7FFF
    );
    let ends = [("</DeviceGroups>", group), ("</VirtualFabrics>", partition)];
    ends.into_iter().fold(text.to_owned(), |text, (end, more)| {
        text.replace(end, &format!("{more}{end}"))
    })
}

impl fmt::Display for Guard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Guard {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|guard| guard.name() == text);
        found.ok_or_else(|| {
            let names = Self::ALL.map(Self::name).join(", ");
            format!("{text:?} is no configuration; they are {names}")
        })
    }
}
