//! Python: 100 directories in `PYTHONPATH` with a package of three modules each; the same with one directory; real programs with
//! each distribution in a directory of its own.

use anyhow::{Context, Result};
use fs_err as fs;

use super::super::runner::words;
use super::super::workshop::{Workshop, text};
use super::ways::successful;
use super::world::{Limits, PREFIXES, Recipe, Site, Way, World};

const PYTHON: &str = "/usr/bin/python3";

/// Made for this purpose.
pub(super) const SYNTHETIC: &[Recipe] =
    &[Recipe { name: "python", build: many }, Recipe { name: "python, one directory", build: one }];

/// Real ones.
pub(super) const PROGRAMS: &[Recipe] = &[
    Recipe { name: "requests", build: |workshop, site| real(workshop, site, &["requests", "rich"], REQUESTS) },
    Recipe { name: "pandas", build: |workshop, site| real(workshop, site, &["pandas"], PANDAS) },
    Recipe { name: "django project", build: |workshop, site| real(workshop, site, &["django"], DJANGO) },
    Recipe { name: "jupyterlab", build: |workshop, site| real(workshop, site, &["jupyterlab"], JUPYTERLAB) },
    Recipe { name: "large stack", build: |workshop, site| real(workshop, site, STACK, LARGE) },
];

const REQUESTS: &str = "import requests, rich.console, rich.table, rich.progress\nprint(requests.__version__)\n";
const PANDAS: &str = "import pandas\nprint(pandas.DataFrame({'a': [1, 2]}).sum().to_dict())\n";
const DJANGO: &str = "\
import django
from django.conf import settings
settings.configure(INSTALLED_APPS=['django.contrib.admin', 'django.contrib.auth', 'django.contrib.contenttypes',
    'django.contrib.sessions', 'django.contrib.messages'], ROOT_URLCONF='urls', ALLOWED_HOSTS=['*'], SECRET_KEY='x',
    DATABASES={'default': {'ENGINE': 'django.db.backends.sqlite3', 'NAME': ':memory:'}},
    MIDDLEWARE=['django.contrib.sessions.middleware.SessionMiddleware',
        'django.contrib.auth.middleware.AuthenticationMiddleware', 'django.contrib.messages.middleware.MessageMiddleware'],
    TEMPLATES=[{'BACKEND': 'django.template.backends.django.DjangoTemplates', 'APP_DIRS': True, 'OPTIONS':
        {'context_processors': ['django.template.context_processors.request', 'django.contrib.auth.context_processors.auth',
            'django.contrib.messages.context_processors.messages']}}])
import sys, types
urls = types.ModuleType('urls')
sys.modules['urls'] = urls
django.setup()
from django.contrib import admin
from django.urls import path
urls.urlpatterns = [path('admin/', admin.site.urls)]
from django.core.management import call_command
call_command('check')
from django.test import Client
print(Client().get('/nothing').status_code)
";
const JUPYTERLAB: &str = "\
import jupyterlab.labapp, jupyterlab.commands, jupyterlab.handlers.extension_manager_handler
import jupyter_server.serverapp, jupyter_server.services.contents.handlers, jupyter_server.services.kernels.handlers
import nbconvert.exporters, ipykernel.kernelapp, notebook_shim, IPython
print(jupyterlab.__version__)
";
const STACK: &[&str] =
    &["jupyterlab", "pandas", "scipy", "matplotlib", "sympy", "scikit-learn", "django", "requests", "rich"];
const LARGE: &str = "\
import sys
import jupyterlab.labapp, nbconvert.exporters, ipykernel.kernelapp, IPython, pandas, requests, rich.console
import scipy.stats, scipy.signal, matplotlib.pyplot, sympy, sklearn.ensemble, sklearn.linear_model, django.test
print(len(sys.modules) > 2000)
";

const SITE: &str = "lib/python3/site-packages";

/// What is asked of real programs.
const REAL: Limits = Limits { calls: Some(0.2), hot: Some(0.85), cold: Some(3.0) };

fn ways(site: &Site, path: String, farm: Option<String>) -> Result<(Way, Vec<Way>)> {
    let way = |name: &str, path: String| Way {
        name: name.to_owned(),
        command: words([PYTHON, &site.seen("app.py")]),
        variables: vec![("PYTHONPATH".to_owned(), path)],
    };
    Ok((way("plain", path), farm.into_iter().map(|farm| way("link farm", farm)).collect()))
}

