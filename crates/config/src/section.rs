//! Sections: one table per group of tags, from which come the type, its reader, its writer, and the
//! documentation.

use crate::context::Cx;
use crate::finding::Rule;
use crate::syntax::Syntax;
use crate::writer::XmlWriter;
use crate::xml::Id;

/// A group of tags.
pub(crate) trait Section: Default {
    /// Reads one child element. `None`: the section has no such tag; else whether the tag may repeat.
    fn set(&mut self, tag: &str, id: Id, cx: &mut Cx<'_>) -> Option<bool>;

    /// Reads one child element of `Shared`, if the section takes the value from there.
    fn inherit(&mut self, tag: &str, id: Id, cx: &mut Cx<'_>);

    /// Writes all tags that have a value.
    fn write(&self, out: &mut XmlWriter);

    /// The tags, for suggestions.
    fn tags() -> Vec<&'static str>;

    /// Describes the tags below `path`.
    fn rows(path: &str, rows: &mut Vec<Row>);

    /// Checks that concern the section as a whole, once its element has been read.
    fn finish(&mut self, _: Id, _: &mut Cx<'_>) {}
}

/// One tag in the documentation.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Row {
    /// The tag with the sections around it, for example `Sm/Multicast/MLIDTableCap`.
    pub path: String,
    /// The value without any setting; empty if there is none.
    pub default: String,
    /// Allowed values.
    pub allowed: String,
    /// Whether the vendor's parser lets other values pass.
    pub stricter: bool,
    /// Description.
    pub meaning: String,
    /// The reason why it has no effect here, if it has none.
    pub no_effect: Option<&'static str>,
    /// The tag that this is another spelling of.
    pub alias_of: Option<&'static str>,
    /// Whether one instance may have several, each with a value of its own.
    pub repeated: bool,
}

impl Row {
    /// The tag alone.
    pub fn tag(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or_default()
    }

    /// The sections around it, for example `Sm/Multicast`; empty if there are none.
    pub(crate) fn section(&self) -> &str {
        let around = self.path.rsplit_once('/');
        around.map_or("", |(section, _)| section)
    }

    pub(crate) fn new(path: String, meaning: &str) -> Self {
        Self {
            path,
            default: String::new(),
            allowed: String::new(),
            stricter: false,
            meaning: meaning.to_owned(),
            no_effect: None,
            alias_of: None,
            repeated: false,
        }
    }

    /// The row of a tag with this syntax.
    fn of<S: Syntax>(syntax: &S, path: String, meaning: &str) -> Self {
        Self {
            allowed: syntax.allowed(),
            stricter: syntax.is_stricter(),
            ..Self::new(path, meaning)
        }
    }
}

/// Reads all children of an element into a section.
pub(crate) fn apply<S: Section>(section: &mut S, id: Id, cx: &mut Cx<'_>) {
    let document = cx.document;
    cx.refuse_attributes(id);
    refuse_text(id, cx);
    let mut seen: Vec<&str> = Vec::new();
    for child in document.children(id) {
        let tag = document.name(child);
        if seen.contains(&tag) && cx.is_second_section(child) {
            continue;
        }
        match section.set(tag, child, cx) {
            None => cx.unknown(child, S::tags),
            Some(true) => {}
            Some(false) if seen.contains(&tag) => {
                cx.warn(
                    child,
                    Rule::Duplicate,
                    format!("`{tag}` is repeated; the last one counts"),
                );
            }
            Some(false) => seen.push(tag),
        }
    }
    section.finish(id, cx);
}

/// Elements with children have no text.
pub(crate) fn refuse_text(id: Id, cx: &mut Cx<'_>) {
    if !cx.document.text(id).trim_ascii().is_empty() {
        cx.error(
            id,
            Rule::StrictXml,
            "text in an element that only holds other elements",
        );
    }
}

/// Conversion from one tag to one field.
pub(crate) trait Slot<T> {
    fn set(&self, target: &mut T, id: Id, cx: &mut Cx<'_>);
    fn write(&self, tag: &str, value: &T, out: &mut XmlWriter);
    fn rows(&self, path: String, meaning: &str, default: &T, rows: &mut Vec<Row>);

    fn repeats(&self) -> bool {
        false
    }
}

/// A tag with one value.
pub(crate) struct One<S>(pub(crate) S);

impl<S: Syntax> Slot<S::Value> for One<S> {
    fn set(&self, target: &mut S::Value, id: Id, cx: &mut Cx<'_>) {
        if let Some(value) = cx.parse(&self.0, id) {
            *target = value;
        }
    }

    fn write(&self, tag: &str, value: &S::Value, out: &mut XmlWriter) {
        out.leaf(tag, &self.0.print(value));
    }

    fn rows(&self, path: String, meaning: &str, default: &S::Value, rows: &mut Vec<Row>) {
        rows.push(Row {
            default: self.0.print(default),
            ..Row::of(&self.0, path, meaning)
        });
    }
}

/// A tag that may be absent.
pub(crate) struct Opt<S>(pub(crate) S);

impl<S: Syntax> Slot<Option<S::Value>> for Opt<S> {
    fn set(&self, target: &mut Option<S::Value>, id: Id, cx: &mut Cx<'_>) {
        *target = cx.parse(&self.0, id).or(target.take());
    }

    fn write(&self, tag: &str, value: &Option<S::Value>, out: &mut XmlWriter) {
        if let Some(value) = value {
            out.leaf(tag, &self.0.print(value));
        }
    }

    fn rows(&self, path: String, meaning: &str, default: &Option<S::Value>, rows: &mut Vec<Row>) {
        let default = default
            .as_ref()
            .map_or(String::new(), |value| self.0.print(value));
        rows.push(Row {
            default,
            ..Row::of(&self.0, path, meaning)
        });
    }
}

/// A tag that may repeat, at most so often.
pub(crate) struct Many<S>(pub(crate) S, pub(crate) usize);

impl<S: Syntax> Slot<Vec<S::Value>> for Many<S> {
    fn set(&self, target: &mut Vec<S::Value>, id: Id, cx: &mut Cx<'_>) {
        if target.len() >= self.1 {
            return too_many(self.1, id, cx);
        }
        target.extend(cx.parse(&self.0, id));
    }

    fn write(&self, tag: &str, value: &Vec<S::Value>, out: &mut XmlWriter) {
        for value in value {
            out.leaf(tag, &self.0.print(value));
        }
    }

    fn rows(&self, path: String, meaning: &str, _: &Vec<S::Value>, rows: &mut Vec<Row>) {
        rows.push(Row {
            allowed: format!("{}; up to {} times", self.0.allowed(), self.1),
            repeated: true,
            ..Row::of(&self.0, path, meaning)
        });
    }

    fn repeats(&self) -> bool {
        true
    }
}

/// Marks tags as without effect.
pub(crate) fn mark(rows: &mut [Row], why: &'static str) {
    for row in rows {
        row.no_effect = Some(why);
    }
}

/// Tells that a tag without effect has another value than the one that Weft acts by.
pub(crate) fn warn_without_effect(differs: bool, why: &'static str, id: Id, cx: &mut Cx<'_>) {
    if differs {
        cx.warn(id, Rule::Ignored, format!("no effect here: {why}"));
    }
}

/// The value that Weft acts by: the default, unless another is given.
macro_rules! acts_as {
    ($default:expr) => {
        $default
    };
    ($default:expr, $acts_as:expr) => {
        $acts_as
    };
}

fn too_many(limit: usize, id: Id, cx: &mut Cx<'_>) {
    cx.error(
        id,
        Rule::Count,
        format!("more than {limit} `{}`", cx.document.name(id)),
    );
}

/// An alternative notation of a field: read, never written.
pub(crate) struct Also<S>(pub(crate) S);

impl<T, S: Syntax> Slot<T> for Also<S>
where
    T: From<S::Value>,
{
    fn set(&self, target: &mut T, id: Id, cx: &mut Cx<'_>) {
        if let Some(value) = cx.parse(&self.0, id) {
            *target = value.into();
        }
    }

    fn write(&self, _: &str, _: &T, _: &mut XmlWriter) {}

    fn rows(&self, path: String, meaning: &str, _: &T, rows: &mut Vec<Row>) {
        rows.push(Row::of(&self.0, path, meaning));
    }
}

/// A section inside of a section.
pub(crate) struct Sub;

impl<T: Section> Slot<T> for Sub {
    fn set(&self, target: &mut T, id: Id, cx: &mut Cx<'_>) {
        apply(target, id, cx);
    }

    fn write(&self, tag: &str, value: &T, out: &mut XmlWriter) {
        out.open(tag);
        value.write(out);
        out.close(tag);
    }

    fn rows(&self, path: String, _: &str, _: &T, rows: &mut Vec<Row>) {
        T::rows(&path, rows);
    }
}

/// A section that replaces an earlier one of its name, instead of adding to it.
pub(crate) struct Whole;

impl<T: Section> Slot<T> for Whole {
    fn set(&self, target: &mut T, id: Id, cx: &mut Cx<'_>) {
        *target = T::default();
        apply(target, id, cx);
    }

    fn write(&self, tag: &str, value: &T, out: &mut XmlWriter) {
        Sub.write(tag, value, out);
    }

    fn rows(&self, path: String, meaning: &str, default: &T, rows: &mut Vec<Row>) {
        Sub.rows(path, meaning, default, rows);
    }
}

impl<T: Section> Slot<Option<T>> for Whole {
    fn set(&self, target: &mut Option<T>, id: Id, cx: &mut Cx<'_>) {
        apply(target.insert(T::default()), id, cx);
    }

    fn write(&self, tag: &str, value: &Option<T>, out: &mut XmlWriter) {
        if let Some(value) = value {
            Sub.write(tag, value, out);
        }
    }

    fn rows(&self, path: String, _: &str, _: &Option<T>, rows: &mut Vec<Row>) {
        T::rows(&path, rows);
    }
}

/// A section that may repeat, at most so often.
pub(crate) struct Subs(pub(crate) usize);

impl<T: Section> Slot<Vec<T>> for Subs {
    fn set(&self, target: &mut Vec<T>, id: Id, cx: &mut Cx<'_>) {
        if target.len() >= self.0 {
            return too_many(self.0, id, cx);
        }
        let mut item = T::default();
        apply(&mut item, id, cx);
        target.push(item);
    }

    fn write(&self, tag: &str, value: &Vec<T>, out: &mut XmlWriter) {
        for item in value {
            Sub.write(tag, item, out);
        }
    }

    fn rows(&self, path: String, _: &str, _: &Vec<T>, rows: &mut Vec<Row>) {
        let first = rows.len();
        T::rows(&path, rows);
        for row in &mut rows[first..] {
            row.repeated = true;
        }
    }

    fn repeats(&self) -> bool {
        true
    }
}

/// Declares a section: the type, its defaults, its tags.
///
/// Each line is `field: Type = default, "Tag" => slot;`, with further spellings after it. `flat`
/// names sections whose tags stand among the section's own; the section also takes those from
/// `Shared`. `ignored` are tags that are known to do nothing. `finish` is a last check.
///
/// `#[no_effect("reason")]` marks a tag, a section, or the tags of a `flat` that Weft reads and does
/// not heed. A value other than the default is a finding; with `acts_as = value`, any value but that;
/// with `told_by = "Tag"`, none is, as the finding for that tag is enough.
macro_rules! section {
    (
        $(#[$meta:meta])*
        pub struct $name:ident {
            $(
                $(#[doc = $doc:literal])+
                $(#[no_effect($why_not:literal $(, acts_as = $acts_as:expr)? $(, told_by = $told_by:literal)?)])?
                $field:ident : $ty:ty = $default:expr, $tag:literal => $slot:expr $(, $alias:literal => $alias_slot:expr)* ;
            )*
        }
        $(flat { $( $(#[doc = $flat_doc:literal])+ $(#[no_effect($flat_why_not:literal)])? $flat:ident : $flat_ty:ty $(, without $without:literal)* ; )+ })?
        $(ignored { $( $ignored:literal => $why:literal ; )+ })?
        $(finish $finish:expr ;)?
    ) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
        pub struct $name {
            $( $(#[doc = $doc])+ pub $field: $ty, )*
            $( $( $(#[doc = $flat_doc])+ pub $flat: $flat_ty, )+ )?
        }

        impl Default for $name {
            fn default() -> Self {
                Self {
                    $( $field: $default, )*
                    $( $( $flat: <$flat_ty>::default(), )+ )?
                }
            }
        }

        impl $crate::section::Section for $name {
            #[allow(unused_variables)]
            fn set(&mut self, tag: &str, id: $crate::xml::Id, cx: &mut $crate::context::Cx<'_>) -> Option<bool> {
                use $crate::section::Slot;
                let repeats = match tag {
                    $(
                        $tag => {
                            let slot = $slot;
                            slot.set(&mut self.$field, id, cx);
                            Some(Slot::<$ty>::repeats(&slot))
                        }
                        $( $alias => {
                            let slot = $alias_slot;
                            slot.set(&mut self.$field, id, cx);
                            Some(false)
                        } )*
                    )*
                    $( $( $ignored => {
                        $crate::section::warn_without_effect(true, $why, id, cx);
                        Some(false)
                    } )+ )?
                    _ => {
                        $( $(
                            if true $( && tag != $without )* && let Some(repeats) = self.$flat.set(tag, id, cx) {
                                $(
                                    let mut alone = <$flat_ty>::default();
                                    alone.set(tag, id, cx);
                                    let differs = alone != <$flat_ty>::default();
                                    $crate::section::warn_without_effect(differs, $flat_why_not, id, cx);
                                )?
                                return Some(repeats);
                            }
                        )+ )?
                        None
                    }
                };
                $(
                    let named = [$tag, $($alias),*].contains(&tag);
                    $(
                        let acts_as: $ty = $crate::section::acts_as!($default $(, $acts_as)?);
                        let told_by: &[&str] = &[$($told_by)?];
                        let differs = named && told_by.is_empty() && self.$field != acts_as;
                        $crate::section::warn_without_effect(differs, $why_not, id, cx);
                    )?
                )*
                repeats
            }

            #[allow(unused_variables)]
            fn inherit(&mut self, tag: &str, id: $crate::xml::Id, cx: &mut $crate::context::Cx<'_>) {
                $( $( let _ = self.$flat.set(tag, id, cx); )+ )?
            }

            #[allow(unused_variables)]
            fn write(&self, out: &mut $crate::writer::XmlWriter) {
                use $crate::section::Slot;
                $( $slot.write($tag, &self.$field, out); )*
                $( $(
                    out.without(&[$($without),*], |out| self.$flat.write(out));
                )+ )?
            }

            fn tags() -> Vec<&'static str> {
                #[allow(unused_mut)]
                let mut tags = vec![$( $tag, $( $alias, )* )*];
                $( $(
                    tags.extend(<$flat_ty as $crate::section::Section>::tags().into_iter().filter(|tag| ![$($without as &str),*].contains(tag)));
                )+ )?
                tags
            }

            #[allow(unused_variables)]
            fn rows(path: &str, rows: &mut Vec<$crate::section::Row>) {
                use $crate::section::Slot;
                let default = Self::default();
                $(
                    let first = rows.len();
                    let meaning = concat!($($doc),+).trim_ascii_start();
                    $slot.rows(format!("{path}/{}", $tag), meaning, &default.$field, rows);
                    $(
                        let spelling = rows.len();
                        $alias_slot.rows(format!("{path}/{}", $alias), concat!("As `", $tag, "`."), &default.$field, rows);
                        rows[spelling].alias_of = Some($tag);
                    )*
                    $( $crate::section::mark(&mut rows[first..], $why_not); )?
                )*
                $( $(
                    let mut flat = Vec::new();
                    <$flat_ty as $crate::section::Section>::rows(path, &mut flat);
                    flat.retain(|row| ![$(format!("{path}/{}", $without)),*].contains(&row.path));
                    $( $crate::section::mark(&mut flat, $flat_why_not); )?
                    rows.append(&mut flat);
                )+ )?
                $( $( rows.push($crate::section::Row {
                    no_effect: Some($why),
                    ..$crate::section::Row::new(format!("{path}/{}", $ignored), "Deprecated.")
                }); )+ )?
            }

            $( fn finish(&mut self, id: $crate::xml::Id, cx: &mut $crate::context::Cx<'_>) {
                let check: fn(&mut Self, $crate::xml::Id, &mut $crate::context::Cx<'_>) = $finish;
                check(self, id, cx);
            } )?
        }
    };
}

pub(crate) use {acts_as, section};
