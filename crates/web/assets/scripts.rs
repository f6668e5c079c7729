// Made by crates/web/page/build.mjs.
[
    ("/chunk-7S7CCMK2.js", include_bytes!("chunk-7S7CCMK2.js")),
    ("/chunk-C22IDOMB.js", include_bytes!("chunk-C22IDOMB.js")),
    ("/chunk-T25T6R5T.js", include_bytes!("chunk-T25T6R5T.js")),
    ("/page.js", include_bytes!("page.js")),
    ("/view-WG57OC7O.js", include_bytes!("view-WG57OC7O.js")),
    ("/views-MQKL5LYE.js", include_bytes!("views-MQKL5LYE.js")),
]
