//! The text form of [`FabricSpec`].

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

use super::studied::FAMILIES;
use super::{Chassis, Director, FabricSpec, FatTree, Grid, OneSwitch, Pgft};
use crate::constants::SWITCH_PORTS;

/// The kinds of fabrics that can be described, for help and messages.
pub fn fabrics() -> String {
    let studied: String = FAMILIES
        .iter()
        .map(|family| format!("{}, ", family.form))
        .collect();
    format!(
        "one-switch:HOSTS, back-to-back, fattree:HOSTS, pgft:HEIGHT;CHILDREN;PARENTS;LINKS, mesh:AxB…, torus:AxB…, \
         hypercube:DIMENSIONS, {studied}swd06, swd24, file:PATH, or the path of an ibnetdiscover dump or opareport \
         snapshot"
    )
}

/// Why a text describes no fabric.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("fabric {text:?}: {what}, allowed: {allowed}")]
pub struct SpecError {
    /// The text.
    pub text: String,
    /// The error.
    pub what: String,
    /// Allowed text.
    pub allowed: String,
}

/// The error and the allowed text.
pub(super) type Fault = (String, String);

impl FromStr for FabricSpec {
    type Err = SpecError;

    fn from_str(text: &str) -> Result<Self, SpecError> {
        parse(text.trim()).map_err(|(what, allowed)| SpecError {
            text: text.to_owned(),
            what,
            allowed,
        })
    }
}

fn parse(text: &str) -> Result<FabricSpec, Fault> {
    let end = text.find([':', ',']).unwrap_or(text.len());
    let (kind, rest) = text.split_at(end);
    let arguments = rest.get(1..).unwrap_or_default();
    if let Some(family) = FAMILIES.iter().find(|family| family.name == kind) {
        return family.parse(arguments).map(FabricSpec::Studied);
    }
    match kind {
        "one-switch" => one_switch(arguments),
        "back-to-back" => Arguments::parse(arguments, ',', 0, &[]).map(|_| FabricSpec::BackToBack),
        "fattree" => fat_tree(arguments),
        "pgft" => pgft(arguments),
        "mesh" => grid(arguments, false),
        "torus" => grid(arguments, true),
        "hypercube" => hypercube(arguments),
        "swd06" => director(arguments, Chassis::Swd06),
        "swd24" => director(arguments, Chassis::Swd24),
        "file" => file(arguments),
        _ if text.contains(['/', '.']) => file(text),
        "" => Err(("empty".to_owned(), fabrics())),
        _ => Err((format!("no kind is called {kind:?}"), fabrics())),
    }
}

fn file(path: &str) -> Result<FabricSpec, Fault> {
    if path.is_empty() {
        return Err(("no path".to_owned(), "file:PATH".to_owned()));
    }
    Ok(FabricSpec::File(path.to_owned()))
}

fn one_switch(text: &str) -> Result<FabricSpec, Fault> {
    let arguments = Arguments::parse(text, ',', 1, &["hosts", "radix"])?;
    Ok(FabricSpec::OneSwitch(OneSwitch {
        hosts: arguments.required("hosts")?,
        radix: arguments.number("radix")?.unwrap_or(SWITCH_PORTS),
    }))
}

fn fat_tree(text: &str) -> Result<FabricSpec, Fault> {
    let options = [
        "hosts",
        "radix",
        "tiers",
        "oversubscription",
        "taper",
        "links",
    ];
    let arguments = Arguments::parse(text, ',', 1, &options)?;
    Ok(FabricSpec::FatTree(FatTree {
        hosts: arguments.required("hosts")?,
        radix: arguments.number("radix")?.unwrap_or(SWITCH_PORTS),
        tiers: arguments.number("tiers")?,
        oversubscription: arguments.number("oversubscription")?.unwrap_or(1),
        taper: arguments.number("taper")?.unwrap_or(1),
        links: arguments.number("links")?,
    }))
}

fn pgft(text: &str) -> Result<FabricSpec, Fault> {
    let options = ["height", "children", "parents", "links", "radix"];
    let arguments = Arguments::parse(text, ';', 4, &options)?;
    let height: usize = arguments.required("height")?;
    let list = |name| -> Result<Vec<u32>, Fault> {
        let values = arguments.list(name, ',')?;
        if values.len() == height {
            return Ok(values);
        }
        let what = format!("{name} has {} values", values.len());
        Err((what, format!("{height}, one for each tier")))
    };
    Ok(FabricSpec::Pgft(Pgft {
        children: list("children")?,
        parents: list("parents")?,
        links: list("links")?,
        radix: arguments.number("radix")?.unwrap_or(SWITCH_PORTS),
        hosts: None,
    }))
}

