//! Node: 100 directories in `NODE_PATH` with a package of one module each.

use anyhow::Result;

use super::super::workshop::Workshop;
use super::world::{Limits, Recipe, Site, Way, World};

pub(super) const RECIPES: &[Recipe] = &[Recipe { name: "node", build }];

const NODE: &str = "/usr/bin/node";

fn build(_: &Workshop, site: &Site) -> Result<World> {
    let mut app = "'use strict';\nlet sum = 0;\nrequire('fs'); require('util'); require('events');\n".to_owned();
    for (number, prefix) in Site::prefixes("lib/node").enumerate() {
        site.file(&format!("{prefix}/pkg{number}/index.js"), &format!("'use strict';\nexports.value = {number};\n"))?;
        app += &format!("sum += require('pkg{number}').value;\n");
    }
    app += "console.log(sum);\ntry { require('not-there'); } catch (error) { console.log(error.code); }\n";
    site.file("app.js", &app)?;
    site.farm("farm", Site::prefixes("lib/node"))?;
    let way = |name: &str, path: String| Way {
        name: name.to_owned(),
        command: vec![NODE.to_owned(), site.seen("app.js")],
        variables: vec![("NODE_PATH".to_owned(), path)],
    };
    Ok(World {
        plain: way("plain", site.list(Site::prefixes("lib/node"))),
        others: vec![way("link farm", site.seen("farm"))],
        limits: Limits { calls: Some(0.1), hot: Some(0.45), cold: Some(8.0) },
    })
}
