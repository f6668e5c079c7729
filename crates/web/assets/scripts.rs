// Made by crates/web/page/build.mjs.
[
    ("/chunk-I7YYKFRZ.js", include_bytes!("chunk-I7YYKFRZ.js")),
    ("/chunk-QH2ZYFGY.js", include_bytes!("chunk-QH2ZYFGY.js")),
    ("/chunk-RED62RFM.js", include_bytes!("chunk-RED62RFM.js")),
    ("/page.js", include_bytes!("page.js")),
    ("/view-4SATZP4C.js", include_bytes!("view-4SATZP4C.js")),
    ("/views-EGHWVGMN.js", include_bytes!("views-EGHWVGMN.js")),
]
