//! The structure of a crate as calls and types show it.
//!
//! A drawing of imports does not show circles of calls: methods of one type may stand in many files,
//! and call each other without an import. Inline test modules are left out.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::{fs, io};

use petgraph::algo::tarjan_scc;
use petgraph::graph::{DiGraph, NodeIndex};
use syn::visit::{self, Visit};

/// Structs with more fields than this are listed.
const FIELDS_MAX: usize = 12;

/// A method: the type that it belongs to, and its name.
type Method = (String, String);

/// A crate as far as this report needs it.
#[derive(Debug, Default)]
pub struct Structure {
    /// Fields of each struct, by its name and file.
    fields: Vec<(usize, String, PathBuf)>,
    /// The files that define each method.
    defined: BTreeMap<Method, BTreeSet<PathBuf>>,
    /// Calls through `self`: the file, and the method called.
    calls: Vec<(PathBuf, Method)>,
}

/// Collects the structure of one file.
struct Collector<'a> {
    into: &'a mut Structure,
    file: PathBuf,
    /// The type whose `impl` is being read.
    of: Option<String>,
}

impl<'ast> Visit<'ast> for Collector<'_> {
    fn visit_item_mod(&mut self, module: &'ast syn::ItemMod) {
        let is_test = module.attrs.iter().any(|attribute| {
            attribute.path().is_ident("cfg")
                && attribute
                    .parse_args::<syn::Ident>()
                    .is_ok_and(|of| of == "test")
        });
        if !is_test {
            visit::visit_item_mod(self, module);
        }
    }

    fn visit_item_struct(&mut self, item: &'ast syn::ItemStruct) {
        let fields = (item.fields.len(), item.ident.to_string(), self.file.clone());
        self.into.fields.push(fields);
    }

    fn visit_item_impl(&mut self, item: &'ast syn::ItemImpl) {
        let of = match &*item.self_ty {
            syn::Type::Path(path) => path.path.segments.last().map(|last| last.ident.to_string()),
            _ => None,
        };
        let outer = std::mem::replace(&mut self.of, of);
        visit::visit_item_impl(self, item);
        self.of = outer;
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        if let Some(of) = &self.of {
            let method = (of.clone(), item.sig.ident.to_string());
            let files = self.into.defined.entry(method).or_default();
            files.insert(self.file.clone());
        }
        visit::visit_impl_item_fn(self, item);
    }

    fn visit_expr_method_call(&mut self, call: &'ast syn::ExprMethodCall) {
        let on_self =
            matches!(&*call.receiver, syn::Expr::Path(path) if path.path.is_ident("self"));
        if let Some(of) = self.of.as_ref().filter(|_| on_self) {
            let method = (of.clone(), call.method.to_string());
            self.into.calls.push((self.file.clone(), method));
        }
        visit::visit_expr_method_call(self, call);
    }
}

impl Structure {
    /// Reads all Rust files below a folder.
    ///
    /// # Errors
    /// When a file cannot be read, or is no Rust.
    pub fn read(root: &Path) -> io::Result<Self> {
        let mut structure = Self::default();
        for path in rust_files(root)? {
            let text = fs::read_to_string(&path)?;
            let parsed = syn::parse_file(&text).map_err(|error| {
                let what = format!("{}: {error}", path.display());
                io::Error::new(io::ErrorKind::InvalidData, what)
            })?;
            let file = path.strip_prefix(root).unwrap_or(&path).to_owned();
            let mut collector = Collector {
                into: &mut structure,
                file,
                of: None,
            };
            collector.visit_file(&parsed);
        }
        Ok(structure)
    }

    /// Files that reach each other by calls through `self`, the largest circle first.
    pub fn circles(&self) -> Vec<BTreeSet<&Path>> {
        let mut graph: DiGraph<&Path, ()> = DiGraph::new();
        let mut places: BTreeMap<&Path, NodeIndex> = BTreeMap::new();
        for (from, method) in &self.calls {
            let files = self.defined.get(method).into_iter().flatten();
            for to in files.filter(|to| *to != from) {
                let from = *places.entry(from).or_insert_with(|| graph.add_node(from));
                let to = *places.entry(to).or_insert_with(|| graph.add_node(to));
                graph.update_edge(from, to, ());
            }
        }
        let components = tarjan_scc(&graph).into_iter();
        let circles = components.filter(|files| files.len() > 1);
        let mut circles: Vec<BTreeSet<&Path>> = circles
            .map(|files| files.into_iter().map(|file| graph[file]).collect())
            .collect();
        circles.sort_by_key(|files| std::cmp::Reverse(files.len()));
        circles
    }

    /// Methods and files of each type, the most methods first.
    fn methods(&self) -> Vec<(usize, usize, &str)> {
        let mut types: BTreeMap<&str, (usize, BTreeSet<&Path>)> = BTreeMap::new();
        for ((of, _), files) in &self.defined {
            let (count, all) = types.entry(of).or_default();
            *count += 1;
            all.extend(files.iter().map(PathBuf::as_path));
        }
        let mut methods: Vec<(usize, usize, &str)> = types
            .into_iter()
            .map(|(of, (count, files))| (count, files.len(), of))
            .collect();
        methods.sort_by_key(|(count, ..)| std::cmp::Reverse(*count));
        methods
    }

    /// Prints all of it.
    pub fn print(&self) {
        println!("structs with more than {FIELDS_MAX} fields:");
        let mut large: Vec<_> = self.fields.iter().filter(|of| of.0 > FIELDS_MAX).collect();
        large.sort_by(|a, b| b.cmp(a));
        for (count, name, file) in large {
            println!("  {count:4}  {name} ({})", file.display());
        }
        println!("methods of each type, and files that they are in:");
        for (count, files, of) in self.methods() {
            println!("  {count:4} in {files:2}  {of}");
        }
        let circles = self.circles();
        let largest = circles.first().map_or(0, BTreeSet::len);
        println!("circles of calls between files, the largest with {largest}:");
        for circle in circles {
            let names = circle.iter().map(|file| file.display().to_string());
            println!(
                "  {:4}  {}",
                circle.len(),
                names.collect::<Vec<_>>().join(" ")
            );
        }
    }
}

/// The Rust files below a folder, in order of their paths.
fn rust_files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            files.extend(rust_files(&path)?);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}
