//! XML text from values.

use crate::secret;

/// Writes indented elements; the caller closes each element that it opens.
#[derive(Default)]
pub(crate) struct XmlWriter {
    text: String,
    depth: usize,
    omitted: Vec<&'static str>,
    /// Comments stand in place of keys.
    masks_keys: bool,
}

impl XmlWriter {
    pub(crate) fn document() -> Self {
        Self {
            text: "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n".to_owned(),
            ..Self::default()
        }
    }

    /// A document without keys.
    pub(crate) fn document_without_keys() -> Self {
        Self {
            masks_keys: true,
            ..Self::document()
        }
    }

    pub(crate) fn into_text(self) -> String {
        self.text
    }

    pub(crate) fn open(&mut self, tag: &str) {
        self.indent();
        self.text.push_str(&format!("<{tag}>\n"));
        self.depth += 1;
    }

    pub(crate) fn close(&mut self, tag: &str) {
        self.depth = self.depth.saturating_sub(1);
        self.indent();
        self.text.push_str(&format!("</{tag}>\n"));
    }

    pub(crate) fn leaf(&mut self, tag: &str, text: &str) {
        if self.omitted.contains(&tag) {
            return;
        }
        self.indent();
        if self.masks_keys && secret::is_key(tag) {
            self.text
                .push_str(&format!("<!-- {tag}: a key, not shown -->\n"));
            return;
        }
        self.text.push_str(&format!(
            "<{tag}>{}</{tag}>\n",
            quick_xml::escape::escape(text)
        ));
    }

    /// Writes without some tags, which the place does not know.
    pub(crate) fn without(&mut self, tags: &[&'static str], write: impl FnOnce(&mut Self)) {
        let outer = std::mem::replace(&mut self.omitted, tags.to_vec());
        write(self);
        self.omitted = outer;
    }

    fn indent(&mut self) {
        self.text.extend(std::iter::repeat_n("  ", self.depth));
    }
}
