//! Relocations in no order, as some linkers leave them: packed in place, and restored.

use std::path::Path;
use std::process::Command;

use super::scene::{bytes, compile, done, said, scratch, skip, succeed};

/// Addresses of the relative relocations, in the order of the table.
fn addresses(path: &Path) -> Vec<u64> {
    let output = Command::new("readelf").args(["-rW"]).arg(path).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let lines = text.lines().filter(|line| line.contains("_RELATIVE"));
    lines.map(|line| u64::from_str_radix(line.split(' ').next().unwrap(), 16).unwrap()).collect()
}

fn comes_back(directory: &Path, name: &str, options: &[&str]) {
    let path = directory.join(name);
    let before = bytes(&path);
    assert!(!addresses(&path).is_sorted(), "{name} has them in order");
    let text = done(directory, &[&["pack", "--in-place", name], options].concat());
    assert!(text.contains("restores the original"), "{text}");
    assert!(addresses(&path).is_empty());
    succeed(&mut Command::new(&path));
    done(directory, &["verify", name]);
    done(directory, &["unpack", "--in-place", name]);
    assert!(bytes(&path) == before, "{name}");
}

#[test]
fn programs_of_gold_without_sorted_relocations_come_back() {
    if Command::new("ld.gold").arg("--version").output().is_err() {
        return skip("no gold");
    }
    let directory = scratch();
    let parts: String = (0..600)
        .map(|number| {
            format!("struct Kind{number} : Base {{ int at(int n) const override {{ return n * {number}; }} }};\n")
        })
        .collect();
    let makers: String = (0..600).map(|number| format!("case {number}: return new Kind{number};\n")).collect();
    let source = format!(
        "struct Base {{ virtual int at(int) const = 0; virtual ~Base() {{}} }};\n{parts}\
         Base *make(int number) {{ switch (number) {{ {makers} }} return nullptr; }}\n\
         int main(int count, char **) {{ return make(count)->at(6) - 6; }}\n"
    );
    let source_path = directory.path().join("program.cc");
    std::fs::write(&source_path, source).unwrap();
    let mut compiler = Command::new("g++");
    compiler.args(["-O1", "-fPIE", "-pie", "-fuse-ld=gold", "-Wl,-z,nocombreloc", "-o"]);
    succeed(compiler.arg(directory.path().join("program")).arg(&source_path));
    comes_back(directory.path(), "program", &[]);
}

#[test]
fn programs_of_gos_own_linker_come_back() {
    let directory = scratch();
    let source = "package main\nimport \"fmt\"\nfunc main() { fmt.Println(\"started\") }\n";
    std::fs::write(directory.path().join("main.go"), source).unwrap();
    let mut go = Command::new("go");
    go.args(["build", "-buildmode=pie", "-ldflags=-linkmode=internal", "-o", "program", "main.go"]);
    go.current_dir(directory.path()).env("CGO_ENABLED", "0").env("GOFLAGS", "-mod=mod");
    go.env("GOCACHE", directory.path().join("cache")).env("GOTOOLCHAIN", "local");
    match go.output() {
        Ok(output) if output.status.success() => comes_back(directory.path(), "program", &["--sparse"]),
        Ok(output) => skip(&format!("go cannot build: {}", String::from_utf8_lossy(&output.stderr))),
        Err(error) => skip(&format!("no go: {error}")),
    }
}

#[test]
fn what_could_not_be_unpacked_is_not_packed_in_place_by_chance() {
    let directory = scratch();
    // Relocations have addends, so that loaders ignore what the words hold; what they hold here follows from nothing.
    let table: String = (0..6000).map(|number| format!("&words[{number}],")).collect();
    let source =
        format!("static int words[6000];\nint *table[] = {{ {table} }};\nint *at(int n) {{ return table[n]; }}\n");
    let path = directory.path().join("a.so");
    compile(&path, &source, &["-shared", super::scene::UNPACKED]);
    let mut odd = bytes(&path);
    let start = table_offset(&path);
    for number in 0..6000_usize {
        let noise = noise_of(number as u64);
        odd[start + 8 * number..start + 8 * number + 8].copy_from_slice(&noise.to_le_bytes());
    }
    std::fs::write(&path, &odd).unwrap();
    for arguments in [&["pack", "--in-place", "a.so"][..], &["pack", "--in-place", "--sparse", "a.so"]] {
        let (code, stdout, stderr) = said(directory.path(), arguments);
        assert_eq!((code, stdout.as_str()), (1, ""), "{stderr}");
        assert!(stderr.contains("--keep-original") && stderr.contains("--no-undo"), "{stderr}");
    }
    assert!(bytes(&path) == odd);
    let beside = done(directory.path(), &["pack", "a.so", "-o", "b.so"]);
    assert!(beside.contains("cannot be unpacked: the undo data"), "{beside}");
    let (code, _, stderr) = said(directory.path(), &["unpack", "b.so", "-o", "c.so"]);
    assert!(code == 1 && stderr.contains("exceeded a quarter") && !stderr.contains("--no-undo"), "{stderr}");
    done(directory.path(), &["pack", "--in-place", "--keep-original", "kept.so", "a.so"]);
    assert!(bytes(&directory.path().join("kept.so")) == odd);
    std::fs::write(&path, &odd).unwrap();
    let asked = done(directory.path(), &["pack", "--in-place", "--no-undo", "a.so"]);
    assert!(asked.contains("cannot be unpacked (`--no-undo`)"), "{asked}");
    let (code, _, stderr) = said(directory.path(), &["unpack", "--in-place", "a.so"]);
    assert!(code == 1 && stderr.contains("it was packed with `--no-undo`"), "{stderr}");
}

/// Where the words of `table` stand in the file, by readelf.
fn table_offset(path: &Path) -> usize {
    let tell = |options: &str| {
        let output = Command::new("readelf").args([options, "-W"]).arg(path).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    let number = |text: &str| usize::from_str_radix(text.trim_start_matches("0x"), 16).unwrap();
    let symbols = tell("-s");
    let symbol = symbols.lines().find(|line| line.ends_with(" table")).unwrap();
    let address = number(symbol.split_whitespace().nth(1).unwrap());
    let headers = tell("-l");
    let loads = headers.lines().filter(|line| line.trim_start().starts_with("LOAD"));
    let loads = loads.map(|line| line.split_whitespace().skip(1).take(4).map(number).collect::<Vec<_>>());
    let load = loads.into_iter().find(|load| (load[1]..load[1] + load[3]).contains(&address)).unwrap();
    address - load[1] + load[0]
}

/// Numbers that nothing compresses.
fn noise_of(number: u64) -> u64 {
    let mixed = (number + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}
