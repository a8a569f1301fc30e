//! Every choice of a published crate's features compiles without a warning.

use serde_json::{Value, json};

/// What is checked of a crate.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Choice {
    pub(crate) package: String,
    /// Separated by commas.
    pub(crate) features: String,
}

/// All choices of all crates that are published, from what `cargo metadata --no-deps` says. A crate whose choices are
/// all compiled as parts of those of another one has none.
pub(crate) fn choices(metadata: &str) -> Result<Vec<Choice>, String> {
    let metadata: Value = serde_json::from_str(metadata).map_err(|error| error.to_string())?;
    let packages = metadata["packages"].as_array().ok_or("no packages")?;
    let published: Vec<_> =
        packages.iter().filter(|package| package["publish"].is_null()).collect();
    let is_part = |package: &Value| published.iter().any(|whole| is_part_of(package, whole));
    Ok(published
        .iter()
        .filter(|package| !is_part(package))
        .flat_map(|package| of_package(package))
        .collect())
}

/// Whether `whole` depends on the package without any feature, and passes on each of them by the same name.
fn is_part_of(package: &Value, whole: &Value) -> bool {
    let mut dependencies = whole["dependencies"].as_array().into_iter().flatten();
    let mut features = package["features"].as_object().into_iter().flatten();
    let passes_on = |name: &str| {
        let passed = format!("{}/{name}", package["name"].as_str().unwrap_or_default());
        whole["features"][name].as_array().is_some_and(|asked| asked.contains(&passed.into()))
    };
    dependencies.any(|it| {
        it["name"] == package["name"]
            && it["uses_default_features"] == false
            && it["features"] == json!([])
    }) && features.all(|(name, _)| name == "default" || passes_on(name))
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

    #[test]
    fn what_another_crate_passes_on_is_compiled_with_that_one() {
        let shown = |of_whole: &str| {
            let metadata = format!(
                r#"{{"packages": [{{"name": "part", "publish": null, "features": {{"x": [], "y": ["x"]}}}},
                {{"name": "whole", "publish": null, {of_whole}}}]}}"#
            );
            choices(&metadata).unwrap().iter().filter(|choice| choice.package == "part").count()
        };
        let depends = |defaults: bool, asked: &str| {
            format!(
                r#""dependencies": [{{"name": "part", "uses_default_features": {defaults}, "features": [{asked}]}}]"#
            )
        };
        let passes = r#""features": {"x": ["part/x"], "y": ["x", "part/y"], "z": []}"#;
        assert_eq!(shown(&format!("{passes}, {}", depends(false, ""))), 0);
        for of_whole in [
            format!(r#"{passes}, "dependencies": []"#),
            format!("{passes}, {}", depends(true, "")),
            format!("{passes}, {}", depends(false, r#""x""#)),
            format!(r#""features": {{"x": ["part/x"]}}, {}"#, depends(false, "")),
        ] {
            assert_eq!(shown(&of_whole), 3, "{of_whole}");
        }
    }
}
