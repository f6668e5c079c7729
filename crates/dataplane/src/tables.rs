//! Tables that many ports have in common are kept once.

use std::collections::HashSet;
use std::sync::Arc;

/// A table as it is on the wire; ports with the same content share it.
pub type Table = Arc<[u8]>;

/// Number of different tables at which unused ones are dropped.
const PURGE_AT: usize = 4096;

/// Shares equal contents as one [`Table`].
///
/// Only looked up, never iterated in an order that shows.
#[derive(Debug, Clone)]
pub struct TablePool {
    known: HashSet<Table>,
    purge_at: usize,
}

impl Default for TablePool {
    fn default() -> Self {
        Self {
            known: HashSet::new(),
            purge_at: PURGE_AT,
        }
    }
}

impl TablePool {
    /// The table with this content.
    pub fn intern(&mut self, content: &[u8]) -> Table {
        if let Some(table) = self.known.get(content) {
            return table.clone();
        }
        if self.known.len() >= self.purge_at {
            self.purge();
        }
        let table: Table = content.into();
        self.known.insert(table.clone());
        table
    }

    /// The table that results when `bytes` are written into `table` at `offset`; what would go
    /// beyond its end is left out.
    pub fn patched(&mut self, table: &Table, offset: usize, bytes: &[u8]) -> Table {
        let end = offset.saturating_add(bytes.len()).min(table.len());
        let current = table.get(offset..end).unwrap_or_default();
        if current.len() == bytes.len() && current == bytes {
            return table.clone();
        }
        if offset == 0 && bytes.len() >= table.len() {
            return self.intern(&bytes[..table.len()]);
        }
        let mut content = table.to_vec();
        for (to, from) in content.iter_mut().skip(offset).zip(bytes) {
            *to = *from;
        }
        self.intern(&content)
    }

    /// Number of different tables.
    pub fn len(&self) -> usize {
        self.known.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.known.is_empty()
    }

    fn purge(&mut self) {
        self.known.retain(|table| Arc::strong_count(table) > 1);
        self.purge_at = PURGE_AT.max(2 * self.known.len());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_contents_are_one_table() {
        let mut pool = TablePool::default();
        let first = pool.intern(&[1, 2, 3]);
        let patched = pool.patched(&first, 1, &[9]);
        assert_eq!(&*patched, &[1, 9, 3]);
        let back = pool.patched(&patched, 1, &[2]);
        assert!(Arc::ptr_eq(&first, &back));
        assert_eq!(pool.len(), 2);
    }

    #[test]
    fn unused_tables_do_not_pile_up() {
        let mut pool = TablePool::default();
        let kept = pool.intern(b"kept");
        for n in 0..3 * PURGE_AT as u32 {
            pool.intern(&n.to_be_bytes());
        }
        assert!(pool.len() <= PURGE_AT);
        assert!(Arc::ptr_eq(&kept, &pool.intern(b"kept")));
    }
}
