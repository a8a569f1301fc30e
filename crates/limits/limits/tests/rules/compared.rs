//! Tests that the page on limits shows the output of the example `compare`.

#[path = "../../examples/compare.rs"]
#[expect(dead_code, reason = "the example also has a main function")]
mod example;

#[test]
fn the_page_shows_the_output_of_the_example() {
    let page = include_str!("../../docs/LIMITS.md");
    let (_, shown) = page.split_once("--example compare\n").expect("the example's command");
    let (shown, _) = shown.split_once("```").expect("the end of its output");
    assert_eq!(shown, example::report().unwrap());
}