fn grid(text: &str, wraps: bool) -> Result<FabricSpec, Fault> {
    let arguments = Arguments::parse(text, ',', 1, &["dimensions", "hosts", "links"])?;
    Ok(FabricSpec::Grid(Grid {
        dimensions: arguments.list("dimensions", 'x')?,
        wraps,
        hosts: arguments.number("hosts")?.unwrap_or(1),
        links: arguments.number("links")?.unwrap_or(1),
    }))
}

fn hypercube(text: &str) -> Result<FabricSpec, Fault> {
    let arguments = Arguments::parse(text, ',', 1, &["dimensions", "hosts"])?;
    let dimensions: u8 = arguments.required("dimensions")?;
    let hosts = arguments.number("hosts")?.unwrap_or(1);
    Ok(FabricSpec::Grid(Grid::hypercube(dimensions.into(), hosts)))
}

fn director(text: &str, chassis: Chassis) -> Result<FabricSpec, Fault> {
    let arguments = Arguments::parse(text, ',', 0, &["hosts"])?;
    let hosts = arguments.number("hosts")?.unwrap_or(16);
    Ok(FabricSpec::Director(Director { chassis, hosts }))
}

/// `value,value,name=value…`: values without a name belong to the first names, in order.
pub(super) struct Arguments<'a> {
    values: Vec<(&'a str, &'a str)>,
}

impl<'a> Arguments<'a> {
    pub(super) fn parse(
        text: &'a str,
        separator: char,
        positional: usize,
        names: &[&'static str],
    ) -> Result<Self, Fault> {
        let mut values: Vec<(&str, &str)> = Vec::new();
        for (index, part) in text.split(separator).enumerate() {
            if text.is_empty() {
                break;
            }
            let unnamed = || {
                names
                    .get(index)
                    .filter(|_| index < positional)
                    .map(|name| (*name, part))
            };
            let (name, value) = part
                .split_once('=')
                .or_else(unnamed)
                .ok_or_else(|| unknown(part, names))?;
            let name = names
                .iter()
                .find(|known| **known == name)
                .ok_or_else(|| unknown(name, names))?;
            if values.iter().any(|(given, _)| given == name) {
                return Err((format!("{name} is given twice"), "once".to_owned()));
            }
            values.push((name, value));
        }
        Ok(Self { values })
    }

    fn get(&self, name: &str) -> Option<&'a str> {
        let found = self.values.iter().find(|(given, _)| *given == name);
        found.map(|(_, value)| *value)
    }

    pub(super) fn number<T: FromStr>(&self, name: &'static str) -> Result<Option<T>, Fault> {
        self.get(name).map(|value| number(name, value)).transpose()
    }

    pub(super) fn required<T: FromStr>(&self, name: &'static str) -> Result<T, Fault> {
        self.number(name)?.ok_or_else(|| missing(name))
    }

    pub(super) fn list(&self, name: &'static str, separator: char) -> Result<Vec<u32>, Fault> {
        let text = self.get(name).ok_or_else(|| missing(name))?;
        text.split(separator)
            .map(|value| number(name, value))
            .collect()
    }
}

fn number<T: FromStr>(name: &str, value: &str) -> Result<T, Fault> {
    let whole = value
        .strip_suffix(":1")
        .filter(|_| ["oversubscription", "taper"].contains(&name));
    let parsed = whole.unwrap_or(value).parse();
    parsed.map_err(|_| {
        let top = match size_of::<T>() {
            1 => u64::from(u8::MAX),
            4 => u64::from(u32::MAX),
            _ => u64::MAX,
        };
        (
            format!("{name} is {value:?}"),
            format!("a number from 0 to {top}"),
        )
    })
}

fn missing(name: &str) -> Fault {
    (
        format!("{name} is missing"),
        format!("{name} as the value or as {name}=…"),
    )
}

fn unknown(part: &str, names: &[&str]) -> Fault {
    let allowed = match names {
        [] => "no option".to_owned(),
        names => names.join(", "),
    };
    (format!("{part:?} is no option"), allowed)
}

impl fmt::Display for FabricSpec {
    /// The text that [`FabricSpec::from_str`] reads, all options spelt out.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OneSwitch(spec) => write!(f, "one-switch:{},radix={}", spec.hosts, spec.radix),
            Self::BackToBack => f.write_str("back-to-back"),
            Self::FatTree(spec) => write_fat_tree(f, spec),
            Self::Pgft(spec) => {
                let lists =
                    [&spec.children, &spec.parents, &spec.links].map(|list| join(list, ","));
                write!(
                    f,
                    "pgft:{};{};radix={}",
                    spec.height(),
                    lists.join(";"),
                    spec.radix
                )
            }
            Self::Grid(spec) => {
                let kind = if spec.wraps { "torus" } else { "mesh" };
                let dimensions = join(&spec.dimensions, "x");
                write!(
                    f,
                    "{kind}:{dimensions},hosts={},links={}",
                    spec.hosts, spec.links
                )
            }
            Self::Director(spec) => {
                let kind = match spec.chassis {
                    Chassis::Swd06 => "swd06",
                    Chassis::Swd24 => "swd24",
                };
                write!(f, "{kind}:hosts={}", spec.hosts)
            }
            Self::Studied(spec) => spec.fmt(f),
            Self::File(path) => write!(f, "file:{path}"),
        }
    }
}

