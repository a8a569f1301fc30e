//! Every choice of a published crate's features compiles without a warning.

use serde_json::Value;

/// What is checked of a crate.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Choice {
    pub(crate) package: String,
    /// Separated by commas.
    pub(crate) features: String,
}

/// All choices of all crates that are published, from what `cargo metadata --no-deps` says.
pub(crate) fn choices(metadata: &str) -> Result<Vec<Choice>, String> {
    let metadata: Value = serde_json::from_str(metadata).map_err(|error| error.to_string())?;
    let packages = metadata["packages"].as_array().ok_or("no packages")?;
    let published = packages.iter().filter(|package| package["publish"].is_null());
    Ok(published.flat_map(of_package).collect())
}

fn of_package(package: &Value) -> Vec<Choice> {
    let name = package["name"].as_str().unwrap_or_default();
    let features = package["features"].as_object();
    let names: Vec<&str> = features
        .map(|features| features.keys().map(String::as_str).filter(|name| *name != "default"))
        .into_iter()
        .flatten()
        .collect();
    let choice = |bits: usize| -> Vec<&str> {
        let chosen = names.iter().enumerate().filter(|(index, _)| bits >> index & 1 == 1);
        chosen.map(|(_, name)| *name).collect()
    };
    let choices = (0..1 << names.len()).map(choice).filter(|chosen| is_whole(package, chosen));
    let choices = choices.map(|chosen| chosen.join(","));
    choices.map(|features| Choice { package: name.to_owned(), features }).collect()
}

/// Whether all features are chosen that the chosen ones ask for. Otherwise the choice is the same as another.
fn is_whole(package: &Value, chosen: &[&str]) -> bool {
    let asked = |name: &&str| package["features"][name].as_array().into_iter().flatten();
    let mut asked = chosen.iter().flat_map(asked).filter_map(Value::as_str);
    asked.all(|asked| chosen.contains(&asked) || asked.contains([':', '/']))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_choice_of_the_published_is_there_once() {
        let metadata = r#"{"packages": [
            {"name": "a", "publish": null, "features": {"default": ["x"], "x": [], "y": []}},
            {"name": "b", "publish": [], "features": {"z": []}},
            {"name": "c", "publish": null, "features": {}},
            {"name": "d", "publish": null, "features": {"x": ["y", "dep:e", "e/f"], "y": []}}]}"#;
        let choices = choices(metadata).unwrap();
        let shown: Vec<String> = choices
            .iter()
            .map(|choice| format!("{} {}", choice.package, choice.features))
            .collect();
        assert_eq!(shown, ["a ", "a x", "a y", "a x,y", "c ", "d ", "d y", "d x,y"]);
    }
}
