//! Java 17, all its libraries and programs packed: compiles and runs programs as before.

use std::path::Path;

use anyhow::Result;

use super::ground::Ground;
use super::process::{said, stdout};
use super::table::Table;
use crate::tools::{Tool, tool};

const DIRECTORY: &str = "/usr/lib/jvm/java-17-openjdk-amd64";

pub(super) const TOOLS: &[Tool] = &[tool("/usr/lib/jvm/java-17-openjdk-amd64/bin/javac", "openjdk-17-jdk-headless")];

const PROGRAM: &str = r#"
import java.io.*;
import java.lang.reflect.*;
import java.util.*;
import java.util.concurrent.*;
import java.util.zip.*;

public class Trial {
    static int depth(int n) { return depth(n + 1) + 1; }

    public static void main(String[] arguments) throws Exception {
        var pool = Executors.newFixedThreadPool(8);
        var parts = new ArrayList<Future<Long>>();
        for (int part = 0; part < 64; part++) {
            final int seed = part;
            parts.add(pool.submit(() -> {
                long sum = seed;
                for (int i = 0; i < 2_000_000; i++) sum = sum * 6364136223846793005L + i;
                return sum;
            }));
        }
        long sum = 0;
        for (var part : parts) sum ^= part.get();
        pool.shutdown();
        System.out.println("threads " + sum);
        try { ((Object) null).hashCode(); } catch (NullPointerException e) { System.out.println("null " + e.getMessage()); }
        try { depth(0); } catch (StackOverflowError e) { System.out.println("deep"); }
        try { Object[] a = new String[1]; a[0] = 1; } catch (ArrayStoreException e) { System.out.println(e); }
        Method method = String.class.getMethod("repeat", int.class);
        System.out.println(method + " " + method.invoke("ab", 3));
        var bytes = new ByteArrayOutputStream();
        try (var zip = new ZipOutputStream(bytes)) {
            zip.putNextEntry(new ZipEntry("a"));
            zip.write("packed ".repeat(1000).getBytes());
        }
        var crc = new CRC32();
        try (var zip = new ZipInputStream(new ByteArrayInputStream(bytes.toByteArray()))) {
            zip.getNextEntry();
            crc.update(zip.readAllBytes());
        }
        System.out.println("zip " + crc.getValue());
        System.out.println(java.net.InetAddress.getByName("127.0.0.1") + " " + new File("/").exists());
        System.gc();
        System.exit(7);
    }
}
"#;

pub(super) fn make(ground: &Ground, table: &mut Table) -> Result<()> {
    table.told("packed", &ground.copy_tree(Path::new(DIRECTORY))?);
    let source = ground.write("Trial.java", PROGRAM)?;
    let tool = |packed: bool, name: &str| ground.command(ground.side(packed).join("bin").join(name));
    table.compare("java -version", |packed| said(tool(packed, "java").arg("-version")));
    table.compare("javac: the class, byte by byte", |packed| {
        let classes = ground.side(packed).join("classes");
        stdout(tool(packed, "javac").arg("-d").arg(&classes).arg(&source))?;
        Ok(format!("{:?}", fs_err::read(classes.join("Trial.class"))?))
    });
    for mode in ["-XX:+UseG1GC", "-XX:+UseZGC", "-XX:+UseSerialGC", "-Xint", "-XX:TieredStopAtLevel=1"] {
        table.compare(&format!("java {mode}"), |packed| {
            said(tool(packed, "java").args([mode, "-cp"]).arg(ground.side(packed).join("classes")).arg("Trial"))
        });
    }
    table.compare("jshell-like: single source file", |packed| said(tool(packed, "java").arg(&source)));
    table.compare("jar, javap", |packed| {
        let jar = ground.side(packed).join("trial.jar");
        let classes = ground.side(packed).join("classes");
        stdout(tool(packed, "jar").arg("--create").arg("--file").arg(&jar).arg("-C").arg(&classes).arg("."))?;
        stdout(tool(packed, "javap").args(["-c", "-p", "-cp"]).arg(&jar).arg("Trial"))
    });
    Ok(())
}
