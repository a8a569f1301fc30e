//! Selects the feature combinations of published crates that are checked: all combinations, or those with no feature,
//! each feature alone, all features except one, and all features. Each combination includes the features that it
//! enables.

use serde_json::Value;

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Choice {
    pub(crate) package: String,
    pub(crate) features: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Which {
    Every,
    AloneAndLeftOut,
}

/// Returns the combinations to check, without those that a combination of another crate already compiles.
pub(crate) fn choices(metadata: &str, which: Which) -> Result<Vec<Choice>, String> {
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
            let choices = of_package(package, which).into_iter();
            choices.filter(|choice| !is_part(package, choice))
        })
        .collect())
}

/// Returns the features of `package` that `whole` always enables, if `whole` forwards each other feature under the same
/// name. The combinations of `whole` then cover all combinations of `package` that contain the returned features.
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

fn of_package(package: &Value, which: Which) -> Vec<Choice> {
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
    let whole = (0..1 << names.len()).map(choice).filter(|chosen| is_whole(package, chosen));
    let mut choices: Vec<Vec<&str>> = whole.collect();
    if which == Which::AloneAndLeftOut {
        choices = alone_and_left_out(&names, &choices);
    }
    let choices = choices.into_iter().map(|chosen| chosen.join(","));
    choices.map(|features| Choice { package: name.to_owned(), features }).collect()
}

/// Returns the combination without features, the one with all features, and for each feature the smallest combinations
/// with it and the largest without it.
fn alone_and_left_out<'n>(names: &[&str], all: &[Vec<&'n str>]) -> Vec<Vec<&'n str>> {
    let is_kept = |chosen: &&Vec<&str>| {
        let is_end = |name: &&str| {
            let alike = all.iter().filter(|other| other.contains(name) == chosen.contains(name));
            let sizes = alike.map(Vec::len);
            let end = if chosen.contains(name) { sizes.min() } else { sizes.max() };
            end == Some(chosen.len())
        };
        chosen.is_empty() || chosen.len() == names.len() || names.iter().any(is_end)
    };
    all.iter().filter(is_kept).cloned().collect()
}

/// Returns whether the combination contains all features that its features enable. If not, it has the same effect as
/// the combination that also contains them.
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
        let shown = |which| -> Vec<String> {
            let choices = choices(metadata, which).unwrap();
            choices.iter().map(|choice| format!("{} {}", choice.package, choice.features)).collect()
        };
        let all = ["a ", "a x", "a y", "a x,y", "c ", "d ", "d y", "d x,y"];
        assert_eq!(shown(Which::Every), all);
        assert_eq!(shown(Which::AloneAndLeftOut), all, "up to two features");
    }

    #[test]
    fn each_feature_is_compiled_alone_and_left_out_with_what_it_enables() {
        let metadata = r#"{"packages": [{"name": "a", "publish": null,
            "features": {"v": [], "w": [], "x": [], "y": ["x"]}}]}"#;
        let choices = choices(metadata, Which::AloneAndLeftOut).unwrap();
        let shown: Vec<&str> = choices.iter().map(|choice| &choice.features[..]).collect();
        assert_eq!(shown, ["", "v", "w", "v,w", "x", "v,w,x", "x,y", "v,x,y", "w,x,y", "v,w,x,y"]);
    }

    #[test]
    fn forwarded_features_are_compiled_with_the_other_crate() {
        let shown = |of_whole: &str| {
            let metadata = format!(
                r#"{{"packages": [{{"name": "part", "publish": null, "features": {{"x": [], "y": ["x"]}}}},
                {{"name": "whole", "publish": null, {of_whole}}}]}}"#
            );
            choices(&metadata, Which::Every)
                .unwrap()
                .iter()
                .filter(|choice| choice.package == "part")
                .count()
        };
        let depends = |defaults: bool, asked: &str| {
            format!(
                r#""dependencies": [{{"name": "part", "uses_default_features": {defaults}, "features": [{asked}]}}]"#
            )
        };
        let passes = r#""features": {"x": ["part/x"], "y": ["x", "part/y"], "z": []}"#;
        assert_eq!(shown(&format!("{passes}, {}", depends(false, ""))), 0);
        // `part` is compiled alone without `x`, because `whole` always enables `x`.
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
