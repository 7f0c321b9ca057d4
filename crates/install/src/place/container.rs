//! The entry point of a container image: the image configuration of OCI and of Docker.
//!
//! A process of an image is `Entrypoint` followed by `Cmd`, and a user replaces `Cmd` on the command line (OCI image
//! specification, "Image Configuration"). So the launcher goes in front of `Entrypoint`, and `Cmd` stays.

use serde_json::{Map, Value};

use crate::error::InstallError;

/// The paths of the launcher and of what it starts with, as they are inside a container.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InImage {
    /// The launcher: `/usr/local/bin/coldstart-run`.
    pub launcher: String,
    /// The plan: `/usr/local/share/coldstart/app.prefetch`.
    pub plan: Option<String>,
    /// The index of modules: `/var/lib/coldstart/app.index`. It must be made on the machine that has the image, in a volume: other machines give
    /// the image's directories other inodes and times, by which an index is not used.
    pub index: Option<String>,
}

impl InImage {
    /// What stands in front of the program.
    fn words(&self) -> Vec<String> {
        let index = self.index.iter().flat_map(|index| ["--index".to_owned(), index.clone()]);
        let start = index.chain(self.plan.clone()).chain(["--".to_owned()]);
        std::iter::once(self.launcher.clone()).chain(start).collect()
    }
}

/// An image's configuration with the launcher in front of its entry point. Doing it again changes nothing more; another plan or index
/// replaces the earlier one.
///
/// # Errors
/// If it is not an image configuration, or starts nothing, or there is neither a plan nor an index.
pub fn with_launcher(config: &str, image: &InImage) -> Result<String, InstallError> {
    edit(config, &image.launcher, |entry, command| {
        if image.plan.is_none() && image.index.is_none() {
            return Err("the launcher needs a plan or an index");
        }
        if entry.is_empty() && command.is_empty() {
            return Err("it has neither an entry point nor a command");
        }
        Ok(image.words().into_iter().chain(entry).collect())
    })
}

/// The same configuration without the launcher.
///
/// # Errors
/// If it is not an image configuration.
pub fn without_launcher(config: &str, image: &InImage) -> Result<String, InstallError> {
    edit(config, &image.launcher, |entry, _| Ok(entry))
}

/// How many words of an entry point are the launcher's.
fn own_words(entry: &[String], launcher: &str) -> usize {
    let words: Vec<&str> = entry.iter().map(String::as_str).collect();
    match words.as_slice() {
        [first, "--index", _, "--", ..] if *first == launcher => 4,
        [first, "--index", _, _, "--", ..] if *first == launcher => 5,
        [first, _, "--", ..] if *first == launcher => 3,
        _ => 0,
    }
}