fn write_fat_tree(f: &mut fmt::Formatter<'_>, spec: &FatTree) -> fmt::Result {
    write!(f, "fattree:{},radix={}", spec.hosts, spec.radix)?;
    if let Some(tiers) = spec.tiers {
        write!(f, ",tiers={tiers}")?;
    }
    write!(f, ",oversubscription={}", spec.oversubscription)?;
    if spec.taper != 1 {
        write!(f, ",taper={}", spec.taper)?;
    }
    spec.links
        .map_or(Ok(()), |links| write!(f, ",links={links}"))
}

pub(super) fn join(values: &[u32], separator: &str) -> String {
    let texts: Vec<_> = values.iter().map(u32::to_string).collect();
    texts.join(separator)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn text_round_trips() {
        for text in [
            "one-switch:4,radix=48",
            "back-to-back",
            "fattree:1152,radix=48,oversubscription=1",
            "fattree:1152,radix=36,tiers=3,oversubscription=3,links=2",
            "pgft:3;24,24,48;1,24,24;1,1,1;radix=48",
            "mesh:4x4,hosts=2,links=1",
            "torus:4x4x4,hosts=1,links=1",
            "fattree:1152,radix=48,tiers=3,oversubscription=2,taper=2",
            "dragonfly:2,4,2,groups=9,radix=48",
            "dragonfly-plus:2,2,2,2,groups=3,radix=36",
            "hyperx:4x4x2,hosts=3,links=2,radix=48",
            "slimfly:5,hosts=4,radix=48",
            "jellyfish:20,4,hosts=2,seed=7,radix=16",
            "swd06:hosts=16",
            "swd24:hosts=2",
            "file:/tmp/a:b,c",
        ] {
            let spec: FabricSpec = text.parse().unwrap();
            assert_eq!(spec.to_string(), text);
        }
    }

    #[test]
    fn short_forms_mean_the_long_ones() {
        for (short, long) in [
            ("fattree:hosts=1152,radix=48", "fattree:1152"),
            (
                "fattree:1152,oversubscription=3:1",
                "fattree:1152,oversubscription=3",
            ),
            ("hypercube:3", "mesh:2x2x2"),
            (
                "dragonfly:2,4,2",
                "dragonfly:hosts=2,switches=4,global=2,groups=9",
            ),
            ("slimfly:5", "slimfly:5,hosts=4"),
            ("swd06", "swd06:hosts=16"),
            ("swd06,hosts=2", "swd06:hosts=2"),
            ("fabrics/a.xml", "file:fabrics/a.xml"),
        ] {
            let [short, long] = [short, long].map(|text| text.parse::<FabricSpec>().unwrap());
            assert_eq!(short, long);
        }
    }

    #[test]
    fn errors_say_what_is_allowed() {
        let fabrics = fabrics();
        for (text, what, allowed) in [
            ("", "empty", &*fabrics),
            ("ring", "no kind is called \"ring\"", &fabrics),
            (
                "fattree",
                "hosts is missing",
                "hosts as the value or as hosts=…",
            ),
            (
                "fattree:x",
                "hosts is \"x\"",
                "a number from 0 to 18446744073709551615",
            ),
            (
                "fattree:4,radix=300",
                "radix is \"300\"",
                "a number from 0 to 255",
            ),
            (
                "mesh:4x4,depth=2",
                "\"depth\" is no option",
                "dimensions, hosts, links",
            ),
            (
                "mesh:4x4,5",
                "\"5\" is no option",
                "dimensions, hosts, links",
            ),
            ("torus:3,hosts=1,hosts=2", "hosts is given twice", "once"),
            (
                "pgft:2;4;1,1;1,1",
                "children has 1 values",
                "2, one for each tier",
            ),
            ("back-to-back:3", "\"3\" is no option", "no option"),
            ("file:", "no path", "file:PATH"),
        ] {
            let error = text.parse::<FabricSpec>().unwrap_err();
            assert_eq!(
                (error.what.as_str(), error.allowed.as_str()),
                (what, allowed)
            );
        }
    }
}
