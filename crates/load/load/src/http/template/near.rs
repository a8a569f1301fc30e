//! The name that was probably meant.

/// Names that are less alike than this are others.
const ALIKE: f64 = 0.75;

/// The name that is most like a word, if one is.
pub(crate) fn near<'a>(word: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let likeness = |name: &'a str| (strsim::jaro(word, name), name);
    let alike = names.map(likeness).filter(|(likeness, _)| *likeness >= ALIKE);
    alike.max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, name)| name)
}
