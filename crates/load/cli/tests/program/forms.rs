//! Forms with files in them: a server takes each apart as RFC 7578 has it.

use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto::Builder;
use std::convert::Infallible;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;
use tokio::net::TcpListener;
use tokio::runtime::Runtime;

/// A field as it came: its head, and its value.
type Field = (String, Vec<u8>);

fn file(name: &str, content: &[u8]) -> String {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::write(&path, content).unwrap();
    path.display().to_string()
}

/// A server's URL, and the methods and forms that it gets.
fn server() -> (String, Receiver<(String, Vec<Field>)>) {
    let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
    listener.set_nonblocking(true).unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let (sender, forms) = mpsc::channel();
    thread::spawn(move || Runtime::new().unwrap().block_on(serve(listener, sender)));
    (url, forms)
}

async fn serve(listener: std::net::TcpListener, forms: Sender<(String, Vec<Field>)>) {
    let listener = TcpListener::from_std(listener).unwrap();
    loop {
        let (forms, (stream, _)) = (forms.clone(), listener.accept().await.unwrap());
        tokio::spawn(async move {
            let answer = |request: Request<Incoming>| {
                let forms = forms.clone();
                async move {
                    let _ = forms.send(taken_apart(request).await);
                    Ok::<_, Infallible>(Response::new(String::new()))
                }
            };
            let http = Builder::new(TokioExecutor::new());
            let _ = http.serve_connection(TokioIo::new(stream), service_fn(answer)).await;
        });
    }
}

