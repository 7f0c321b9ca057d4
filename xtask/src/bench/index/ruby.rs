//! Ruby: 100 directories in `RUBYLIB` with a package of three files each, beside bootsnap.

use anyhow::Result;

use super::super::workshop::Workshop;
use super::world::{Limits, PREFIXES, Recipe, Site, Way, World};

pub(super) const RECIPES: &[Recipe] = &[Recipe { name: "ruby", build }];

const RUBY: &str = "/usr/bin/ruby";

/// Bootsnap as Rails sets it up. Its cache is filled by the first start, on this machine's disk; the slow one is only read.
const BOOTSNAP: &str = "\
require 'msgpack'
require 'bootsnap'
Bootsnap.setup(cache_dir: CACHE, load_path_cache: true, compile_cache_iseq: true, compile_cache_yaml: false, compile_cache_json: false)
load APP
";

fn build(_: &Workshop, site: &Site) -> Result<World> {
    let mut app = "require 'json'\nrequire 'set'\nrequire 'optparse'\nrequire 'ostruct'\n".to_owned();
    for (number, prefix) in Site::prefixes("lib/ruby").enumerate() {
        let name = format!("pkg{number}");
        site.file(
            &format!("{prefix}/{name}.rb"),
            &format!("require '{name}/one'\nrequire '{name}/two'\nmodule Pkg{number}; VALUE = Two::VALUE; end\n"),
        )?;
        site.file(&format!("{prefix}/{name}/one.rb"), &format!("module Pkg{number}; class One; end; end\n"))?;
        site.file(
            &format!("{prefix}/{name}/two.rb"),
            &format!("module Pkg{number}; module Two; VALUE = {number}; end; end\n"),
        )?;
        app += &format!("require '{name}'\n");
    }
    let sum = (0..PREFIXES).map(|number| format!("Pkg{number}::VALUE")).collect::<Vec<_>>().join(" + ");
    app += &format!("puts({sum})\nbegin\n  require 'not_there'\nrescue LoadError\n  puts 'absent'\nend\n");
    site.file("app.rb", &app)?;
    let quoted = |name: &str| format!("'{}'", site.seen(name));
    let with_bootsnap = BOOTSNAP.replace("CACHE", &quoted("bootsnap-cache")).replace("APP", &quoted("app.rb"));
    site.file("app-with-bootsnap.rb", &with_bootsnap)?;
    site.farm("farm", Site::prefixes("lib/ruby"))?;
    let way = |name: &str, script: &str, path: String| Way {
        name: name.to_owned(),
        command: vec![RUBY.to_owned(), site.seen(script)],
        variables: vec![("RUBYLIB".to_owned(), path)],
    };
    let all = || site.list(Site::prefixes("lib/ruby"));
    Ok(World {
        plain: way("plain", "app.rb", all()),
        others: vec![way("link farm", "app.rb", site.seen("farm")), way("bootsnap", "app-with-bootsnap.rb", all())],
        limits: Limits { calls: Some(1.0 / 3.0), hot: Some(0.73), cold: Some(7.0) },
    })
}