fn package(site: &Site, directory: &str, number: usize) -> Result<()> {
    let name = format!("pkg{number}");
    site.file(&format!("{directory}/{name}/__init__.py"), "from . import one, two\nvalue = two.value\n")?;
    site.file(&format!("{directory}/{name}/one.py"), "class One:\n    pass\n")?;
    site.file(&format!("{directory}/{name}/two.py"), &format!("value = {number}\n"))
}

fn app() -> String {
    let mut app = "import json, decimal, argparse, email.message, logging.handlers\n".to_owned();
    for number in 0..PREFIXES {
        app += &format!("import pkg{number}\n");
    }
    app += "try:\n    import not_there\nexcept ImportError:\n    print('absent')\n";
    app + &format!("print(sum(globals()['pkg%d' % number].value for number in range({PREFIXES})))\n")
}

fn many(workshop: &Workshop, site: &Site) -> Result<World> {
    for (number, prefix) in Site::prefixes(SITE).enumerate() {
        package(site, &prefix, number)?;
    }
    site.file("app.py", &app())?;
    site.farm("farm", Site::prefixes(SITE))?;
    compile(workshop, site)?;
    let (plain, others) = ways(site, site.list(Site::prefixes(SITE)), Some(site.seen("farm")))?;
    Ok(World { plain, others, limits: Limits { calls: Some(0.1), hot: Some(0.5), cold: Some(8.0) } })
}

fn one(workshop: &Workshop, site: &Site) -> Result<World> {
    for number in 0..PREFIXES {
        package(site, SITE, number)?;
    }
    site.file("app.py", &app())?;
    compile(workshop, site)?;
    let (plain, others) = ways(site, site.seen(SITE), None)?;
    // A hundredth is what such a series cannot tell from nothing.
    Ok(World { plain, others, limits: Limits { calls: None, hot: Some(1.01), cold: Some(1.0) } })
}

/// A program with the distributions that it needs, as pip resolves them, each in a directory of its own.
fn real(workshop: &Workshop, site: &Site, wanted: &[&str], program: &str) -> Result<World> {
    let wheels = workshop.directory.join("index-wheels").join(wanted.join("-"));
    if !wheels.join("complete").is_file() {
        fs::create_dir_all(&wheels)?;
        let mut command = words([PYTHON, "-m", "pip", "download", "--quiet", "--only-binary=:all:", "--dest"]);
        command.push(text(&wheels));
        command.extend(wanted.iter().map(|&name| name.to_owned()));
        successful(workshop, &command)?;
        fs::write(wheels.join("complete"), "")?;
    }
    let mut found: Vec<String> = Vec::new();
    for entry in fs::read_dir(&wheels)? {
        let name = entry?.file_name().into_string().ok().context("a wheel whose name is not UTF-8")?;
        found.extend(name.ends_with(".whl").then_some(name));
    }
    found.sort();
    let mut prefixes = Vec::new();
    for wheel in &found {
        let name = wheel.split('-').next().unwrap_or(wheel);
        let prefix = format!("prefix/{name}/{SITE}");
        fs::create_dir_all(site.source.join(&prefix))?;
        // As pip does, but for programs and data, which no start imports.
        let mut command = words([PYTHON, "-m", "zipfile", "-e"]);
        command.extend([text(&wheels.join(wheel)), text(&site.source.join(&prefix))]);
        successful(workshop, &command)?;
        prefixes.push(prefix);
    }
    site.file("app.py", program)?;
    site.farm("farm", prefixes.iter().cloned())?;
    compile(workshop, site)?;
    let (plain, others) = ways(site, site.list(prefixes), Some(site.seen("farm")))?;
    Ok(World { plain, others, limits: REAL })
}

/// Compiles all sources, in the farm as well.
fn compile(workshop: &Workshop, site: &Site) -> Result<()> {
    // Some distributions have files that are no Python of this version, which makes the tool fail.
    let mut command = words([PYTHON, "-m", "compileall", "-q", "-j", "2", "-s"]);
    command.extend([text(&site.source), "-p".to_owned(), text(&site.seen)]);
    command.push(text(&site.source));
    workshop.runner.said(&command)?;
    Ok(())
}