async fn taken_apart(request: Request<Incoming>) -> (String, Vec<Field>) {
    let kinds = request.headers().get_all("content-type").iter();
    let kinds: Vec<_> = kinds.map(|kind| kind.to_str().unwrap().to_owned()).collect();
    let [kind] = &kinds[..] else { panic!("{kinds:?}") };
    let boundary = kind.strip_prefix("multipart/form-data; boundary=").unwrap();
    let method = request.method().to_string();
    let body = request.into_body().collect().await.unwrap().to_bytes();
    (method, fields(&body, boundary))
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

fn run(url: &str, args: &[&str]) -> Output {
    let few = ["run", "--rate", "1k/s", "--requests", "12", "-c", "1", "--url", url];
    let mut command = Command::new(env!("CARGO_BIN_EXE_nanopace"));
    command.args(few).args(args).stdin(Stdio::null()).output().unwrap()
}

fn field(head: &str, value: impl AsRef<[u8]>) -> Field {
    (format!("Content-Disposition: form-data; {head}"), value.as_ref().to_owned())
}

#[test]
fn fields_and_files_arrive_as_they_are() {
    // No text, with places that are none.
    let content = b"\xff{{slot}}\r\n--nanopace\r\n";
    let (photo, note) = (file("a form.PNG", content), file("form-note", b"{{slot}}"));
    let (url, forms) = server();
    let options = [
        "-F".to_owned(),
        "user=ann".to_owned(),
        "-F".to_owned(),
        "meta={\"a\": 1};type=application/json".to_owned(),
        "-F".to_owned(),
        format!("photo=@{photo}"),
        "--form".to_owned(),
        format!("a \"b\"=@{note};filename=x\"y.bin;type=a/b"),
        "-F".to_owned(),
        format!("note=<{note}"),
    ];
    let expected = [
        field("name=\"user\"", "ann"),
        field("name=\"meta\"\r\nContent-Type: application/json", "{\"a\": 1}"),
        field("name=\"photo\"; filename=\"a form.PNG\"\r\nContent-Type: image/png", content),
        field("name=\"a %22b%22\"; filename=\"x%22y.bin\"\r\nContent-Type: a/b", "{{slot}}"),
        field("name=\"note\"", "{{slot}}"),
    ];
    let options: Vec<_> = options.iter().map(String::as_str).collect();
    for (more, method) in [(&[][..], "POST"), (&["-X", "PUT"], "PUT"), (&["--http2"], "POST")] {
        let output = run(&url, &[&options, more].concat());
        assert!(output.status.success(), "{output:?}");
        let sent: Vec<_> = forms.try_iter().collect();
        assert_eq!(sent.len(), 13);
        for form in sent {
            assert_eq!(form, (method.to_owned(), expected.to_vec()));
        }
    }
}

#[test]
fn values_of_fields_are_filled_and_files_are_not() {
    // So much that requests share it.
    let content = b"\xfe{{slot}}".repeat(20_000);
    let (photo, data) =
        (file("form-filled.jpg", &content), file("form.csv", b"user\nann\n\"b\"\"o\"\n"));
    let (url, forms) = server();
    let photo_field = format!("photo=@{photo}");
    let options = ["--data", &data, "-F", "user={{user}}!", "-F", &photo_field, "-F", "n={{slot}}"];
    for http2 in [&[][..], &["--http2"]] {
        let output = run(&url, &[&options, http2].concat());
        assert!(output.status.success(), "{output:?}");
        for (slot, (_, form)) in forms.try_iter().skip(1).enumerate() {
            let user = ["ann!", "b\"o!"][slot % 2];
            let photo = "name=\"photo\"; filename=\"form-filled.jpg\"\r\nContent-Type: image/jpeg";
            let expected = [
                field("name=\"user\"", user),
                field(photo, &content),
                field("name=\"n\"", slot.to_string()),
            ];
            assert_eq!(form, expected);
        }
    }
}

/// Also where no value is filled, so that all of the body is a text.
#[test]
fn braces_in_files_are_no_places() {
    let content = b"{{slot}} {{ title }} {{";
    let page = file("form-{{slot}}.txt", content);
    let (url, forms) = server();
    let (page, value) = (format!("page=@{page}"), format!("value=<{page}"));
    let head = "name=\"page\"; filename=\"form-{{slot}}.txt\"\r\nContent-Type: text/plain";
    let expected = [field(head, content), field("name=\"value\"", content)];
    for header in ["X: 1", "X: {{slot}}"] {
        let output = run(&url, &["-F", &page, "-F", &value, "-H", header]);
        assert!(output.status.success(), "{output:?}");
        let sent: Vec<_> = forms.try_iter().collect();
        assert!(sent.len() == 13 && sent.iter().all(|(_, form)| form[..] == expected), "{sent:?}");
    }
}

/// Pages are passed on.
#[test]
fn what_a_field_of_a_secret_has_is_not_shown_on_the_page() {
    let (url, _forms) = server();
    let page = file("forms.html", b"");
    let options = ["-F", "user=ann b", "-F", "Password=opensesame", "--html", &page];
    let output = run(&url, &options);
    assert!(output.status.success(), "{output:?}");
    let page = fs::read_to_string(page).unwrap();
    assert!(page.contains("user=ann b") && page.contains("Password=(not shown)"));
    assert!(!page.contains("opensesame"));
}

/// Before anything is sent: nobody listens there.
#[test]
fn a_form_that_is_wrong_is_told() {
    let output_file = file("form-output", b"");
    let upload = format!("a=@{output_file}");
    for (options, told) in [
        (&["-F", "a"][..], "write NAME=VALUE, or NAME=@FILE"),
        (&["-F", "a=@/nonexistent/file"], "--form: cannot read /nonexistent/file"),
        (&["-F", "a={{b}}"], "body: field \"a\": column 1: \"b\" is nothing that can be filled in"),
        (&["-F", "a=b", "-H", "Content-Type: text/plain"], "--form and a header content-type"),
        (&["-F", "a={{slot}}", "-H", "Content-Length: 7"], "leave Content-Length out"),
        (&["-F", &upload, "--html", &output_file], "--form reads this file"),
        (&["-F", "a=b", "-d", "c"], "cannot be used with"),
    ] {
        let output = run("http://127.0.0.1:1/", options);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{options:?}: {stderr}");
        assert!(stderr.contains(told), "{options:?}: {stderr}");
    }
}
