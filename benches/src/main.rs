//! Measures.
use weft_benches::{fabrics, routing};
use weft_fabric::Lmc;
use weft_routing::EngineKind;
fn main() {
    for (hosts, radix) in fabrics::TREES {
        let t = fabrics::tree(hosts, radix, Lmc(0)).unwrap();
        for e in [EngineKind::FatTree, EngineKind::ShortestPath] {
            let r = routing::measure(&t, e, 3).unwrap();
            println!("{hosts} {e:?} {r:?}");
        }
    }
}
