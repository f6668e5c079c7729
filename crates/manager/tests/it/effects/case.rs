//! Two files that differ in one tag, and where the difference is to be seen.

use weft_config::{Config, check};
use weft_manager::ManagerSettings;

use super::{election, fabric, services};

/// A section of the file to add elements to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Section {
    Applications,
    DeviceGroups,
    QosGroups,
    /// In place of the virtual fabric of all hosts.
    Default,
    VirtualFabrics,
    PmPortGroups,
    /// Of the `Fm`.
    Shared,
    Sm,
    Pm,
}

/// Where an effect is to be seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Seen {
    /// In what the subnet manager writes to devices.
    Writes,
    /// In the datagrams of the subnet manager and their times.
    Datagrams,
    /// In what the subnet manager tells of routes after its sweeps.
    Routing,
    /// In what it tells of the topology file, and of links that it does not use.
    Topology,
    /// In answers of subnet administration.
    Answers,
    /// In the roles of two managers.
    Roles,
    /// In what is written for congestion control.
    Congestion,
    /// In the cable memories that are read.
    Cables,
    /// In the datagrams of the performance manager and their times.
    Reads,
    /// In events and answers of the performance manager.
    Images,
    /// In the settings that performance administration tells its clients.
    Settings,
    /// The other file is refused.
    Refusal,
}

/// Events in the fabric.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scene {
    /// None in the first minute.
    Quiet,
    /// None for twenty minutes.
    Long,
    /// A link between switches trains with two of its lanes.
    NarrowIsl,
    /// A host's link trains with two of its lanes.
    NarrowHost,
    /// A link between switches loses one lane, then two, while it is in use.
    LosesLanes,
    /// A host's link loses one lane, then two, while it is in use.
    HostLosesLanes,
    /// A link between switches fails twice within a second, and comes back.
    Flap,
    /// A link between switches goes down five times, and has ten minutes.
    Flaps,
    /// A switch reports errors of a link 30 times in 30 seconds.
    LinkErrors,
    /// A host ends the group that it has just created, once a second, five times.
    EndsGroups,
    /// A host does not answer any more; sweeps follow.
    Silent,
    /// Datagrams are lost.
    Lossy,
    /// The half of the switches with the higher numbers is switched on later.
    Grows,
    /// A switch of a mesh lacks a neighbour along each of two dimensions.
    Holes,
    /// The first three switches are in one chassis.
    Chassis,
    /// A host claims a PortGUID that is not its own.
    Liar,
    /// The hardware before a switch has not checked its firmware.
    UncheckedFirmware,
    /// A host claims that it has one data lane.
    OneLane,
    /// Hosts do not answer any more once the fabric is up.
    HostsGoSilent,
    /// The same, and a sweep follows.
    SweepOfSilentHosts,
    /// A switch refuses to write its multicast table.
    RefusesMulticast,
}

/// Two files that differ in one tag.
#[derive(Debug, Clone)]
pub(super) struct Case {
    pub(super) element: &'static str,
    seen: Seen,
    content: Vec<(Section, String)>,
    change: (String, String),
    pub(super) fabric: &'static str,
    pub(super) scene: Scene,
    /// Ports can interleave packets.
    pub(super) interleaves: bool,
}

/// Two switches with four hosts each, and two switches above them.
const FABRIC: &str = "pgft:2;4,2;1,2;1,1";

impl Case {
    /// The first file has `content` in `section`; in the other one, `from` is replaced by `to`.
    pub(super) fn new(
        element: &'static str,
        seen: Seen,
        (section, content): (Section, &str),
        from: &str,
        to: &str,
    ) -> Self {
        Self {
            element,
            seen,
            content: vec![(section, content.to_owned())],
            change: (from.to_owned(), to.to_owned()),
            fabric: FABRIC,
            scene: Scene::Quiet,
            interleaves: false,
        }
    }

