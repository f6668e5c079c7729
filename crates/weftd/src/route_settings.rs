//! Settings of routes by their elements of opafm.xml: what differs between two of them, and as text that is kept.

use serde_json::{Value, json};
use weft_manager::sm::Settings;
use weft_manager::sm::settings::RoutingSettings;
use weft_routing::MulticastSettings;

/// Settings that differ which are told at most, and bytes of a value.
const CHANGED_MAX: usize = 100;
const VALUE_MAX: usize = 200;

/// Fields by their elements of opafm.xml.
const ELEMENTS: [(&str, &str); 8] = [
    ("engine", "RoutingAlgorithm"),
    ("spine_first", "SpineFirstRouting"),
    ("fat_tree", "FatTreeTopology"),
    ("order", "RoutingOrder"),
    ("hypercube", "HypercubeTopology"),
    ("mesh", "MeshTorusTopology"),
    ("adaptive", "AdaptiveRouting"),
    ("multicast", "Multicast"),
];

/// Settings of routes and of multicast trees, by the names of their fields.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RouteSettings(Value);

/// A setting with another value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Changed {
    /// Its element, and fields in it.
    pub(crate) element: String,
    pub(crate) before: String,
    pub(crate) after: String,
}

impl RouteSettings {
    pub(crate) fn of(routing: &RoutingSettings, multicast: MulticastSettings) -> Self {
        let mut all = serde_json::to_value(routing).unwrap_or_default();
        all["multicast"] = json!(multicast);
        Self(all)
    }

    /// In one line.
    pub(crate) fn line(&self) -> String {
        self.0.to_string()
    }

    /// From such a line; none where this version has other settings.
    pub(crate) fn read(line: &str) -> Option<(RoutingSettings, MulticastSettings)> {
        let mut all: Value = serde_json::from_str(line).ok()?;
        let multicast = all.as_object_mut()?.remove("multicast")?;
        let routing = serde_json::from_value(all).ok()?;
        Some((routing, serde_json::from_value(multicast).ok()?))
    }

    /// What has another value in `after`.
    pub(crate) fn changed(&self, after: &Self) -> impl Iterator<Item = Changed> + use<> {
        let mut found = Vec::new();
        for (field, element) in ELEMENTS {
            differing(element, &self.0[field], &after.0[field], &mut found);
        }
        found.into_iter()
    }
}

impl From<&Settings> for RouteSettings {
    fn from(settings: &Settings) -> Self {
        Self::of(&settings.routing, settings.multicast)
    }
}

/// Values that differ, by the names of the fields that lead there.
fn differing(name: &str, before: &Value, after: &Value, found: &mut Vec<Changed>) {
    match (before, after) {
        _ if before == after || found.len() == CHANGED_MAX => {}
        (Value::Object(old), Value::Object(new)) => {
            for (field, value) in new {
                let before = old.get(field).unwrap_or(&Value::Null);
                differing(&format!("{name}.{field}"), before, value, found);
            }
        }
        _ => found.push(Changed {
            element: name.to_owned(),
            before: shown(before),
            after: shown(after),
        }),
    }
}

fn shown(value: &Value) -> String {
    let mut text = match value {
        Value::Null => "none".to_owned(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    text.truncate(text.floor_char_boundary(VALUE_MAX));
    text
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use weft_routing::EngineKind;

    use super::*;

    #[test]
    fn settings_that_differ_have_the_names_of_their_elements_and_come_back() {
        let now = Settings::default();
        let mut then = now.clone();
        let changed = |then: &Settings| RouteSettings::from(&now).changed(&then.into());
        assert_eq!(changed(&then).count(), 0);
        then.routing.engine = EngineKind::Dmodc;
        then.routing.fat_tree.tier_count += 1;
        let elements: Vec<String> = changed(&then).map(|one| one.element).collect();
        assert_eq!(elements, ["RoutingAlgorithm", "FatTreeTopology.tier_count"]);
        let line = RouteSettings::from(&then).line();
        assert_eq!(
            RouteSettings::read(&line),
            Some((then.routing, then.multicast))
        );
        let other = line.replace("\"spine_first\"", "\"spines\"");
        assert_eq!(RouteSettings::read(&other), None);
    }

    #[test]
    fn every_setting_of_routes_has_an_element() {
        let RouteSettings(Value::Object(fields)) = RouteSettings::from(&Settings::default()) else {
            panic!("an object");
        };
        for field in fields.keys() {
            assert!(ELEMENTS.iter().any(|(known, _)| known == field), "{field}");
        }
    }
}
