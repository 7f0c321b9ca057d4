//! Python's own tests, run by a small program that is linked to libpython, packed.

use std::path::Path;

use anyhow::{Result, ensure};

use super::ground::Ground;
use super::process::{said, stdout};
use super::table::Table;
use crate::tools::{Tool, tool};

const LIBRARY: &str = "/usr/lib/x86_64-linux-gnu/libpython3.11.so.1.0";

pub(super) const TOOLS: &[Tool] = &[
    tool(LIBRARY, "libpython3.11"),
    tool("/usr/include/python3.11/Python.h", "libpython3.11-dev"),
    tool("/usr/lib/python3.11/test/test_json/__init__.py", "libpython3.11-testsuite"),
    tool("cc", "gcc"),
];

const PROGRAM: &str =
    "#include <Python.h>\nint main(int count, char **arguments) { return Py_BytesMain(count, arguments); }\n";

/// Modules of Python's tests that need no network, no packages that Debian leaves out, and seconds at most. Left out for
/// their time: test_ssl, test_signal, test_subprocess, test_io, test_unicodedata.
const MODULES: &[&str] = &[
    "test_json",
    "test_re",
    "test_ctypes",
    "test_threading",
    "test_datetime",
    "test_struct",
    "test_zlib",
    "test_bz2",
    "test_generators",
    "test_exceptions",
    "test_coroutines",
    "test_pickle",
    "test_marshal",
    "test_itertools",
    "test_functools",
    "test_collections",
    "test_enum",
    "test_dataclasses",
    "test_descr",
    "test_super",
    "test_class",
    "test_property",
    "test_gc",
    "test_weakref",
    "test_mmap",
    "test_memoryview",
    "test_array",
    "test_builtin",
    "test_bytes",
    "test_unicode",
    "test_codecs",
    "test_long",
    "test_float",
    "test_complex",
    "test_math",
    "test_random",
    "test_set",
    "test_dict",
    "test_list",
    "test_tuple",
    "test_hash",
    "test_typing",
    "test_types",
    "test_ast",
    "test_compile",
    "test_dis",
    "test_peepholer",
    "test_grammar",
    "test_syntax",
    "test_fstring",
    "test_inspect",
    "test_traceback",
    "test_sys",
    "test_thread",
    "test_importlib",
    "test_zipimport",
    "test_runpy",
    "test_hashlib",
    "test_pyexpat",
    "test_xml_etree_c",
    "test_minidom",
    "test_csv",
    "test_configparser",
];

pub(super) fn make(ground: &Ground, table: &mut Table) -> Result<()> {
    table.told("packed", &ground.copy_files(&[Path::new(LIBRARY)])?);
    let source = ground.write("embed.c", PROGRAM)?;
    let program = ground.directory.join("embed");
    let mut compiler = ground.command("cc");
    compiler.args(["-O2", "-I/usr/include/python3.11", "-o"]).arg(&program).arg(source).arg(LIBRARY);
    stdout(&mut compiler)?;
    let python = |packed: bool| {
        let mut python = ground.command(&program);
        python.env("LD_LIBRARY_PATH", ground.side(packed));
        python
    };
    ground.holds_that_packed_is_used(&program.to_string_lossy(), Path::new(LIBRARY))?;
    for module in MODULES {
        table.compare(module, |packed| {
            let ended = said(python(packed).args(["-m", "unittest", "-q", &format!("test.{module}")]))?;
            verdict(&ended)
        });
    }
    Ok(())
}

/// How many tests ran and how that ended, without the time. Tests print much else, addresses among it.
fn verdict(said: &str) -> Result<String> {
    let status = said.lines().next().unwrap_or_default();
    let ran = said.lines().filter(|line| line.starts_with("Ran ")).filter_map(|line| line.split(" in ").next());
    let ends = said.lines().filter(|line| ["OK", "FAILED"].iter().any(|end| line.starts_with(end)));
    let failed = said.lines().filter(|line| ["FAIL:", "ERROR:"].iter().any(|start| line.starts_with(start)));
    let verdict: Vec<&str> = [status].into_iter().chain(ran).chain(ends).chain(failed).collect();
    ensure!(status == "exit status: 0" && verdict.len() > 1, "{}", verdict.join("; "));
    Ok(verdict.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verdicts_have_no_times() {
        let said = "exit status: 0\nx 0x7f\n-----\nRan 180 tests in 1.23s\n\nOK (skipped=3)\n";
        assert_eq!(verdict(said).unwrap(), "exit status: 0\nRan 180 tests\nOK (skipped=3)");
        assert!(verdict("exit status: 1\nRan 2 tests in 1s\nFAILED (errors=1)\n").is_err());
        assert!(verdict("exit status: 0\nno module\n").is_err());
    }
}
