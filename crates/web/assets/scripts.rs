// Made by crates/web/page/build.mjs.
[
    ("/chunk-32EHBVYZ.js", include_bytes!("chunk-32EHBVYZ.js")),
    ("/chunk-RBH3GUEW.js", include_bytes!("chunk-RBH3GUEW.js")),
    ("/chunk-UX3XNBQF.js", include_bytes!("chunk-UX3XNBQF.js")),
    ("/page.js", include_bytes!("page.js")),
    ("/view-O7C37TJH.js", include_bytes!("view-O7C37TJH.js")),
    ("/views-3MY7QHJC.js", include_bytes!("views-3MY7QHJC.js")),
]
