//! Performs commands, writes their results to all outputs, and returns the exit status.

use crate::console::Unreachable;
use crate::console::{cannot_write, interrupt};
use crate::judged::summary::Summary;
use crate::judged::whole::Whole;
use crate::running::compare::{self, CompareArgs};
use crate::running::files::ResultFiles;
use crate::running::fleet;
use crate::running::fleet::args::FleetCommand;
use crate::running::fleet::report;
use crate::running::loads::LoadsSetup;
use crate::running::member::Member;
use crate::running::merge::{self, MergeArgs};
use crate::running::run::{self, NotJoined, Ran};
use crate::running::search::Job;
use crate::running::setup::Setup;
use crate::shown::fleet::object::WholeObject;
use crate::shown::fleet::whole::FleetReport;
use crate::shown::json;
use crate::shown::junit;
use crate::shown::markdown::Markdown;
use crate::shown::page;
use crate::shown::report::{Detail, RunReport};
use std::env;
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::mem;
use std::path::Path;
use std::process::ExitCode;

// `crate::main` describes the exit statuses.
pub(crate) const FAILED: u8 = 1;
pub(crate) const REFUSED: u8 = 2;
pub(crate) const MISSED: u8 = 3;
pub(crate) const INCOMPLETE: u8 = 4;
pub(crate) const UNREACHABLE: u8 = 5;

pub(crate) type Ended = Result<ExitCode, (u8, anyhow::Error)>;

pub(crate) fn refused(error: anyhow::Error) -> (u8, anyhow::Error) {
    let status = if error.is::<Unreachable>() { UNREACHABLE } else { REFUSED };
    (status, error)
}

pub(crate) fn run(mut setup: Setup) -> Ended {
    let logs = mem::take(&mut setup.logs);
    let failed = |error: anyhow::Error| {
        if error.is::<NotJoined>() { refused(error) } else { (FAILED, error) }
    };
    let ran = run::run(&setup, logs).map_err(failed)?;
    let Some((mut ran, member)) = ran else { return Ok(ExitCode::from(interrupt::INTERRUPTED)) };
    // Other nodes of a fleet may still need the target, so a node tears it down only when this function returns.
    if member.is_none() {
        ran.summary.warnings.extend(setup.prepared.tear_down());
    }
    let (written, finished) = publish(&setup, &mut ran, member);
    written.map_err(|error| (FAILED, error.into()))?;
    ran.logged.map_err(|error| (FAILED, error))?;
    let whole = finished.map_err(|error| (UNREACHABLE, error))?;
    let is_well = whole.is_none_or(|whole| whole.is_well());
    Ok(status(&ran.summary, is_well))
}

pub(crate) fn run_loads(mut setup: LoadsSetup) -> Ended {
    let Ran { summary, logged, .. } = setup.run().map_err(|error| (FAILED, error))?;
    let detail = setup.args.report.detail();
    let text = setup.files.output.write_text(&RunReport { summary: &summary, detail });
    written(&setup.files, &summary, text, None).map_err(|error| (FAILED, error.into()))?;
    logged.map_err(|error| (FAILED, error))?;
    Ok(status(&summary, true))
}

fn status(summary: &Summary, is_well: bool) -> ExitCode {
    match summary.incomplete {
        _ if !(summary.missed.is_empty() && is_well) => ExitCode::from(MISSED),
        Some(_) => ExitCode::from(INCOMPLETE),
        None => ExitCode::SUCCESS,
    }
}

pub(crate) fn search(mut job: Job) -> Ended {
    let results = job.run().map_err(|error| (FAILED, error))?;
    let written = job.publish(&results).into_iter().collect::<io::Result<()>>();
    written.map_err(|error| (FAILED, error.into()))?;
    Ok(match results.success() {
        Some(true) => ExitCode::SUCCESS,
        Some(false) => ExitCode::from(MISSED),
        None => ExitCode::from(INCOMPLETE),
    })
}

