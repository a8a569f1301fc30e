//! Checks that published crates compile without a warning with every combination of their features.

use serde_json::Value;

/// A package, and the features to check together.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Choice {
    pub(crate) package: String,
    /// The features, separated by commas.
    pub(crate) features: String,
}

/// Returns all combinations of features of all published crates, from the output of `cargo metadata --no-deps`. Omits
/// each combination that is compiled as part of another crate's combination.
pub(crate) fn choices(metadata: &str) -> Result<Vec<Choice>, String> {
    let metadata: Value = serde_json::from_str(metadata).map_err(|error| error.to_string())?;
    let packages = metadata["packages"].as_array().ok_or("no packages")?;
    let published: Vec<_> =
        packages.iter().filter(|package| package["publish"].is_null()).collect();
    let is_part = |package: &Value, choice: &Choice| {
        let mut asked = published.iter().filter_map(|whole| asked_by(whole, package));
        asked.any(|asked| asked.iter().all(|name| choice.features.split(',').any(|it| it == name)))
    };
    Ok(published
        .iter()
        .flat_map(|package| {
            let choices = of_package(package).into_iter();
            choices.filter(|choice| !is_part(package, choice))
        })
        .collect())
}

/// Returns the features of `package` that `whole` always enables, if `whole` has a feature of the same name for each of
/// the others. All combinations with these features are then compiled as parts of the combinations of `whole`.
fn asked_by(whole: &Value, package: &Value) -> Option<Vec<String>> {
    let mut dependencies = whole["dependencies"].as_array().into_iter().flatten();
    let dependency = dependencies
        .find(|it| it["name"] == package["name"] && it["uses_default_features"] == false)?;
    let asked: Vec<String> = serde_json::from_value(dependency["features"].clone()).ok()?;
    let mut features = package["features"].as_object().into_iter().flatten();
    let passes_on = |name: &str| {
        let passed = format!("{}/{name}", package["name"].as_str().unwrap_or_default());
        whole["features"][name].as_array().is_some_and(|asked| asked.contains(&passed.into()))
    };
    let is_passed = |name: &String| name == "default" || asked.contains(name) || passes_on(name);
    features.all(|(name, _)| is_passed(name)).then_some(asked)
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

/// Returns whether the combination contains all features that its features enable. If not, it is the same as another
/// combination.
fn is_whole(package: &Value, chosen: &[&str]) -> bool {
    let asked = |name: &&str| package["features"][name].as_array().into_iter().flatten();
    let mut asked = chosen.iter().flat_map(asked).filter_map(Value::as_str);
    asked.all(|asked| chosen.contains(&asked) || asked.contains([':', '/']))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_combination_of_a_published_crate_occurs_once() {
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
    fn forwarded_features_are_compiled_with_the_other_crate() {
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
        // `part` is compiled alone without `x`, because `whole` always enables this feature.
        for features in [passes, r#""features": {"y": ["part/y"]}"#] {
            assert_eq!(
                shown(&format!("{features}, {}", depends(false, r#""x""#))),
                1,
                "{features}"
            );
        }
        for of_whole in [
            format!(r#"{passes}, "dependencies": []"#),
            format!("{passes}, {}", depends(true, "")),
            format!(r#""features": {{"x": ["part/x"]}}, {}"#, depends(false, "")),
        ] {
            assert_eq!(shown(&of_whole), 3, "{of_whole}");
        }
    }
}
