// Made by crates/web/page/build.mjs.
[
    ("/chunk-32EHBVYZ.js", include_bytes!("chunk-32EHBVYZ.js")),
    ("/chunk-DGU5SKM7.js", include_bytes!("chunk-DGU5SKM7.js")),
    ("/chunk-UX3XNBQF.js", include_bytes!("chunk-UX3XNBQF.js")),
    ("/page.js", include_bytes!("page.js")),
    ("/view-O7C37TJH.js", include_bytes!("view-O7C37TJH.js")),
    ("/views-EYKUE7UG.js", include_bytes!("views-EYKUE7UG.js")),
]