/// Gives the configuration an entry point made of the one it has, without our launcher, and its command.
fn edit(
    config: &str,
    launcher: &str,
    entry_point: impl FnOnce(Vec<String>, &[String]) -> Result<Vec<String>, &'static str>,
) -> Result<String, InstallError> {
    let refused = |reason: String| {
        let hint = "give the JSON that the image's manifest names as `config`, or that `docker image inspect` prints below `Config`";
        InstallError::refused("the image configuration", reason, Some(hint))
    };
    let mut whole: Map<String, Value> = serde_json::from_str(config).map_err(|error| refused(error.to_string()))?;
    let inner = match whole.contains_key("rootfs") || whole.contains_key("config") {
        true => whole
            .entry("config")
            .or_insert_with(|| Value::Object(Map::new()))
            .as_object_mut()
            .ok_or_else(|| refused("`config` is not an object".to_owned()))?,
        false => &mut whole,
    };
    let words = |name: &str| match inner.get(name) {
        None | Some(Value::Null) => Ok(Vec::new()),
        Some(Value::Array(words)) => words
            .iter()
            .map(|word| word.as_str().map(str::to_owned))
            .collect::<Option<Vec<String>>>()
            .ok_or_else(|| refused(format!("`{name}` is not a list of words"))),
        Some(_) => Err(refused(format!("`{name}` is not a list of words"))),
    };
    let (mut entry, command) = (words("Entrypoint")?, words("Cmd")?);
    entry.drain(..own_words(&entry, launcher));
    let entry = entry_point(entry, &command).map_err(|reason| refused(reason.to_owned()))?;
    let entry = if entry.is_empty() { Value::Null } else { Value::from(entry) };
    inner.insert("Entrypoint".to_owned(), entry);
    let mut text = serde_json::to_string_pretty(&whole).map_err(|error| refused(error.to_string()))?;
    text.push('\n');
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn image(plan: &str) -> InImage {
        InImage { launcher: "/bin/run".to_owned(), plan: Some(plan.to_owned()), index: None }
    }

    fn entry(config: &str, plan: &str) -> Value {
        let edited = with_launcher(config, &image(plan)).unwrap();
        serde_json::from_str::<Value>(&edited).unwrap()["config"]["Entrypoint"].clone()
    }

    #[test]
    fn the_launcher_stands_in_front_once_and_goes_again() {
        let config = r#"{"rootfs":{},"config":{"Entrypoint":["/app","-x"],"Cmd":["y"],"Env":["A=b"]},"created":"z"}"#;
        assert_eq!(entry(config, "/p"), serde_json::json!(["/bin/run", "/p", "--", "/app", "-x"]));
        let once = with_launcher(config, &image("/p")).unwrap();
        assert_eq!(with_launcher(&once, &image("/p")).unwrap(), once);
        assert_eq!(entry(&once, "/q"), serde_json::json!(["/bin/run", "/q", "--", "/app", "-x"]));
        let both = InImage { index: Some("/i".to_owned()), ..image("/p") };
        let alone = InImage { plan: None, ..both.clone() };
        let mut config_now = once.clone();
        for (image, words) in
            [(&both, &["/bin/run", "--index", "/i", "/p", "--"][..]), (&alone, &["/bin/run", "--index", "/i", "--"])]
        {
            config_now = with_launcher(&config_now, image).unwrap();
            let entry = serde_json::from_str::<Value>(&config_now).unwrap()["config"]["Entrypoint"].clone();
            assert_eq!(entry, serde_json::json!([words, &["/app", "-x"]].concat()));
        }
        assert_eq!(with_launcher(&config_now, &image("/p")).unwrap(), once);
        let back: Value = serde_json::from_str(&without_launcher(&once, &image("/p")).unwrap()).unwrap();
        assert_eq!(back, serde_json::from_str::<Value>(config).unwrap());
    }

    #[test]
    fn an_image_with_a_command_alone_keeps_it_replaceable() {
        let config = r#"{"rootfs":{},"config":{"Cmd":["/bin/sh","-c","x"]}}"#;
        assert_eq!(entry(config, "/p"), serde_json::json!(["/bin/run", "/p", "--"]));
        // What `docker image inspect` shows has no level above.
        let flat = with_launcher(r#"{"Cmd":["a"]}"#, &image("/p")).unwrap();
        assert!(flat.contains("\"Entrypoint\"") && !flat.contains("config"), "{flat}");
    }

    #[test]
    fn what_is_no_configuration_is_refused() {
        for config in
            ["", "[]", "{}", r#"{"config":{}}"#, r#"{"config":{"Cmd":"a"}}"#, r#"{"config":3}"#, r#"{"Cmd":[1]}"#]
        {
            let error = with_launcher(config, &image("/p")).unwrap_err();
            assert!(error.hint().is_some(), "{config}: {error}");
        }
        let nothing = InImage { launcher: "/bin/run".to_owned(), ..InImage::default() };
        assert!(
            with_launcher(r#"{"Cmd":["a"]}"#, &nothing).unwrap_err().to_string().contains("needs a plan or an index")
        );
    }
}
