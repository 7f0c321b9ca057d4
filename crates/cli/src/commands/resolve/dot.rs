//! The dependency graph in Graphviz's DOT language.

use coldstart_app::resolve::Resolution;
use coldstart_app::text::harmless;

use super::words;
use crate::output::path::printable;

/// A directed graph: a node for each file, an edge for each request, missing files in red.
pub(super) fn graph(answer: &Resolution) -> String {
    let mut text = String::from("digraph loads {\n  rankdir=LR;\n  node [shape=box, fontname=\"sans-serif\"];\n");
    for (index, object) in answer.closure.objects.iter().enumerate() {
        let rule = words::rule(answer, object.found_by, object.requester);
        let failed = answer.failed_before(index);
        let failed = if failed == 0 { String::new() } else { format!(", {failed} failed") };
        let tooltip = format!("{} [{rule}{failed}]", printable(&object.path));
        let style = match () {
            () if index == 0 => ", style=bold",
            () if object.preloaded || !object.in_scope => ", style=dashed",
            () => "",
        };
        let label = answer.file_name(index);
        text.push_str(&format!("  n{index} [label={}, tooltip={}{style}];\n", quoted(&label), quoted(&tooltip)));
    }
    let mut missing: Vec<&[u8]> = Vec::new();
    for request in &answer.closure.requests {
        let style = if request.preload { "style=dashed" } else { "" };
        match request.object {
            Some(object) => {
                let file = answer.closure.objects.get(object).and_then(|object| object.path.file_name());
                let same = file.is_some_and(|file| file.as_encoded_bytes() == request.needed);
                let label = if same { String::new() } else { format!("label={}", quoted(&harmless(&request.needed))) };
                let attributes: Vec<&str> =
                    [label.as_str(), style].into_iter().filter(|attribute| !attribute.is_empty()).collect();
                text.push_str(&format!("  n{} -> n{object} [{}];\n", request.requester, attributes.join(", ")));
            }
            None => {
                let place = missing.iter().position(|name| *name == request.needed).unwrap_or_else(|| {
                    missing.push(&request.needed);
                    missing.len() - 1
                });
                text.push_str(&format!("  n{} -> m{place} [color=red];\n", request.requester));
            }
        }
    }
    for (place, name) in missing.iter().enumerate() {
        let label = quoted(&harmless(name));
        text.push_str(&format!("  m{place} [label={label}, color=red, fontcolor=red];\n"));
    }
    if let Some(stopped) = &answer.closure.stopped {
        let label = quoted(&format!("{}: {}", harmless(&stopped.needed), words::failure(&stopped.reason)));
        text.push_str(&format!("  stop [label={label}, color=red, fontcolor=red];\n"));
        text.push_str(&format!("  n{} -> stop [color=red];\n", stopped.requester));
    }
    text + "}\n"
}

/// Quotes a name for DOT, where backslashes are escapes, too.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn names_stay_inside_their_quotes() {
        assert_eq!(quoted(r#"a"b\n"#), r#""a\"b\\n""#);
    }
}
