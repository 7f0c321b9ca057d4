//! Perl: 100 directories in `PERL5LIB` with a package of three modules each.

use anyhow::Result;

use super::super::runner::words;
use super::super::workshop::Workshop;
use super::world::{Limits, PREFIXES, Recipe, Site, Way, World};

pub(super) const RECIPES: &[Recipe] = &[Recipe { name: "perl", build }];

fn build(_: &Workshop, site: &Site) -> Result<World> {
    let mut app = "use strict; use warnings;\n".to_owned();
    for (number, prefix) in Site::prefixes("lib/perl5").enumerate() {
        let name = format!("Pkg{number}");
        let module =
            |name: &str, uses: &str| format!("package {name};\nuse strict;\n{uses}our $value = {number};\n1;\n");
        site.file(&format!("{prefix}/{name}.pm"), &module(&name, &format!("use {name}::One; use {name}::Two;\n")))?;
        site.file(&format!("{prefix}/{name}/One.pm"), &module(&format!("{name}::One"), ""))?;
        site.file(&format!("{prefix}/{name}/Two.pm"), &module(&format!("{name}::Two"), ""))?;
        app += &format!("use {name};\n");
    }
    app += "use POSIX (); use Data::Dumper; use File::Spec; use List::Util;\nmy $sum = 0;\n\
            { no strict 'refs'; $sum += ${\"Pkg${_}::Two::value\"} for 0 .. ";
    app += &format!(
        "{} }}\nprint \"$sum\\n\", eval {{ require Not::There; 1 }} ? 'there' : 'absent', \"\\n\";\n",
        PREFIXES - 1
    );
    site.file("app.pl", &app)?;
    site.farm("farm", Site::prefixes("lib/perl5"))?;
    let way = |name: &str, path: String| Way {
        name: name.to_owned(),
        command: [words(["/usr/bin/perl"]), vec![site.seen("app.pl")]].concat(),
        variables: vec![("PERL5LIB".to_owned(), path)],
    };
    Ok(World {
        plain: way("plain", site.list(Site::prefixes("lib/perl5"))),
        others: vec![way("link farm", site.seen("farm"))],
        limits: Limits { calls: Some(1.0 / 25.0), hot: Some(0.57), cold: Some(10.0) },
    })
}
