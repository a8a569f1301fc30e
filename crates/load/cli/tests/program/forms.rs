//! Tests forms with files. A server parses each form according to RFC 7578.

use crate::command::{nanopace, object};
use crate::running::{file, refusal};
use crate::server::{Asked, server};
use std::fs;
use std::process::Output;

type Field = (String, Vec<u8>);

fn form(asked: &Asked) -> (String, Vec<Field>) {
    let kind = asked.header("content-type");
    let boundary = kind.strip_prefix("multipart/form-data; boundary=").unwrap();
    (asked.first.split(' ').next().unwrap().to_owned(), fields(&asked.body, boundary))
}

fn fields(body: &[u8], boundary: &str) -> Vec<Field> {
    let (mut rest, between) = (body, format!("\r\n--{boundary}"));
    rest = rest.strip_prefix(&between.as_bytes()[2..]).unwrap();
    let mut fields = Vec::new();
    while let Some(field) = rest.strip_prefix(b"\r\n") {
        let (field, behind) = parted(field, between.as_bytes());
        let (head, value) = parted(field, b"\r\n\r\n");
        fields.push((String::from_utf8(head.to_owned()).unwrap(), value.to_owned()));
        rest = behind;
    }
    assert_eq!(rest, b"--\r\n");
    fields
}

fn parted<'a>(text: &'a [u8], by: &[u8]) -> (&'a [u8], &'a [u8]) {
    let at = text.windows(by.len()).position(|part| part == by).unwrap();
    (&text[..at], &text[at + by.len()..])
}

fn run(address: &str, args: &[&str]) -> Output {
    let few = format!("run --rate 1k/s -n 12 -c 1 --url http://{address}/ --json -");
    nanopace(&few).args(args).output().unwrap()
}

fn field(head: &str, value: impl AsRef<[u8]>) -> Field {
    (format!("Content-Disposition: form-data; {head}"), value.as_ref().to_owned())
}

#[test]
fn fields_and_files_arrive_as_they_are() {
    // The bytes of a file need not be UTF-8, and braces in a file are not placeholders.
    let content = b"\xff{{slot}}\r\n--nanopace\r\n";
    let (photo, note) = (file("a form.PNG", content), file("form-note", b"{{slot}}"));
    let (address, asked) = server();
    let fields = [
        "user=ann",
        "meta={\"a\": 1};type=application/json",
        &format!("photo=@{photo}"),
        &format!("a \"b\"=@{note};filename=x\"y.bin;type=a/b"),
        &format!("note=<{note}"),
    ];
    let options: Vec<_> = fields.iter().flat_map(|field| ["-F", *field]).collect();
    let expected = [
        field("name=\"user\"", "ann"),
        field("name=\"meta\"\r\nContent-Type: application/json", "{\"a\": 1}"),
        field("name=\"photo\"; filename=\"a form.PNG\"\r\nContent-Type: image/png", content),
        field("name=\"a %22b%22\"; filename=\"x%22y.bin\"\r\nContent-Type: a/b", "{{slot}}"),
        field("name=\"note\"", "{{slot}}"),
    ];
    for (more, method) in [(&[][..], "POST"), (&["-X", "PUT", "-H", "X: {{slot}}"], "PUT")] {
        let output = run(&address, &[&options, more].concat());
        assert!(output.status.success(), "{output:?}");
        let sent: Vec<_> = asked.try_iter().map(|asked| form(&asked)).collect();
        assert_eq!(sent, vec![(method.to_owned(), expected.to_vec()); 13]);
    }
}

#[test]
fn values_of_fields_are_filled_and_files_are_not() {
    // The content is so large that requests share it.
    let content = b"\xfe{{slot}}".repeat(20_000);
    let (photo, data) =
        (file("form-filled.jpg", &content), file("form.csv", b"user\nann\n\"b\"\"o\"\n"));
    let (address, asked) = server();
    let photo_field = format!("photo=@{photo}");
    let options = ["--data", &data, "-F", "user={{user}}!", "-F", &photo_field, "-F", "n={{slot}}"];
    let output = run(&address, &options);
    assert_eq!(object(&output)["completed"], 12, "{output:?}");
    for (slot, asked) in asked.try_iter().skip(1).enumerate() {
        let user = ["ann!", "b\"o!"][slot % 2];
        let photo = "name=\"photo\"; filename=\"form-filled.jpg\"\r\nContent-Type: image/jpeg";
        let expected = [
            field("name=\"user\"", user),
            field(photo, &content),
            field("name=\"n\"", slot.to_string()),
        ];
        assert_eq!(form(&asked).1, expected);
    }
}

#[test]
fn the_value_of_a_secret_field_is_not_shown_on_the_page() {
    let (address, _asked) = server();
    let page = file("forms.html", b"");
    let options = ["-F", "user=ann b", "-F", "Password=opensesame", "--html", &page];
    let output = run(&address, &options);
    assert!(output.status.success(), "{output:?}");
    let page = fs::read_to_string(page).unwrap();
    assert!(page.contains("user=ann b") && page.contains("Password=(not shown)"));
    assert!(!page.contains("opensesame"));
}

#[test]
fn an_invalid_form_is_rejected() {
    let output_file = file("form-output", b"");
    let upload = format!("a=@{output_file}");
    for (options, told) in [
        (&["-F", "a"][..], "write NAME=VALUE, or NAME=@FILE"),
        (&["-F", "a=@/nonexistent/file"], "--form: cannot read /nonexistent/file"),
        (&["-F", "a={{b}}"], "body: field \"a\": column 1: \"b\" is not a placeholder"),
        (&["-F", "a=b", "-H", "Content-Type: text/plain"], "--form and a header content-type"),
        (&["-F", "a={{slot}}", "-H", "Content-Length: 7"], "leave Content-Length out"),
        (&["-F", &upload, "--html", &output_file], "--form reads this file"),
        (&["-F", "a=b", "-d", "c"], "cannot be used with"),
    ] {
        let stderr = refusal(run("127.0.0.1:1", options));
        assert!(stderr.contains(told), "{options:?}: {stderr}");
    }
}