    /// The first file has `from` in a tag of `Sm` or `Pm`, or of a section of theirs, the other one `to`.
    pub(super) fn value(element: &'static str, seen: Seen, from: &str, to: &str) -> Self {
        let (section, inner) = match element.split_once('/') {
            Some(("Sm", inner)) => (Section::Sm, inner),
            Some(("Pm", inner)) => (Section::Pm, inner),
            _ => panic!("{element}"),
        };
        let open: String = inner.split('/').map(|tag| format!("<{tag}>")).collect();
        let close = inner.rsplit('/').map(|tag| format!("</{tag}>"));
        let content = format!("{open}{from}{}", close.collect::<String>());
        let (from, to) = (format!(">{from}<"), format!(">{to}<"));
        Self::new(element, seen, (section, &content), &from, &to)
    }

    /// Both files have this as well.
    pub(super) fn with(mut self, section: Section, content: &str) -> Self {
        self.content.push((section, content.to_owned()));
        self
    }

    pub(super) fn on(mut self, fabric: &'static str) -> Self {
        self.fabric = fabric;
        self
    }

    /// Ports can interleave packets.
    pub(super) fn interleaving(mut self) -> Self {
        self.interleaves = true;
        self
    }

    pub(super) fn during(mut self, scene: Scene) -> Self {
        self.scene = scene;
        self
    }

    /// Whether the two files make a difference where it is to be seen.
    pub(super) fn check(&self) -> Result<(), String> {
        let (from, to) = &self.change;
        let (section, content) = &self.content[0];
        let wrong = |why: String| Err(format!("{}: {why}", self.element));
        if content.matches(from).count() != 1 {
            return wrong(format!("{from} is not once in {content}"));
        }
        let mut other = self.content.clone();
        other[0] = (*section, content.replacen(from, to, 1));
        let tag = self.element.rsplit('/').next().unwrap();
        if !(content.contains(tag) || other[0].1.contains(tag)) {
            return wrong("neither file has it".to_owned());
        }
        let first = match settings(&text(&self.content)) {
            Ok(first) => first,
            Err(why) => return wrong(why),
        };
        let second = settings(&text(&other));
        if self.seen == Seen::Refusal {
            return second.map_or(Ok(()), |_| wrong("it is not refused".to_owned()));
        }
        let second = match second {
            Ok(second) => second,
            Err(why) => return wrong(why),
        };
        let seen = |settings: &ManagerSettings| match self.seen {
            Seen::Writes => fabric::writes(self, settings),
            Seen::Datagrams => fabric::datagrams(self, settings),
            Seen::Routing => fabric::routing(self, settings),
            Seen::Topology => fabric::against_file(self, settings),
            Seen::Answers => services::answers(self, settings),
            Seen::Roles => election::roles(self, &first, settings),
            Seen::Congestion => services::congestion(self, settings),
            Seen::Cables => services::cables(self, settings),
            Seen::Reads => services::reads(self, settings),
            Seen::Images => services::images(self, settings),
            Seen::Settings => services::settings(self, settings),
            Seen::Refusal => unreachable!(),
        };
        let before = seen(&first);
        if before != seen(&first) {
            return wrong(format!("{:?} differ without a reason", self.seen));
        }
        match before == seen(&second) {
            true => wrong(format!("no difference in {:?}", self.seen)),
            false => Ok(()),
        }
    }
}

fn settings(text: &str) -> Result<ManagerSettings, String> {
    let checked = check(text, "opafm.xml");
    let errors: Vec<String> = checked.errors().map(ToString::to_string).collect();
    let Config { instances } = checked.config.ok_or_else(|| errors.join("\n"))?;
    let mut settings =
        ManagerSettings::from_config(&instances[0]).map_err(|why| why.to_string())?;
    let read = settings.read_topology(&instances[0], topology_file);
    read.map_err(|why| why.to_string())?;
    Ok(settings)
}

