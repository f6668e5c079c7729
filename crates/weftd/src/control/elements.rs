//! A change of single elements, as another configuration.

use weft_config::sm::Sm;

use super::Refusal;
use crate::config::Source;

/// Adaptive routing as it is to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct AdaptiveOrder {
    pub(crate) enable: bool,
    /// `ARFrequency`, 0 to 7; none leaves it as it is.
    pub(crate) frequency: Option<u8>,
    /// `Threshold`, 0 to 7; none leaves it as it is.
    pub(crate) threshold: Option<u8>,
}

/// Elements of a configuration as they are to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ElementOrder {
    Adaptive(AdaptiveOrder),
    /// `ForceAttributeRewrite`.
    Rewrite(bool),
    /// `SkipAttributeWrite`.
    SkipWrites(u32),
}

impl ElementOrder {
    /// The order in words.
    pub(super) fn what(&self) -> String {
        match self {
            Self::Adaptive(order) => order.what(),
            Self::Rewrite(on) => format!("ForceAttributeRewrite {}", u8::from(*on)),
            Self::SkipWrites(bits) => format!("SkipAttributeWrite {bits:#x}"),
        }
    }

    fn set(&self, sm: &mut Sm) {
        match *self {
            Self::Adaptive(order) => order.set(sm),
            Self::Rewrite(on) => sm.force_attribute_rewrite = on,
            Self::SkipWrites(bits) => sm.skip_attribute_write = bits,
        }
    }

    /// A configuration's text with this change.
    ///
    /// # Errors
    /// [`Refusal::Config`] where weftd runs with the built-in defaults.
    pub(super) fn applied(&self, text: &str, source: &Source) -> Result<String, Refusal> {
        let mut config = weft_config::check(text, "the configuration in force").config;
        let instances = config.as_mut().map(|config| &mut config.instances);
        let instance = instances.and_then(|all| all.get_mut(source.instance()));
        let Some(instance) = instance else {
            let why = format!(
                "{} cannot be set: weftd runs with the built-in defaults, without a configuration to set it in; start \
                 weftd with --config FILE, for which the opafm.xml of the package will do",
                self.what()
            );
            return Err(Refusal::Config(why));
        };
        self.set(&mut instance.sm);
        Ok(config.map_or_else(String::new, |config| config.effective_xml()))
    }
}

impl AdaptiveOrder {
    fn what(&self) -> String {
        let value = |name: &str, value: Option<u8>| match value {
            Some(value) => format!(", {name} {value}"),
            None => String::new(),
        };
        format!(
            "adaptive routing {}{}{}",
            if self.enable { "on" } else { "off" },
            value("ARFrequency", self.frequency),
            value("Threshold", self.threshold)
        )
    }

    fn set(&self, sm: &mut Sm) {
        let adaptive = &mut sm.adaptive_routing;
        adaptive.enable = self.enable;
        adaptive.frequency = self.frequency.unwrap_or(adaptive.frequency);
        adaptive.threshold = self.threshold.unwrap_or(adaptive.threshold);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn nothing_else_of_the_configuration_changes() {
        let stock = include_str!("../../../../config/opafm.xml");
        let source = Source::of_tests(None);
        let before = weft_config::check(stock, "stock")
            .config
            .unwrap()
            .effective_xml();
        let order = ElementOrder::Adaptive(AdaptiveOrder {
            enable: true,
            frequency: Some(5),
            threshold: None,
        });
        assert_eq!(order.what(), "adaptive routing on, ARFrequency 5");
        let after = order.applied(&before, &source).unwrap();
        let pairs = before.lines().zip(after.lines());
        let changed: Vec<&str> = pairs
            .filter(|(a, b)| a != b)
            .map(|(_, b)| b.trim())
            .collect();
        assert!(changed.len() <= 2, "{changed:?}");
        assert!(
            changed.contains(&"<ARFrequency>5</ARFrequency>"),
            "{changed:?}"
        );
        let refused = order.applied("", &source).unwrap_err().to_string();
        for told in ["adaptive routing on, ARFrequency 5", "--config FILE"] {
            assert!(refused.contains(told), "{refused}");
        }
    }
}
