//! Rewrites the generated parts of `docs/configuration.md`.
//!
//! ```text
//! cargo run -p weft-config --example reference
//! ```

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/configuration.md");
    let mut text = std::fs::read_to_string(path)?;
    let parts = [
        ("tags", weft_config::reference_markdown()),
        ("stricter", weft_config::stricter_markdown()),
    ];
    for (name, part) in parts {
        let (start, end) = (
            format!("<!-- {name}: generated -->\n"),
            format!("<!-- {name}: end -->"),
        );
        let (before, rest) = text.split_once(&start).ok_or("a start mark is missing")?;
        let (_, after) = rest.split_once(&end).ok_or("an end mark is missing")?;
        text = format!("{before}{start}\n{}\n{end}{after}", part.trim_end());
    }
    std::fs::write(path, text)?;
    Ok(())
}
