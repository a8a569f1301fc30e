//! Removes secrets from the values of options, for pages and reports.

/// A header or a form field is secret if its name contains one of these words.
const SECRET: [&str; 9] =
    ["auth", "cookie", "credential", "key", "pass", "pwd", "secret", "session", "token"];

const NOT_SHOWN: &str = "(not shown)";

pub(crate) fn public(option: &str, text: &str) -> String {
    match option {
        "header" => public_pair(text, ": "),
        "form" => public_pair(text, "="),
        "basic-auth" => NOT_SHOWN.to_owned(),
        _ => text.to_owned(),
    }
}

fn public_pair(text: &str, behind_name: &str) -> String {
    match text.split_once(behind_name.trim_end()) {
        Some((name, _)) if is_secret(name) => format!("{name}{behind_name}{NOT_SHOWN}"),
        _ => text.to_owned(),
    }
}

fn is_secret(name: &str) -> bool {
    SECRET.iter().any(|part| name.to_ascii_lowercase().contains(part))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_stay_secret() {
        for header in
            ["Authorization: Bearer abc", "cookie:abc", " X-Api-Key : abc", "X-CSRF-Token: abc"]
        {
            assert!(!public("header", header).contains("abc"), "{header}");
        }
        assert_eq!(public("header", "Accept: application/json"), "Accept: application/json");
        for name in ["Password", "passwd", "pwd", "sessionid", "credential"] {
            assert_eq!(public("form", &format!("{name}=abc")), format!("{name}=(not shown)"));
        }
        assert_eq!(public("form", "user=key"), "user=key");
        assert_eq!(public("basic-auth", "ann:abc"), "(not shown)");
        assert_eq!(public("url", "key=abc"), "key=abc");
    }
}
