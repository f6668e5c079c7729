// Made by crates/web/page/build.mjs.
[
    ("/chunk-IKZQSYF3.js", include_bytes!("chunk-IKZQSYF3.js")),
    ("/chunk-MLCFX6PU.js", include_bytes!("chunk-MLCFX6PU.js")),
    ("/chunk-NDLAFHS7.js", include_bytes!("chunk-NDLAFHS7.js")),
    ("/chunk-WQD6G2B2.js", include_bytes!("chunk-WQD6G2B2.js")),
    ("/page.js", include_bytes!("page.js")),
    ("/view-SB3VZLZ7.js", include_bytes!("view-SB3VZLZ7.js")),
    ("/views-MR52HIRR.js", include_bytes!("views-MR52HIRR.js")),
]
