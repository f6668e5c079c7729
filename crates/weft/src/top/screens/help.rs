//! Keys.

use crate::top::page::{Page, Row};

const LINES: [&str; 19] = [
    "1 links       2 summary    3 ports",
    "4 fabrics     5 histogram  6 image",
    "7 settings of the performance manager",
    "Enter go in   Esc back     q leave",
    "arrows, page keys, Home, End: choose",
    "space   freeze, and go on",
    ", .     a reading back, forth; < > ten",
    "l       the last reading again",
    "/       filter; Enter keeps, Esc clears",
    "t       totals or rates",
    "o       next order",
    "v       lowest first, and back",
    "Sort by:",
    "u utilization    g GB/s",
    "k packets        w wait",
    "c congestion     i integrity",
    "m SMA congestion b bubble",
    "x security       r routing",
    "Links: u g w c",
];

pub(super) fn page() -> Page {
    Page {
        title: "Keys".to_owned(),
        rows: LINES.map(Row::plain).into(),
        ..Page::default()
    }
}
