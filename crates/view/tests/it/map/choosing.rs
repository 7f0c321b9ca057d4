//! Which object a name means.

use coldstart_profile::trace::{FileCategory, FileId, Trace};
use coldstart_view::map::{MapError, choose};

use super::scene::{READ, file, scene, touch};

fn touched(trace: &mut Trace, id: u32, count: u64) {
    for page in 0..count {
        trace.events.push(coldstart_profile::trace::Event { file: Some(FileId(id)), ..touch(50, page, READ) });
    }
}

#[test]
fn names_paths_and_sonames_mean_files() {
    let trace = scene();
    for name in ["libbig.so.1", "/usr/lib/libbig.so.1", "libbig.so", "lib?ig.so.*", "*/libbig*"] {
        assert_eq!(choose(&trace, Some(name)).unwrap(), FileId(0), "{name}");
    }
    assert_eq!(choose(&trace, Some("libc.so.6")).unwrap(), FileId(1));
    assert_eq!((choose(&trace, None).unwrap(), choose(&trace, Some("")).unwrap()), (FileId(0), FileId(0)));
}

#[test]
fn of_equal_names_the_one_in_use_is_meant() {
    let mut trace = scene();
    trace.files.push(file("/opt/libbig.so.1", FileCategory::Program, None));
    touched(&mut trace, 3, 20);
    assert_eq!(choose(&trace, Some("libbig.so.1")).unwrap(), FileId(3));
    assert_eq!(choose(&trace, Some("/usr/lib/libbig.so.1")).unwrap(), FileId(0));
    // Only objects are taken unasked.
    assert_eq!(choose(&trace, None).unwrap(), FileId(0));
}

#[test]
fn a_file_is_meant_by_its_own_name_first() {
    let mut trace = scene();
    for name in ["/opt/axxb[c]yd", "/opt/a*b[c]?d"] {
        trace.files.push(file(name, FileCategory::Program, None));
    }
    touched(&mut trace, 3, 20);
    assert_eq!(choose(&trace, Some("a*b[c]?d")).unwrap(), FileId(4));
    assert_eq!(choose(&trace, Some("a*b[[]c]?d")).unwrap_err().to_string().matches("/opt/").count(), 2);
}

#[test]
fn errors_say_what_there_is() {
    let trace = scene();
    let several = choose(&trace, Some("*lib*")).unwrap_err();
    assert!(matches!(&several, MapError::Several { count: 2, .. }), "{several}");
    assert!(several.to_string().contains("/usr/lib/libbig.so.1") && several.hint().is_some(), "{several}");
    let none = choose(&trace, Some("LIBC")).unwrap_err();
    assert_eq!(none.hint().unwrap(), "it has libc.so.6");
    let far = choose(&trace, Some("\u{1b}[2Jno")).unwrap_err();
    assert!(far.hint().unwrap().contains("libbig.so.1") && !far.to_string().contains('\u{1b}'), "{far}");
    assert!(matches!(choose(&Trace::default(), None), Err(MapError::NothingTouched)));
    assert!(matches!(choose(&Trace::default(), Some("x")), Err(MapError::NoSuchFile { .. })));
}
