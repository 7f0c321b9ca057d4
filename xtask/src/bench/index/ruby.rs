//! Ruby, beside bootsnap: 100 directories in `RUBYLIB` with a package of three files each; a Rails application with a bundle of usual size.

use anyhow::Result;
use fs_err as fs;

use super::super::runner::words;
use super::super::workshop::{Workshop, text};
use super::ways::successful;
use super::world::{Limits, PREFIXES, Recipe, Site, Way, World};

pub(super) const RECIPES: &[Recipe] =
    &[Recipe { name: "ruby", build }, Recipe { name: "rails application", build: rails }];

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

/// Where Debian has those gems that have a directory of their own: they become part of the world. The others are with the interpreter.
const DEBIAN: &str = "/usr/share/rubygems-integration/all";
/// What applications have besides Rails, and Debian has too: 90 gems with all that they need.
const GEMS: &[&str] = &[
    "rails",
    "puma",
    "sqlite3",
    "sprockets-rails",
    "sass-rails",
    "turbolinks",
    "jbuilder",
    "devise",
    "kaminari",
    "pundit",
    "redis",
    "haml",
    "httparty",
    "faraday",
    "capybara",
    "rspec",
    "factory_bot",
];
const RAILS_APP: &str = "\
require 'rails/all'
Bundler.require(:default)
class ApplicationController < ActionController::Base; end
class App < Rails::Application
  config.root = __dir__
  config.eager_load = true
  config.secret_key_base = 'x' * 64
  config.logger = Logger.new(nil)
  config.active_storage.service_configurations = {}
end
App.initialize!
puts Rails.application.routes.routes.size, $LOADED_FEATURES.size > 1500
";
const DATABASE: &str = "production:\n  adapter: sqlite3\n  database: ':memory:'\n";

fn rails(workshop: &Workshop, site: &Site) -> Result<World> {
    let bundle = site.source.join("bundle");
    fs::create_dir_all(&bundle)?;
    let directories = ["gems", "specifications"].map(|name| format!("{DEBIAN}/{name}"));
    let copy = [words(["cp", "-a"]), directories.to_vec(), vec![text(&bundle)]].concat();
    successful(workshop, &copy)?;
    let mut gemfile = "source 'https://rubygems.org'\n".to_owned();
    gemfile.extend(GEMS.iter().map(|gem| format!("gem '{gem}'\n")));
    gemfile += "gem 'bootsnap', require: false\n";
    site.file("Gemfile", &gemfile)?;
    site.file("config/database.yml", DATABASE)?;
    site.file("rails.rb", &format!("require 'bundler/setup'\n{RAILS_APP}"))?;
    site.file("part.rb", RAILS_APP)?;
    let quoted = |name: &str| format!("'{}'", site.seen(name));
    let with_bootsnap = BOOTSNAP.replace("CACHE", &quoted("bootsnap-cache")).replace("APP", &quoted("part.rb"));
    site.file("rails-with-bootsnap.rb", &format!("require 'bundler/setup'\n{with_bootsnap}"))?;
    let own = successful(workshop, &words([RUBY, "-e", "puts Gem.default_path.join(':')"]))?;
    let variables = |bundle: &str, gemfile: &str| {
        let path = format!("{bundle}:{}", own.trim());
        let pairs =
            [("GEM_HOME", bundle), ("GEM_PATH", &path), ("BUNDLE_GEMFILE", gemfile), ("RAILS_ENV", "production")];
        pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec()
    };
    let here = variables(&text(&bundle), &text(&site.source.join("Gemfile")));
    let here = here.iter().map(|(name, value)| format!("{name}={value}"));
    let lock: Vec<String> =
        words(["env"]).into_iter().chain(here).chain(words(["bundle", "lock", "--local"])).collect();
    successful(workshop, &lock)?;
    let way = |name: &str, script: &str| Way {
        name: name.to_owned(),
        command: vec![RUBY.to_owned(), site.seen(script)],
        variables: variables(&site.seen("bundle"), &site.seen("Gemfile")),
    };
    Ok(World {
        plain: way("plain", "rails.rb"),
        others: vec![way("bootsnap", "rails-with-bootsnap.rb")],
        limits: Limits { calls: Some(1.0 / 3.0), hot: Some(0.73), cold: Some(7.0) },
    })
}
