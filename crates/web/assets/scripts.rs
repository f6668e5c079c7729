// Made by crates/web/page/build.mjs.
[
    ("/chunk-JRBEQ3H4.js", include_bytes!("chunk-JRBEQ3H4.js")),
    ("/chunk-O7SQP7PS.js", include_bytes!("chunk-O7SQP7PS.js")),
    ("/chunk-VSKBDBEY.js", include_bytes!("chunk-VSKBDBEY.js")),
    ("/page.js", include_bytes!("page.js")),
    ("/view-Q3SAEEXY.js", include_bytes!("view-Q3SAEEXY.js")),
    ("/views-2OMVZODM.js", include_bytes!("views-2OMVZODM.js")),
]
