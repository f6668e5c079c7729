// Made by crates/web/page/build.mjs.
[
    ("/chunk-EUGGFCTT.js", include_bytes!("chunk-EUGGFCTT.js")),
    ("/chunk-SRMZ5G24.js", include_bytes!("chunk-SRMZ5G24.js")),
    ("/chunk-WPHPYFFN.js", include_bytes!("chunk-WPHPYFFN.js")),
    ("/page.js", include_bytes!("page.js")),
    ("/view-N4BRST7K.js", include_bytes!("view-N4BRST7K.js")),
    ("/views-VJHK4UPI.js", include_bytes!("views-VJHK4UPI.js")),
]
