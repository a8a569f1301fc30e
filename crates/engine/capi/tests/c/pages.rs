//! Checks that the Go and Java code of the pages is part of the examples, which `cargo xtask languages` runs.

use std::fs;
use std::path::Path;

fn read(path: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap()
}

fn shown<'p>(page: &'p str, language: &str) -> Vec<&'p str> {
    let fence = format!("```{language}\n");
    let blocks = page.split(&*fence).skip(1);
    blocks.flat_map(|block| block.split("```").next().unwrap().lines()).map(str::trim).collect()
}

#[test]
fn each_line_of_go_and_java_is_one_of_the_first_program() {
    for (language, page, program) in [
        ("go", "docs/go.md", "examples/go/first/main.go"),
        ("java", "docs/java.md", "examples/java/First.java"),
    ] {
        let program = read(program);
        let page = read(page);
        let lines = shown(&page, language);
        assert!(lines.len() > 5, "{language}: {lines:?}");
        for line in lines {
            assert!(program.lines().any(|of| of.trim() == line), "{language}: {line}");
        }
    }
}
