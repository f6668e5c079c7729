// Made by crates/web/page/build.mjs.
[
    ("/chunk-55TZTEFH.js", include_bytes!("chunk-55TZTEFH.js")),
    ("/chunk-V3KT462V.js", include_bytes!("chunk-V3KT462V.js")),
    ("/chunk-ZAKQW3YZ.js", include_bytes!("chunk-ZAKQW3YZ.js")),
    ("/page.js", include_bytes!("page.js")),
    ("/view-4TSEG67F.js", include_bytes!("view-4TSEG67F.js")),
    ("/views-PUMIPW3O.js", include_bytes!("views-PUMIPW3O.js")),
]
