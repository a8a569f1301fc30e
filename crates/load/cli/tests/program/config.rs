//! Tests `nanopace run --config` and `--print-config`.

use crate::command::nanopace;
use crate::running::refusal;
use std::fs;
use std::path::Path;
use std::process::Output;
use tempfile::TempDir;

fn run(folder: &Path, line: &str) -> Output {
    nanopace(line).current_dir(folder).output().unwrap()
}

fn folder(file: &str, text: &str) -> TempDir {
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join(file), text).unwrap();
    folder
}

fn stdout(output: &Output) -> &str {
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    str::from_utf8(&output.stdout).unwrap()
}

const OPTIONS: &str =
    "rate = '1k/s'\nrequests = 20\nduration = '1min'\npin = true\nfail-below = 0.001\n";

#[test]
fn a_run_takes_its_options_from_a_file_and_the_command_line_wins() {
    let folder = folder("run.toml", OPTIONS);
    for (line, started) in [
        ("run --config run.toml --json -", 20),
        ("run --json - --config run.toml --requests 7", 7),
        ("--config run.toml --requests 7 --json - --no-pin", 7),
    ] {
        let output = run(folder.path(), line);
        let results: serde_json::Value = serde_json::from_str(stdout(&output)).unwrap();
        assert_eq!(results["started"], started, "{line}");
    }
}

#[test]
fn a_load_may_be_in_a_file() {
    let load = "shape = \"ramp 0/s..2k/s 1min, hold 1min\"\narrivals = \"gamma:0.25\"\nseed = 7\nshard = \"1/3\"\n";
    let folder = folder("run.toml", load);
    let printed = run(folder.path(), "run --config run.toml --print-config");
    let given = stdout(&printed).lines().filter(|line| !line.starts_with('#'));
    assert!(given.eq(load.lines()), "{printed:?}");
    assert!(!stdout(&printed).contains("5000/s"), "{printed:?}");
    for (text, told) in [
        ("shape = 'hold 1/s'", "run.toml line 1: invalid value 'hold 1/s' for '--shape <SHAPE>': "),
        ("shape = 'hold 1/s 1s'\nrate = 5", "run.toml: the argument '--"),
        ("arrivals = 'soon'", "run.toml line 1: invalid value 'soon' for '--arrivals"),
    ] {
        fs::write(folder.path().join("run.toml"), text).unwrap();
        let stderr = refusal(run(folder.path(), "run --config run.toml"));
        assert!(stderr.starts_with(&format!("error: {told}")), "{stderr}");
    }
}

#[test]
fn a_rate_and_a_shape_replace_each_other() {
    for (file, option, printed) in [
        ("rate = 5", "--shape \"hold 5/s 1s\"", "shape = \"hold 5/s 1s\""),
        ("shape = 'hold 5/s 1s'", "--rate=7", "rate = 7"),
    ] {
        let folder = folder("run.toml", file);
        for command in ["", "run"] {
            let line = format!("{command} --config run.toml --print-config {option}");
            let output = run(folder.path(), &line);
            let given: Vec<_> =
                stdout(&output).lines().filter(|line| !line.starts_with('#')).collect();
            assert_eq!(given, [printed], "{file} {option}");
        }
    }
}

#[test]
fn a_path_in_a_file_starts_from_the_working_directory() {
    let folder = folder("results.json", "");
    fs::create_dir(folder.path().join("configs")).unwrap();
    fs::write(folder.path().join("configs/run.toml"), "json = 'results.json'\nrequests = 1\n")
        .unwrap();
    stdout(&run(folder.path(), "run --config configs/run.toml"));
    assert_ne!(fs::read_to_string(folder.path().join("results.json")).unwrap(), "");
}

#[test]
fn a_file_that_cannot_be_read_is_named() {
    let folder = folder("bytes.toml", "");
    fs::write(folder.path().join("bytes.toml"), b"rate = \xff").unwrap();
    for file in ["nonexistent.toml", ".", "bytes.toml"] {
        let stderr = refusal(run(folder.path(), &format!("run --config {file}")));
        assert!(stderr.starts_with(&format!("error: cannot read {file}: ")), "{stderr}");
    }
}

#[cfg(unix)]
#[test]
fn a_path_that_is_not_unicode_cannot_be_printed() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    let mut command = nanopace("run --print-config --json");
    let told = refusal(command.arg(OsStr::from_bytes(b"a\xffb")).output().unwrap());
    assert!(told.contains("--json: "), "{told}");
}

#[test]
fn help_and_version_are_printed_even_without_the_file() {
    for line in ["run --config nonexistent.toml --help", "--config nonexistent.toml --version"] {
        assert!(!stdout(&run(Path::new("."), line)).is_empty(), "{line}");
    }
}

fn block(fence: &str, begin: &str) -> String {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/run/how-to.md");
    let page = fs::read_to_string(page).unwrap();
    let (_, rest) = page.split_once(&format!("{fence}\n{begin}")).unwrap();
    format!("{begin}{}", rest.split_once("```").unwrap().0)
}

#[test]
fn the_examples_of_the_manual_are_taken() {
    let folder = folder("run.toml", &block("```toml", "url"));
    let printed = run(folder.path(), "run --config run.toml --print-config");
    assert!(stdout(&printed).contains("\nconnections = 200\n"), "{printed:?}");
    for requirement in block("```text", "").lines() {
        let mut command = nanopace("run --print-config --fail-if");
        let output = command.arg(requirement).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{requirement}");
    }
}
