//! Virtual fabrics made by chance: rules of rates, bandwidth and levels that only several of them together break.

use super::Mutation;

/// A sequence of numbers from a seed (splitmix64).
struct Dice(u64);

impl Dice {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((mixed ^ (mixed >> 31)) % end as u64) as usize
    }

    /// An element with one of some values, or none.
    fn maybe(&mut self, tag: &str, values: &[&str]) -> String {
        match values.get(self.below(2 * values.len())) {
            Some(value) => format!("<{tag}>{value}</{tag}>"),
            None => String::new(),
        }
    }

    fn one_in(&mut self, count: usize) -> bool {
        self.below(count) == 0
    }

    /// The settings of levels and bandwidth.
    fn quality(&mut self) -> String {
        [
            self.maybe("BaseSL", &["0", "1", "2", "3"]),
            self.maybe("MulticastSL", &["1", "2", "4", "5"]),
            self.maybe("Bandwidth", &["1%", "10%", "40%", "60%"]),
            self.maybe("HighPriority", &["0", "1"]),
            self.maybe("FlowControlDisable", &["0", "1"]),
            self.maybe("PreemptRank", &["0", "7"]),
        ]
        .concat()
    }

    fn fabric(&mut self, number: usize, groups: usize) -> String {
        let quality = match groups {
            0 if self.one_in(3) => "<QOS>0</QOS>".to_owned(),
            0 => format!("<QOS>1</QOS>{}", self.quality()),
            groups => format!("<QOSGroup>Q{}</QOSGroup>", self.below(groups)),
        };
        let name = format!("<Name>V{number}</Name><Enable>1</Enable>");
        let key = self.maybe("PKey", &["0x1", "0x5", "0x6", "0x7"]);
        let key = match (groups, key.is_empty()) {
            (1.., true) => "<PKey>0x9</PKey>".to_owned(),
            _ => key,
        };
        let limits = [
            self.maybe("Security", &["0", "1"]),
            self.maybe("Standby", &["0", "1"]),
            self.maybe("MaxMTU", &["2048", "4096", "8192", "Unlimited"]),
            self.maybe(
                "MaxRate",
                &["12.5g", "25g", "37.5g", "50g", "75g", "100g", "Unlimited"],
            ),
        ]
        .concat();
        format!(
            "<VirtualFabric>{name}{key}{limits}{quality}<Member>All</Member>\
             <Application>Verbs{number}</Application></VirtualFabric>\n"
        )
    }

    fn multicast(&mut self) -> String {
        let values = [
            self.maybe("VirtualFabric", &["V0", "V1"]),
            self.maybe("MTU", &["2048", "4096"]),
            self.maybe("Rate", &["25g", "50g", "100g"]),
            self.maybe("SL", &["0", "1", "2"]),
        ]
        .concat();
        let mgid = "<MGID>0xff12401bffff0000:0x00000000ffffffff</MGID>";
        format!("<MulticastGroup><Create>1</Create>{values}{mgid}</MulticastGroup>")
    }
}

/// Files with virtual fabrics of the first `count` seeds.
pub(super) fn by_chance(text: &str, count: u64) -> Vec<Mutation> {
    let one = |seed| {
        let mut dice = Dice(seed);
        let count = 1 + dice.below(4);
        let groups = match dice.one_in(3) {
            true => 1 + dice.below(3),
            false => 0,
        };
        let fabrics = (0..count).map(|number| dice.fabric(number, groups));
        let fabrics: String = fabrics.collect();
        let named = (0..groups).map(|number| {
            let quality = dice.quality();
            format!("<QOSGroup><Name>Q{number}</Name><Enable>1</Enable>{quality}</QOSGroup>\n")
        });
        let named: String = named.collect();
        let multicast = match dice.one_in(3) {
            true => dice.multicast(),
            false => String::new(),
        };
        let applications = (0..count).map(|number| {
            let mgid = dice.maybe("MGID", &["0xff12401bffff0000:0x00000000ffffffff"]);
            format!("<Application><Name>Verbs{number}</Name><ServiceID>0x77{number}</ServiceID>{mgid}</Application>\n")
        });
        let applications: String = applications.collect();
        let mut text = text.to_owned();
        if groups > 0 {
            text = text.replace("<QOS>0</QOS>", "<QOSGroup>Q0</QOSGroup>");
        }
        for (end, more) in [
            ("</Applications>", &applications),
            ("</QOSGroups>", &named),
            ("</VirtualFabrics>", &fabrics),
            ("</Multicast>", &multicast),
        ] {
            text = text.replacen(end, &format!("{more}{end}"), 1);
        }
        Mutation {
            name: format!("virtual fabrics {seed}: {named}{fabrics}{multicast}"),
            text,
        }
    };
    (0..count).map(one).collect()
}
