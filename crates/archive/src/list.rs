//! Lists of files in the order of a start, each in the form of the tool that reads it.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use serde_json::json;

/// A file that a start used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UsedFile {
    /// Below the root, without a leading slash.
    pub path: PathBuf,
    /// Offset and length in bytes of what was used, in the order of first use.
    pub ranges: Vec<(u64, u64)>,
}

/// The form of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListForm {
    /// One path a line.
    Plain,
    /// `mksquashfs -sort`: a path and a priority a line.
    Squashfs,
    /// `mkdwarfs --order=explicit:file=`: a path a line.
    Dwarfs,
    /// `tar -T` with names below the root, for `mkfs.erofs --tar`.
    Erofs,
    /// `nydusify optimize --prefetch-files`: JSON with ranges of bytes.
    Nydus,
    /// `nerdctl image convert --estargz-record-in`: a JSON object a line.
    Estargz,
    /// `soci create --prefetch-files-json`: a JSON array.
    Soci,
    /// `asar pack --ordering`: a path a line.
    Asar,
    /// `jlink --order-resources=@`: a class a line, without its module and `.class`.
    Jlink,
}

/// A list, and what it cannot name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MadeList {
    /// The list's bytes.
    pub bytes: Vec<u8>,
    /// Files that the form has no words for.
    pub unnamed: Vec<PathBuf>,
    /// Files that share the last priority, because the form has no more.
    pub unranked: u64,
}

/// The highest priority of `mksquashfs`; equal ones come in no order.
const HIGHEST: i64 = 32_767;

impl ListForm {
    /// Makes the list.
    pub fn make(self, files: &[UsedFile]) -> MadeList {
        let mut list = MadeList::default();
        let mut objects = Vec::new();
        let mut rank = 0i64;
        for file in files {
            let Some(name) = self.name_of(&file.path) else {
                list.unnamed.push(file.path.clone());
                continue;
            };
            match self {
                Self::Plain | Self::Dwarfs | Self::Erofs | Self::Asar | Self::Jlink => {
                    list.bytes.extend_from_slice(&name);
                    list.bytes.push(b'\n');
                }
                Self::Squashfs => {
                    // What has no entry has 0.
                    let priority = HIGHEST.saturating_sub(rank).max(1);
                    list.unranked = list.unranked.saturating_add(u64::from(HIGHEST.saturating_sub(rank) < 1));
                    list.bytes.extend_from_slice(&name);
                    list.bytes.extend_from_slice(format!(" {priority}\n").as_bytes());
                }
                Self::Estargz => {
                    let object = json!({ "path": String::from_utf8_lossy(&name) });
                    list.bytes.extend_from_slice(format!("{object}\n").as_bytes());
                }
                Self::Soci => objects.push(json!(format!("/{}", String::from_utf8_lossy(&name)))),
                Self::Nydus => objects.push(json!({
                    "path": format!("/{}", String::from_utf8_lossy(&name)),
                    "ranges": file.ranges.iter().map(|(offset, length)| [offset, length]).collect::<Vec<_>>(),
                })),
            }
            rank = rank.saturating_add(1);
        }
        match self {
            Self::Soci => list.bytes = format!("{}\n", json!(objects)).into_bytes(),
            Self::Nydus => list.bytes = format!("{}\n", json!({ "version": "v1", "files": objects })).into_bytes(),
            _ => {}
        }
        list
    }

