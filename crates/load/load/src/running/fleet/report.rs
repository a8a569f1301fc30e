//! Writes the report of a fleet to all requested outputs.

use super::args::ReportArgs;
use crate::console::{Output, ResultFile, is_stdout, keep_apart};
use crate::judged::whole::Whole;
use crate::shown::csv_log;
use crate::shown::fleet::object::WholeObject;
use crate::shown::fleet::page;
use crate::shown::fleet::whole::FleetReport;
use crate::shown::report::Detail;
use anyhow::ensure;
use nanopace_fleet::{Control, FleetError};
use std::io;

#[derive(Debug)]
pub(super) struct Places {
    output: Output,
    html: Option<ResultFile>,
    csv: Option<ResultFile>,
    detail: Detail,
}

impl Places {
    pub(super) fn new(args: &ReportArgs) -> anyhow::Result<Places> {
        let ReportArgs { json, html, csv, detail, .. } = args;
        ensure!(
            !html.as_deref().is_some_and(is_stdout),
            "--html -: the page needs a file; --json and --csv can go to standard output"
        );
        let outputs = [("json", &json.json), ("html", html), ("csv", csv)];
        keep_apart(outputs.map(|(option, file)| (option, file.as_deref())), [])?;
        let html = ResultFile::optional("--html", html.as_deref())?;
        let csv = ResultFile::optional("--csv", csv.as_deref())?;
        let is_taken = csv.as_ref().is_some_and(ResultFile::is_stdout);
        let output = Output::create(json.json.as_deref())?.with_stdout_taken(is_taken);
        Ok(Places { output, html, csv, detail: detail.detail() })
    }

    /// Writes all outputs, even if one fails. Returns the first error.
    pub(super) fn write(&self, whole: &Whole) -> io::Result<()> {
        let Places { output, html, csv, detail } = self;
        let log = || csv_log::text(whole.over_time().intervals());
        [
            html.as_ref().map_or(Ok(()), |file| file.write_text(&page::html(whole))),
            csv.as_ref().map_or(Ok(()), |file| file.write_text(&log())),
            output.write_json(|| WholeObject::new(whole)),
            output.write_text(&FleetReport { whole, detail: *detail }),
        ]
        .into_iter()
        .collect()
    }
}

pub(crate) fn whole(control: &Control, name: &str) -> Result<Whole, FleetError> {
    let (status, account) = (control.status()?, control.account()?);
    Ok(Whole::new(name, status, account, &control.results()?))
}
