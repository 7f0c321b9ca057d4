//! `order-workloads`: of five things that a program is started for, four make the list, and the fifth is started: by first use of the four, and by
//! balanced partitioning. Each of the five is left out once.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use fs_err as fs;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::super::figure::{Asked, Figure, Unit};
use super::super::pack_files::empty_directory;
use super::super::record::Record;
use super::super::runner::words;
use super::super::workshop::{Workshop, text};
use super::debian::{VIM_WORKLOADS, Vim};
use super::{Linking, made, traced_start};

/// The orders that are compared, as `order functions` names them.
const ORDERS: [&str; 2] = ["first-use", "balanced"];

/// A workload that the lists were made without.
#[derive(Debug, Serialize, Deserialize)]
struct LeftOut {
    workload: String,
    /// Pages of code without a list.
    before: u64,
    /// Pages with the lists of [`ORDERS`].
    pages: Vec<u64>,
}

pub(in crate::bench) fn measure(workshop: &Workshop, record: &mut Record) -> Result<()> {
    let directory = empty_directory(workshop, "order")?;
    let left_out = of_vim(workshop, made(&directory)?)?;
    record.add("left out", serde_json::to_value(left_out)?);
    Ok(fs::remove_dir_all(&directory)?)
}

fn of_vim(workshop: &Workshop, directory: &Path) -> Result<Vec<LeftOut>> {
    let vim = Vim::by_lld(workshop)?;
    let at = |name: &str| directory.join(name);
    let (before, stripped) = (at("before"), at("stripped"));
    vim.link(workshop, &before, None)?;
    workshop.runner.run(&words(["strip", "-o", &text(&stripped), &text(&before)]))?;
    let mut traces = Vec::new();
    for (number, (_, arguments)) in VIM_WORKLOADS.iter().enumerate() {
        let trace = at(&format!("{number}.coldtrace"));
        traced_start(workshop, &stripped, &trace, &vim.start(arguments))?;
        traces.push(trace);
    }
    let mut all = Vec::new();
    for (left, (workload, arguments)) in VIM_WORKLOADS.iter().enumerate() {
        let mut of_workload = LeftOut { workload: (*workload).to_owned(), before: 0, pages: Vec::new() };
        for order in ORDERS {
            let list = at(&format!("{left}.{order}"));
            let mut make =
                workshop.coldstart(["order", "functions", "--json", "--order", order, "--object", "stripped"]);
            make.extend(words(["--symbols", &text(&before), "-o", &text(&list)]));
            make.extend(vim.list_options());
            make.extend(traces.iter().enumerate().filter(|(number, _)| *number != left).map(|(_, trace)| text(trace)));
            workshop.runner.json(&make, &[0])?;
            let after = at("after");
            vim.link(workshop, &after, Some(&list))?;
            let mut check = workshop.coldstart(["order", "check", "--json", &text(&list), "--before", &text(&before)]);
            check.extend(words(["--after", &text(&after), "--"]));
            check.extend(vim.start(arguments));
            let checked = workshop.runner.json(&check, &[0, 1])?;
            let pages = |side: &str| {
                let found = checked.pointer(&format!("/observed/{side}")).and_then(Value::as_u64);
                found.with_context(|| format!("no pages {side} of `{workload}`"))
            };
            of_workload.before = pages("before")?;
            of_workload.pages.push(pages("after")?);
        }
        all.push(of_workload);
    }
    ensure!(!all.is_empty(), "nothing was measured");
    Ok(all)
}

pub(in crate::bench) fn figures(record: &Record) -> Result<Vec<Figure>> {
    let all = Vec::<LeftOut>::deserialize(record.part("left out")?).context("`left out` holds no workloads")?;
    let mut figures = Vec::new();
    let mut sums = [0.0; ORDERS.len()];
    for LeftOut { workload, before, pages } in &all {
        let count = |what: String, value: u64| Figure::new(what, Unit::Count, Asked::Nothing, Some(value as f64));
        figures.push(count(format!("vim, without `{workload}`: pages of its start before"), *before));
        for ((order, pages), sum) in ORDERS.iter().zip(pages).zip(&mut sums) {
            figures.push(count(format!("vim, without `{workload}`: pages with the list, {order}"), *pages));
            *sum += *pages as f64;
        }
    }
    let [first_use, balanced] = sums;
    figures.push(Figure::new(
        "vim: balanced / first use, of all that were left out",
        Unit::Times,
        Asked::AtMost(1.0),
        Some(balanced / first_use),
    ));
    Ok(figures)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::benchmark::Benchmark;
    use serde_json::json;

    #[test]
    fn balanced_orders_are_judged_over_all_that_were_left_out() {
        let mut record = Record::begin(Benchmark::OrderWorkloads, "2025-01-02", 2).unwrap();
        let left_out = |pages: [u64; 2]| json!({"workload": "a", "before": 500, "pages": pages});
        record.add("left out", json!([left_out([100, 110]), left_out([200, 180])]));
        let found = figures(&record).unwrap();
        assert_eq!(found.iter().filter_map(Figure::is_met).collect::<Vec<_>>(), [true]);
        assert_eq!(found.len(), 7);
    }
}
