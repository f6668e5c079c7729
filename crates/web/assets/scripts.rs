// Made by crates/web/page/build.mjs.
[
    ("/chunk-37CLCFZ4.js", include_bytes!("chunk-37CLCFZ4.js")),
    ("/chunk-C22IDOMB.js", include_bytes!("chunk-C22IDOMB.js")),
    ("/chunk-T25T6R5T.js", include_bytes!("chunk-T25T6R5T.js")),
    ("/page.js", include_bytes!("page.js")),
    ("/view-WG57OC7O.js", include_bytes!("view-WG57OC7O.js")),
    ("/views-X6OK74RY.js", include_bytes!("views-X6OK74RY.js")),
]
