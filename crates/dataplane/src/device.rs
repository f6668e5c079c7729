//! Registers that all nodes have.

use weft_fabric::{Node, PortNum, SwitchIndex};
use weft_wire::sm::{NodeDescription, NodeInfo};

use crate::network::PortIndex;
use crate::tables::{Table, TablePool};

/// Blocks of 64 entries in an HFI's congestion control table (`hfi1`: `CC_TABLE_SHADOW_MAX`).
pub const CCT_BLOCKS: u8 = 7;
/// Bytes of an HFI's congestion setting.
const HFI_SETTING_LEN: usize = 198;
/// Bytes of a switch's congestion setting.
const SWITCH_SETTING_LEN: usize = 76;
/// Bytes of the congestion setting of one port of a switch.
const PORT_SETTING_LEN: usize = 4;

/// A node.
#[derive(Debug, Clone)]
pub struct Device {
    /// Identity of the node.
    pub info: NodeInfo,
    /// Its name.
    pub description: NodeDescription,
    /// Congestion control: HfiCongestionSetting or SwitchCongestionSetting.
    pub(crate) congestion_setting: Table,
    /// Congestion control: the HFI's table with CCTI_Limit in front, or the settings of the
    /// switch's ports from 0.
    pub(crate) congestion_table: Table,
    pub(crate) first: PortIndex,
    pub(crate) first_number: u8,
    pub(crate) port_count: u16,
    pub(crate) switch: Option<SwitchIndex>,
    pub(crate) powered: bool,
}

impl Device {
    pub(crate) fn powered_on(
        node: &Node,
        first: PortIndex,
        switch: Option<SwitchIndex>,
        pool: &mut TablePool,
    ) -> Self {
        let port_count = node.ports().len();
        let (setting, table) = match switch {
            Some(_) => (SWITCH_SETTING_LEN, port_count * PORT_SETTING_LEN),
            None => (HFI_SETTING_LEN, 2 + 128 * usize::from(CCT_BLOCKS)),
        };
        Self {
            info: node.info,
            description: node.description,
            congestion_setting: pool.intern(&vec![0; setting]),
            congestion_table: pool.intern(&vec![0; table]),
            first,
            first_number: node.first_port().0,
            port_count: port_count as u16,
            switch,
            powered: true,
        }
    }

    /// Whether it forwards.
    pub fn is_switch(&self) -> bool {
        self.switch.is_some()
    }

    /// Its place among the switches.
    pub fn switch(&self) -> Option<SwitchIndex> {
        self.switch
    }

    /// Whether it has power.
    pub fn is_powered(&self) -> bool {
        self.powered
    }

    /// Number of its first port: 0 for a switch, 1 for an HFI.
    pub fn first_port(&self) -> PortNum {
        PortNum(self.first_number)
    }

    /// Number of its last port.
    pub fn last_port(&self) -> PortNum {
        PortNum((u16::from(self.first_number) + self.port_count).saturating_sub(1) as u8)
    }

    /// The index of its first port.
    pub fn first_port_index(&self) -> PortIndex {
        self.first
    }

    /// The index of a port of it.
    #[inline]
    pub fn port(&self, port: PortNum) -> Option<PortIndex> {
        let place = port.0.checked_sub(self.first_number)?;
        (u16::from(place) < self.port_count).then(|| PortIndex(self.first.0 + u32::from(place)))
    }

    /// All its ports with their numbers.
    pub fn ports(&self) -> impl Iterator<Item = (PortNum, PortIndex)> + use<> {
        let (first, number) = (self.first.0, self.first_number);
        (0..self.port_count).map(move |place| {
            (
                PortNum(number + place as u8),
                PortIndex(first + u32::from(place)),
            )
        })
    }

    /// HfiCongestionSetting or SwitchCongestionSetting, as on the wire.
    pub fn congestion_setting(&self) -> &[u8] {
        &self.congestion_setting
    }

    /// HFI: CCTI_Limit and the congestion control table; switch: the settings of its ports from 0.
    pub fn congestion_table(&self) -> &[u8] {
        &self.congestion_table
    }
}
