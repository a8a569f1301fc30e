//! Tests requests to a real web server: HTTP/1.1, HTTP/2, TLS, and connections that the server closes.

use crate::command::{nanopace, object, signal};
use rcgen::{CertifiedKey, generate_simple_self_signed};
use serde_json::Value;
use std::fs;
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

struct Nginx {
    child: Child,
    folder: PathBuf,
    plain: u16,
    tls: u16,
}

impl Nginx {
    fn start() -> Nginx {
        let folder = std::env::temp_dir().join(format!("nanopace-nginx-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let CertifiedKey { cert, signing_key } =
            generate_simple_self_signed(["localhost".to_owned(), "127.0.0.1".to_owned()]).unwrap();
        fs::write(folder.join("cert.pem"), cert.pem()).unwrap();
        fs::write(folder.join("key.pem"), signing_key.serialize_pem()).unwrap();
        let [plain, tls] = [free_port(), free_port()];
        let here = folder.display();
        let config = format!(
            "daemon off; pid {here}/pid; error_log {here}/log;
             events {{}}
             http {{
                 access_log off; client_body_temp_path {here}/body; proxy_temp_path {here}/proxy;
                 fastcgi_temp_path {here}/fastcgi; uwsgi_temp_path {here}/uwsgi; scgi_temp_path {here}/scgi;
                 ssl_certificate {here}/cert.pem; ssl_certificate_key {here}/key.pem;
                 server {{
                     listen 127.0.0.1:{plain}; listen 127.0.0.1:{tls} ssl http2;
                     keepalive_requests 7;
                     location / {{ return 200 \"hello\"; }}
                     location /missing {{ return 404; }}
                 }}
             }}"
        );
        fs::write(folder.join("nginx.conf"), config).unwrap();
        let mut command = Command::new("nginx");
        let child = command.arg("-c").arg(folder.join("nginx.conf")).stderr(Stdio::null());
        let child = child.spawn().expect("nginx is on PATH");
        while TcpStream::connect(("127.0.0.1", tls)).is_err() {
            thread::sleep(Duration::from_millis(10));
        }
        Nginx { child, folder, plain, tls }
    }
}

impl Drop for Nginx {
    fn drop(&mut self) {
        // If the master process were killed, its workers would remain.
        signal(self.child.id(), "-TERM");
        let _ = self.child.wait();
        let _ = fs::remove_dir_all(&self.folder);
    }
}

fn free_port() -> u16 {
    TcpListener::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap().port()
}

fn results(url: &str, options: &[&str]) -> Value {
    let rate = if options.contains(&"--rate") { "" } else { "--rate 2k/s" };
    let line = format!("run --requests 100 -c 4 --json - {rate} --url {url}");
    object(&nanopace(&line).args(options).output().unwrap())
}

#[test]
#[ignore = "needs nginx"]
fn nginx_responds_to_every_request() {
    let nginx = Nginx::start();
    let certificate = nginx.folder.join("cert.pem");
    let trusted = ["--cacert", certificate.to_str().unwrap()];
    let plain = format!("http://127.0.0.1:{}/", nginx.plain);
    let tls = format!("https://localhost:{}/", nginx.tls);
    for (url, options) in [
        (&plain, &[][..]),
        (&plain, &["-X", "POST", "--body", "something"]),
        (&plain, &["-X", "HEAD"]),
        (&plain, &["--disable-keepalive"]),
        (&tls, &trusted),
        (&tls, &["--insecure"]),
        (&tls, &["--http2", trusted[0], trusted[1]]),
        (&tls, &["--http2", "--streams", "2", "--rate", "max", trusted[0], trusted[1]]),
    ] {
        let results = results(url, options);
        // The server closes each connection after seven requests, and no request may fail.
        assert_eq!(results["completed"], 100, "{url} {options:?}: {results}");
        assert_eq!(results["statuses"]["200"], 100, "{results}");
        let set_ups = results["set_up_time_ns"]["count"].as_u64().unwrap();
        assert!(set_ups >= 100 / 7, "{url} {options:?}: {results}");
    }
    let missing = results(&format!("{plain}missing"), &[]);
    assert_eq!((&missing["failed"], &missing["statuses"]["404"]), (&100.into(), &100.into()));
    assert_eq!(missing["failures"]["status 404"], 100);
}