pub(crate) fn fleet(command: &FleetCommand) -> Ended {
    let (written, is_well) = fleet::perform(command).map_err(refused)?;
    written.map_err(|error| (FAILED, error.into()))?;
    Ok(if is_well { ExitCode::SUCCESS } else { ExitCode::from(MISSED) })
}

pub(crate) fn compare(args: &CompareArgs) -> Ended {
    let (written, is_well) = compare::perform(args).map_err(refused)?;
    written.map_err(|error| (FAILED, error.into()))?;
    Ok(if is_well { ExitCode::SUCCESS } else { ExitCode::from(MISSED) })
}

pub(crate) fn merge(args: &MergeArgs) -> Ended {
    let (whole, written) = merge::perform(args).map_err(refused)?;
    written.map_err(|error| (FAILED, error.into()))?;
    Ok(status(&whole, true))
}

/// Writes the report, ends this node's part in a fleet, and writes the other outputs, even if one of them fails. The
/// requirements apply to the whole fleet, or to this node alone if it is unknown whether the other nodes have finished.
fn publish(
    setup: &Setup,
    ran: &mut Ran,
    member: Option<Member>,
) -> (io::Result<()>, anyhow::Result<Option<Whole>>) {
    let detail = setup.args.report.detail();
    let text = setup.files.output.write_text(&RunReport { summary: &ran.summary, detail });
    let node = member.as_ref().map(ToString::to_string);
    let finished = member.map_or(Ok(None), |member| finish(setup, ran, member));
    let text = text.and(match (&finished, node) {
        (Ok(Some(whole)), Some(node)) => {
            let done = format!("fleet     {node} is done\n\n");
            let done = if detail == Detail::Headline { "" } else { &done };
            let report = FleetReport { whole, detail };
            setup.files.output.write_text(&format!("{done}{report}"))
        }
        (Ok(None), Some(node)) => {
            let missed = ran.summary.missed.iter().map(|missed| format!("missed    {missed}\n"));
            setup.files.output.write_text(&format!(
                "fleet     {node} is done; 'fleet report' prints the results of all nodes\n{}",
                missed.collect::<String>()
            ))
        }
        _ => Ok(()),
    });
    let whole = finished.as_ref().ok().and_then(Option::as_ref);
    (written(&setup.files, &ran.summary, text, whole), finished)
}

fn finish(setup: &Setup, ran: &mut Ran, member: Member) -> anyhow::Result<Option<Whole>> {
    let criteria = setup.args.criteria();
    let Some((at, control)) = member.finish(&ran.summary.stats, ran.not_started)? else {
        ran.summary.require(&criteria);
        return Ok(None);
    };
    let mut whole = report::whole(&control, &at.name).map_err(|error| at.told(error))?;
    whole.require(&criteria);
    Ok(Some(whole))
}

/// The summary is appended to GitHub's file, because other commands of the same step may have written to it.
const STEP_SUMMARY: &str = "GITHUB_STEP_SUMMARY";

fn append(path: &Path, text: &str) -> io::Result<()> {
    let mut file = OpenOptions::new().append(true).create(true).open(path)?;
    file.write_all(text.as_bytes())
}

fn written(
    files: &ResultFiles,
    summary: &Summary,
    text: io::Result<()>,
    whole: Option<&Whole>,
) -> io::Result<()> {
    let page = files.html.as_ref().map(|file| file.write_text(&page::html(summary)));
    let junit = files.junit.as_ref().map(|file| file.write_text(&junit::xml(summary)));
    let short = || Markdown(summary).to_string();
    let shorts = files.summary.as_ref().map(|file| file.write_text(&short()));
    let step = env::var_os(STEP_SUMMARY).filter(|file| !file.is_empty());
    let step = step.map(|file| append(Path::new(&file), &short()));
    let step = step.map(|step| step.map_err(|error| cannot_write(STEP_SUMMARY, &error)));
    let json = files.output.write_json(|| json::Object::new(summary, whole.map(WholeObject::new)));
    [page, Some(json), junit, shorts, step, Some(text)].into_iter().flatten().collect()
}
