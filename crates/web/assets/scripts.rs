// Made by crates/web/page/build.mjs.
[
    ("/chunk-27N7H2ZH.js", include_bytes!("chunk-27N7H2ZH.js")),
    ("/chunk-FOLYN77W.js", include_bytes!("chunk-FOLYN77W.js")),
    ("/chunk-WXTSHEK3.js", include_bytes!("chunk-WXTSHEK3.js")),
    ("/page.js", include_bytes!("page.js")),
    ("/view-NTRTGXK7.js", include_bytes!("view-NTRTGXK7.js")),
    ("/views-EAN7AQ2A.js", include_bytes!("views-EAN7AQ2A.js")),
]
