//! One element, explained: its row of the documentation, and its values in a file.

use serde::Serialize;

use crate::instance::{OWN, REPLACING};
use crate::reference::reference;
use crate::section::Row;
use crate::xml::{Document, Id};
use crate::{Config, context};

/// An element and its values in a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Explained {
    /// The element.
    #[serde(flatten)]
    pub row: Row,
    /// Its values: one, or as many as there are where the element may repeat.
    pub values: Vec<Value>,
}

/// A value in force.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Value {
    /// The value; `None` for a key, which is not shown, and for an element that is not set and has
    /// no default.
    pub value: Option<String>,
    /// The line that it comes from; `None` for a default.
    pub line: Option<u32>,
    /// The element of that line, for example `Config/Common/Shared/Priority`.
    pub from: Option<String>,
}

/// The rows of all elements that a name means: a tag, or the end of a path, in any case of letters.
pub fn find(name: &str) -> Vec<Row> {
    let wanted: Vec<&str> = name.split('/').collect();
    let is_meant = |row: &Row| {
        let steps: Vec<&str> = row.path.split('/').collect();
        let first = steps.len().checked_sub(wanted.len());
        first.is_some_and(|first| {
            let mut pairs = steps[first..].iter().zip(&wanted);
            pairs.all(|(step, wanted)| step.eq_ignore_ascii_case(wanted))
        })
    };
    reference().into_iter().filter(is_meant).collect()
}

/// The tag that is nearest to a name that no element has, if any is near.
pub fn nearest(name: &str) -> Option<String> {
    let wanted = name.rsplit('/').next().unwrap_or_default();
    let rows = reference();
    context::suggestion(wanted, rows.iter().map(Row::tag)).map(str::to_owned)
}

/// The elements of a name with their values for one instance. `text` is the file that `config` was
/// read from.
pub fn explain(name: &str, text: &str, config: &Config, instance: usize) -> Vec<Explained> {
    let effective = config.effective_xml_without_keys();
    // The one was read before, the other is our own.
    let (Ok(file), Ok(effective)) = (Document::parse(text), Document::parse(&effective)) else {
        return Vec::new();
    };
    let rows = find(name).into_iter().map(|row| Explained {
        values: match row.repeated {
            true => all_given(&row, &file, instance),
            false => vec![in_force(&row, &file, &effective, instance)],
        },
        row,
    });
    rows.collect()
}

/// Every place that gives a value.
fn all_given(row: &Row, file: &Document<'_>, instance: usize) -> Vec<Value> {
    let path: Vec<&str> = row.path.split('/').collect();
    let mut layers = layers(file, instance);
    if path.len() > 1 && REPLACING.contains(&path[1]) {
        let with = |&layer: &Id| file.find_last(layer, &path[..2]).is_some();
        layers = layers.into_iter().rev().find(with).into_iter().collect();
    }
    let mut found = layers;
    for step in &path {
        let children = found.iter().flat_map(|&id| file.children(id));
        found = children.filter(|&id| file.name(id) == *step).collect();
    }
    let given = found.into_iter().map(|id| Value {
        value: Some(file.text(id).trim_ascii().to_owned()),
        line: Some(file.line(id)),
        from: Some(file.path(id)),
    });
    given.collect()
}

/// The one value that counts, and its place.
fn in_force(row: &Row, file: &Document<'_>, effective: &Document<'_>, instance: usize) -> Value {
    let section: Vec<&str> = row.section().split('/').collect();
    let tag = row.alias_of.unwrap_or(row.tag());
    let at = |path: &[&str], tag: &str| {
        let fm = layers(effective, instance).pop()?;
        let id = effective.find_last(fm, &[path, &[tag]].concat())?;
        Some(effective.text(id).trim_ascii().to_owned())
    };
    let origin = origin(&section, tag, file, instance);
    Value {
        value: at(&section, tag),
        line: origin.map(|id| file.line(id)),
        from: origin.map(|id| file.path(id)),
    }
}

/// The element that gives the value: of the `Fm` before `Common`, of the section before `Shared`.
fn origin(section: &[&str], tag: &str, file: &Document<'_>, instance: usize) -> Option<Id> {
    let inherits = matches!(section, ["Sm" | "Fe" | "Pm"]) && !OWN.contains(&tag);
    let places = [Some(section), inherits.then_some(&["Shared"][..])];
    let spellings: Vec<String> = reference()
        .iter()
        .filter(|row| row.section().split('/').eq(section.iter().copied()))
        .filter(|row| row.tag() == tag || row.alias_of == Some(tag))
        .map(|row| row.tag().to_owned())
        .collect();
    let in_place = |layer: Id, place: &[&str]| {
        let section = file.find_last(layer, place)?;
        let children = file.children(section);
        children
            .filter(|&id| spellings.iter().any(|spelling| spelling == file.name(id)))
            .last()
    };
    let layers = layers(file, instance);
    layers.iter().rev().find_map(|&layer| {
        let mut places = places.iter().flatten();
        places.find_map(|place| in_place(layer, place))
    })
}

/// All `Common`, then the `Fm` of an instance, counted from 0.
fn layers(document: &Document<'_>, instance: usize) -> Vec<Id> {
    let of = |name: &'static str| {
        let children = document.children(document.root());
        children.filter(move |&id| document.name(id) == name)
    };
    of("Common").chain(of("Fm").nth(instance)).collect()
}
