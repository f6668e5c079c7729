//! Described meshes and tori, as a site describes them to `dor`.

use weft_fabric::FabricSpec;
use weft_routing::Dimension;

/// The dimensions of a mesh or torus (`<MeshTorusTopology>`); none for other fabrics.
pub fn dimensions(fabric: &FabricSpec) -> Vec<Dimension> {
    let FabricSpec::Grid(grid) = fabric else {
        return Vec::new();
    };
    let sizes = grid.dimensions.iter().enumerate();
    let dimension = |(number, size): (usize, &u32)| Dimension {
        toroidal: grid.wraps && *size > 2,
        length: u8::try_from(*size).unwrap_or(u8::MAX),
        pairs: grid.port_pairs(number),
    };
    sizes.map(dimension).collect()
}
