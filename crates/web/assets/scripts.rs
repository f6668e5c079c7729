// Made by crates/web/page/build.mjs.
[
    ("/chunk-4BA3GMKI.js", include_bytes!("chunk-4BA3GMKI.js")),
    ("/chunk-EUGGFCTT.js", include_bytes!("chunk-EUGGFCTT.js")),
    ("/chunk-SRMZ5G24.js", include_bytes!("chunk-SRMZ5G24.js")),
    ("/page.js", include_bytes!("page.js")),
    ("/view-N4BRST7K.js", include_bytes!("view-N4BRST7K.js")),
    ("/views-6EP7Y2TL.js", include_bytes!("views-6EP7Y2TL.js")),
]