    /// A file's name in this form; `None` if it has none.
    fn name_of(self, path: &Path) -> Option<Cow<'_, [u8]>> {
        let bytes = path.as_os_str().as_bytes();
        let is_text = || std::str::from_utf8(bytes).is_ok();
        let has = |byte: u8| bytes.contains(&byte);
        match self {
            // Its parser takes any byte behind a backslash as it is (`sort.c`), but reads lines.
            Self::Squashfs => (!has(b'\n')).then(|| Cow::Owned(escaped(path.as_os_str()))),
            Self::Nydus | Self::Estargz | Self::Soci => is_text().then_some(Cow::Borrowed(bytes)),
            // It trims lines, and takes what follows the last colon.
            Self::Asar => {
                let is_kept = std::str::from_utf8(bytes).is_ok_and(|text| text.trim() == text);
                (is_kept && !has(b'\n') && !has(b':')).then_some(Cow::Borrowed(bytes))
            }
            // It appends `.class` to each line, and compares with names without their module (`OrderResourcesPlugin`).
            Self::Jlink => {
                let class = bytes.strip_suffix(b".class").filter(|class| is_text() && !class.contains(&b'\n'))?;
                let at = class.iter().position(|byte| *byte == b'/')?;
                class.get(at.saturating_add(1)..).map(Cow::Borrowed)
            }
            // A name that starts with a dash would be an option to tar.
            Self::Erofs => (!has(b'\n') && !bytes.starts_with(b"-")).then_some(Cow::Borrowed(bytes)),
            Self::Plain | Self::Dwarfs => (!has(b'\n')).then_some(Cow::Borrowed(bytes)),
        }
    }
}

fn escaped(name: &OsStr) -> Vec<u8> {
    let mut escaped = Vec::new();
    for (at, byte) in name.as_bytes().iter().enumerate() {
        let is_special = byte.is_ascii_whitespace() || *byte == b'\\' || (at == 0 && matches!(byte, b'#'));
        if is_special {
            escaped.push(b'\\');
        }
        escaped.push(*byte);
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str) -> UsedFile {
        UsedFile { path: path.into(), ranges: vec![(4096, 8192), (0, 10)] }
    }

    fn text(form: ListForm, files: &[UsedFile]) -> String {
        String::from_utf8(form.make(files).bytes).unwrap()
    }

    #[test]
    fn each_form_has_its_own_words() {
        let files = [file("usr/bin/a b"), file("lib/c")];
        assert_eq!(text(ListForm::Plain, &files), "usr/bin/a b\nlib/c\n");
        assert_eq!(text(ListForm::Squashfs, &files), "usr/bin/a\\ b 32767\nlib/c 32766\n");
        assert_eq!(text(ListForm::Soci, &files), "[\"/usr/bin/a b\",\"/lib/c\"]\n");
        assert_eq!(text(ListForm::Estargz, &files[1..]), "{\"path\":\"lib/c\"}\n");
        let resources = [file("java.base/java/lang/Object.class"), file("java.base/sun/net/idn/uidna.spp")];
        let jlink = ListForm::Jlink.make(&resources);
        assert_eq!((jlink.bytes.as_slice(), jlink.unnamed.len()), (&b"java/lang/Object\n"[..], 1));
        let nydus: serde_json::Value = serde_json::from_str(&text(ListForm::Nydus, &files)).unwrap();
        assert_eq!(nydus["files"][1], json!({ "path": "/lib/c", "ranges": [[4096, 8192], [0, 10]] }));
    }

    #[test]
    fn names_that_a_form_cannot_hold_are_told() {
        let files = [file("a\nb"), file("c:d"), file("-e"), file("f")];
        let unnamed = |form: ListForm| form.make(&files).unnamed.len();
        let forms = [ListForm::Plain, ListForm::Squashfs, ListForm::Asar, ListForm::Erofs, ListForm::Nydus];
        assert_eq!(forms.map(unnamed), [1, 1, 2, 2, 0]);
    }

    #[test]
    fn all_files_beyond_the_priorities_of_squashfs_share_the_last() {
        let files: Vec<UsedFile> = (0..32_770).map(|number| file(&format!("f{number}"))).collect();
        let list = ListForm::Squashfs.make(&files);
        assert_eq!(list.unranked, 3);
        assert!(list.bytes.ends_with(b"f32766 1\nf32767 1\nf32768 1\nf32769 1\n"));
    }
}
