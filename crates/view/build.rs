//! Packs what a page and a picture bring along, the viewer and a font, for the program: a third of their bytes.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;

use flate2::Compression;
use flate2::write::ZlibEncoder;

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed=build.rs");
    let directory = std::env::var_os("OUT_DIR").ok_or(io::ErrorKind::NotFound)?;
    for name in ["viewer.js", "viewer.css"] {
        let source = Path::new("assets").join(name);
        println!("cargo::rerun-if-changed={}", source.display());
        pack(&fs::read(source)?, &Path::new(&directory).join(name))?;
    }
    pack(dejavu::sans::regular(), &Path::new(&directory).join("sans.ttf"))
}

fn pack(bytes: &[u8], to: &Path) -> io::Result<()> {
    let mut packed = ZlibEncoder::new(File::create(to)?, Compression::best());
    packed.write_all(bytes)?;
    packed.finish()?.flush()
}
