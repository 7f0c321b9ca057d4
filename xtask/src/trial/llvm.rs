//! clang and LLVM's tools with packed libraries: identical objects.

use std::path::Path;
use std::process::Command;

use anyhow::{Result, ensure};

use super::ground::Ground;
use super::process::{said, stdout};
use super::table::Table;
use crate::tools::{Tool, tool};

const LIBRARIES: [&str; 2] =
    ["/usr/lib/x86_64-linux-gnu/libLLVM-14.so.1", "/usr/lib/x86_64-linux-gnu/libclang-cpp.so.14"];

pub(super) const TOOLS: &[Tool] = &[
    tool(LIBRARIES[0], "libllvm14"),
    tool(LIBRARIES[1], "libclang-cpp14"),
    tool("/usr/lib/llvm-14/bin/clang", "clang-14"),
    tool("/usr/lib/llvm-14/bin/opt", "llvm-14"),
    tool("g++", "g++"),
];

const SOURCE: &str = r#"
#include <algorithm>
#include <map>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>
thread_local int calls;
struct Shape { virtual ~Shape() = default; virtual double area() const = 0; };
struct Square : Shape { double side; explicit Square(double s) : side(s) {} double area() const override { return side * side; } };
double total(const std::vector<Shape *> &shapes) {
    double sum = 0;
    for (auto *shape : shapes) { if (!shape) throw std::invalid_argument("none"); sum += shape->area(); ++calls; }
    return sum;
}
std::map<std::string, int> count(const std::vector<std::string> &words) {
    std::map<std::string, int> counts;
    for (const auto &word : words) ++counts[word];
    return counts;
}
void saxpy(float *x, const float *y, float a, int n) { for (int i = 0; i < n; i++) x[i] += a * y[i]; }
int main() {
    std::thread thread([] { Square square(2); total({&square}); });
    thread.join();
    try { total({nullptr}); } catch (const std::exception &) { return static_cast<int>(count({"a", "b", "a"}).size()); }
}
"#;

pub(super) fn make(ground: &Ground, table: &mut Table) -> Result<()> {
    table.told("packed", &ground.copy_files(&LIBRARIES.map(Path::new))?);
    let source = ground.write("source.cc", SOURCE)?;
    let wrong = ground.write("wrong.cc", "template <class T> struct A { typename T::b c; }; A<int> a; int f( {")?;
    let tool = |packed: bool, name: &str| -> Command {
        let mut command = ground.command(format!("/usr/lib/llvm-14/bin/{name}"));
        command.env("LD_LIBRARY_PATH", ground.side(packed));
        command
    };
    for (name, library) in [("clang", LIBRARIES[0]), ("clang", LIBRARIES[1]), ("opt", LIBRARIES[0])] {
        ground.holds_that_packed_is_used(&format!("/usr/lib/llvm-14/bin/{name}"), Path::new(library))?;
    }
    let result = |packed: bool, name: &str| ground.side(packed).join(name);
    let targets: [(&str, &[&str]); 4] = [
        ("-O2 -c", &["-O2", "-c"]),
        ("-O0 -g -c", &["-O0", "-g", "-c", "-fdebug-compilation-dir=."]),
        ("-O3 -march=x86-64-v3 -S", &["-O3", "-march=x86-64-v3", "-S"]),
        ("-O1 -emit-llvm", &["-O1", "-emit-llvm", "-c"]),
    ];
    for (name, options) in targets {
        table.compare(&format!("clang++ {name}, byte by byte"), |packed| {
            let object = result(packed, &name.replace(' ', ""));
            stdout(tool(packed, "clang++").args(options).arg(&source).arg("-o").arg(&object))?;
            Ok(format!("{:?}", fs_err::read(object)?))
        });
    }
    table.compare("clang++ on what is no C++", |packed| said(tool(packed, "clang++").arg("-c").arg(&wrong)));
    table.compare("a program that clang++ made", |packed| {
        let program = result(packed, "program");
        stdout(tool(packed, "clang++").args(["-O2", "-pthread"]).arg(&source).arg("-o").arg(&program))?;
        let ended = said(&mut ground.command(&program))?;
        ensure!(ended.starts_with("exit status: 2\n"), "{ended}");
        Ok(ended)
    });
    table.compare("llvm-objdump", |packed| {
        stdout(
            tool(packed, "llvm-objdump").args(["-d", "-r", "--no-show-raw-insn"]).arg(ground.side(false).join("-O2-c")),
        )
    });
    let bitcode = ground.side(false).join("-O1-emit-llvm");
    table.compare("opt -O3", |packed| stdout(tool(packed, "opt").args(["-O3", "-S", "-o", "-"]).arg(&bitcode)));
    table.compare("llc for ARM", |packed| {
        stdout(tool(packed, "llc").args(["-mtriple=aarch64-linux-gnu", "-o", "-"]).arg(&bitcode))
    });
    Ok(())
}