/// Topology files of [`FABRIC`].
fn topology_file(name: &str) -> Result<Vec<u8>, String> {
    let topology = crate::common::fabric(FABRIC);
    let text = crate::unintended::file(&topology);
    let guid = topology.hfis().last().unwrap().1.guid();
    let text = match name {
        "cabled" => text,
        "renamed" => text.replace(">node8 hfi1_0<", ">node9 hfi1_0<"),
        "replaced" => text.replace(&format!("<NodeGUID>{guid}"), "<NodeGUID>0x00117501010000ff"),
        "other port" => text.replace(&format!("<PortGUID>{guid}"), "<PortGUID>0x00117501010000ff"),
        "lids" => crate::unintended::file(&crate::topology_lids::with_lids(&topology)),
        "moved" => text.replace("<PortNum>4<", "<PortNum>40<"),
        _ => return Err("no such file".to_owned()),
    };
    Ok(text.into_bytes())
}

const APPLICATIONS: &str = "
  <Application><Name>SA</Name><Select>SA</Select></Application>
  <Application><Name>PA</Name><ServiceID>0x1100d03c34845555</ServiceID></Application>
  <Application><Name>PM</Name><Select>PM</Select></Application>
  <Application><Name>Rest</Name><Select>UnmatchedServiceID</Select><Select>UnmatchedMGID</Select></Application>";
const GROUPS: &str = "
  <DeviceGroup><Name>All</Name><Select>All</Select></DeviceGroup>
  <DeviceGroup><Name>Managers</Name><Select>AllMgmtAllowed</Select></DeviceGroup>
  <DeviceGroup><Name>Switches</Name><Select>SWE0</Select></DeviceGroup>";
const DEFAULT: &str = "
  <VirtualFabric><Name>Default</Name><Enable>1</Enable><PKey>0x0001</PKey><Security>0</Security><QOS>0</QOS>
    <Member>All</Member><Application>Rest</Application></VirtualFabric>";

fn admin(quality: &str) -> String {
    format!(
        "<VirtualFabric><Name>Admin</Name><Enable>1</Enable><PKey>0x7fff</PKey><Security>1</Security>{quality}
         <Member>Managers</Member><Member>Switches</Member><LimitedMember>All</LimitedMember>
         <Application>SA</Application><Application>PA</Application><Application>PM</Application></VirtualFabric>"
    )
}

/// A whole file.
fn text(content: &[(Section, String)]) -> String {
    let of = |wanted: Section| -> String {
        // What both files have comes first, so that the other part may refer to it.
        let parts = content[1..].iter().chain(&content[..1]);
        let parts = parts.filter(|(section, _)| *section == wanted);
        parts.map(|(_, text)| text.as_str()).collect()
    };
    let own_default = content
        .iter()
        .any(|(section, _)| *section == Section::Default);
    let default = match own_default {
        true => of(Section::Default),
        false => DEFAULT.to_owned(),
    };
    let quality = match of(Section::QosGroups).is_empty() {
        true => "<QOS>0</QOS>",
        false => "<QOSGroup>plain</QOSGroup>",
    };
    let default = match quality {
        "<QOS>0</QOS>" => default,
        _ => default.replace("<QOS>0</QOS>", quality),
    };
    format!(
        "<Config><Common>
           <Applications>{APPLICATIONS}{}</Applications>
           <DeviceGroups>{GROUPS}{}</DeviceGroups>
           <QOSGroups>{}</QOSGroups>
           <VirtualFabrics>{default}{}{}</VirtualFabrics>
           <PmPortGroups>{}</PmPortGroups>
           <Shared/><Sm>{}</Sm><Fe/><Pm>{}</Pm>
         </Common>
         <Fm><Shared><Start>1</Start><Name>a</Name>{}{}</Shared><Sm/><Fe/><Pm/></Fm></Config>",
        of(Section::Applications),
        of(Section::DeviceGroups),
        of(Section::QosGroups),
        admin(quality),
        of(Section::VirtualFabrics),
        of(Section::PmPortGroups),
        of(Section::Sm),
        of(Section::Pm),
        match of(Section::Shared).contains("SubnetPrefix") {
            true => "",
            false => "<SubnetPrefix>0xfe80000000000000</SubnetPrefix>",
        },
        of(Section::Shared),
    )
}
