//! Implements the command `help`, which prints pages about commands and about topics such as the grammar of shapes.

use crate::console::config;
use crate::console::help::pages;
use clap::error::{ErrorKind, Result};
use clap::{Arg, ArgAction, ArgMatches, Command, Error};

/// A subject with its own help page. The help texts of options refer to it as `[see: help NAME]`.
struct Topic {
    name: &'static str,
    about: &'static str,
    text: &'static str,
    /// The ID of the option that the page is about. A program without this option does not have the page.
    option: &'static str,
}

const TOPICS: [Topic; 10] = [
    Topic {
        name: "rates",
        about: "How to write rates and parts of a load, and what a closed loop is",
        text: include_str!("topics/rates.txt"),
        option: "rate",
    },
    Topic {
        name: "shapes",
        about: "The grammar of --shape: ramps, waves, ladders, files",
        text: include_str!("topics/shapes.txt"),
        option: "shape",
    },
    Topic {
        name: "arrivals",
        about: "The processes of --arrivals: even, random, recorded",
        text: include_str!("topics/arrivals.txt"),
        option: "arrivals",
    },
    Topic {
        name: "requirements",
        about: "The grammar of --fail-if and --until, and all figures",
        text: include_str!("topics/requirements.txt"),
        option: "fail_if",
    },
    Topic {
        name: "templates",
        about: "Requests with changing data: {{NAME}}, --data, --targets",
        text: include_str!("topics/templates.txt"),
        option: "data",
    },
    Topic {
        name: "scenarios",
        about: "The file of --scenario: several requests in a row",
        text: include_str!("topics/scenarios.txt"),
        option: "scenario",
    },
    Topic {
        name: "loads",
        about: "Several loads in one run: the files of --load",
        text: include_str!("topics/loads.txt"),
        option: "load_file",
    },
    Topic {
        name: "versus",
        about: "Two servers compared in one load",
        text: include_str!("topics/versus.txt"),
        option: "versus",
    },
    Topic {
        name: "target",
        about: "The embedded target and its latencies",
        text: include_str!("topics/target.txt"),
        option: "target_latency",
    },
    Topic {
        name: "exit-codes",
        about: "The exit status of every command",
        text: include_str!("topics/exit-codes.txt"),
        option: "fail_if",
    },
];

const NAME: &str = "help";
const PAGE: &str = "page";

pub(crate) fn command() -> Command {
    let about = "List all commands and topics, or print the page of a command or topic";
    let page = Arg::new(PAGE).value_name("COMMAND or TOPIC").action(ArgAction::Append);
    Command::new(NAME).about(about).arg(page.help("Print the page of this command or topic"))
}

pub(crate) fn asked_for(definition: &Command, matches: &ArgMatches) -> Result<Option<String>> {
    let Some((NAME, help)) = matches.subcommand() else { return Ok(None) };
    let names: Vec<&String> = help.get_many(PAGE).into_iter().flatten().collect();
    if names.is_empty() {
        return Ok(Some(contents(definition)));
    }
    if let [name] = names[..]
        && let Some(topic) = topics(definition).find(|topic| topic.name == name)
    {
        return Ok(Some(topic.text.to_owned()));
    }
    let mut command = pages(config::extended(definition), &[]);
    command.build();
    let mut page = &mut command;
    for name in &names {
        page = page.find_subcommand_mut(name).ok_or_else(|| unknown(definition, &names))?;
    }
    Ok(Some(page.render_help().to_string()))
}

fn topics(definition: &Command) -> impl Iterator<Item = &'static Topic> {
    let has = |id: &str| definition.get_arguments().any(|option| option.get_id() == id);
    TOPICS.iter().filter(move |topic| has(topic.option))
}

fn contents(definition: &Command) -> String {
    let line = |name: &str, about: &str| format!("  {name:<14}{about}\n");
    let commands = definition.get_subcommands().map(|command| {
        let about = command.get_about().map(ToString::to_string).unwrap_or_default();
        line(command.get_name(), &about)
    });
    let commands: String = commands.collect();
    let topics: String = topics(definition).map(|topic| line(topic.name, topic.about)).collect();
    let name = definition.get_name();
    format!(
        "Commands ({name} help COMMAND, or {name} COMMAND --help for all options):\n{commands}\n\
         Topics ({name} help TOPIC):\n{topics}"
    )
}

fn unknown(definition: &Command, names: &[&String]) -> Error {
    let program = definition.get_name();
    let page = names.iter().map(|name| name.as_str()).collect::<Vec<_>>().join(" ");
    let all = definition.get_subcommands().map(Command::get_name);
    let mut all = all.chain(topics(definition).map(|topic| topic.name));
    let near = all.find(|name| name.starts_with(&page));
    let near = near.map(|name| format!("try '{program} help {name}'; ")).unwrap_or_default();
    let told =
        format!("{page:?} is neither a command nor a topic; {near}'{program} help' lists all");
    Error::raw(ErrorKind::InvalidValue, told)
}

/// Inserts the pages of topics into the page of `--help`, for programs without the command `help`.
pub(crate) fn explained(command: Command) -> Command {
    command.mut_args(|option| {
        let help = option.get_help().map(ToString::to_string).unwrap_or_default();
        match reference(&help) {
            Some((before, topic)) => {
                let long = format!("{before}\n\n{}", topic.text);
                option.help(format!("{before} [see: --help]")).long_help(long)
            }
            None => option,
        }
    })
}

fn reference(help: &str) -> Option<(&str, &'static Topic)> {
    let (before, rest) = help.split_once(" [see: help ")?;
    let (name, _) = rest.split_once(']')?;
    TOPICS.iter().find(|topic| topic.name == name).map(|topic| (before, topic))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::running::args::RunArgs;
    use clap::Args;

    fn definition() -> Command {
        let run = RunArgs::augment_args(Command::new("run"));
        let tool = RunArgs::augment_args(Command::new("tool")).disable_help_subcommand(true);
        tool.subcommands([run, command()])
    }

    fn page(line: &str) -> Result<Option<String>> {
        let definition = definition();
        let matches = definition.clone().try_get_matches_from(line.split(' ')).unwrap();
        asked_for(&definition, &matches)
    }

    #[test]
    fn topics_are_those_of_the_options() {
        let contents = page("tool help").unwrap().unwrap();
        for (name, is_there) in
            [("run", true), ("shapes", true), ("exit-codes", true), ("scenarios", false)]
        {
            assert_eq!(contents.contains(&format!("\n  {name} ")), is_there, "{contents}");
        }
        assert!(page("tool help shapes").unwrap().unwrap().starts_with("A shape is"));
        assert!(page("tool help run").unwrap().unwrap().contains("Usage: tool run"));
        assert!(page("tool run").unwrap().is_none());
    }

    #[test]
    fn an_unknown_page_is_refused() {
        for line in ["tool help shape", "tool help scenarios", "tool help run fast"] {
            let told = page(line).unwrap_err().to_string();
            assert!(told.contains("'tool help' lists all"), "{line}: {told}");
        }
        for (line, near) in [("tool help shape", "shapes"), ("tool help exit", "exit-codes")] {
            let told = page(line).unwrap_err().to_string();
            assert!(told.contains(&format!("try 'tool help {near}'")), "{told}");
        }
        // Each of the two words is a page.
        let told = page("tool help run shapes").unwrap_err().to_string();
        assert!(told.contains("\"run shapes\" is neither a command nor a topic"), "{told}");
    }

    #[test]
    fn each_reference_has_its_topic() {
        let command = definition();
        let helps = command.get_arguments().filter_map(Arg::get_help).map(ToString::to_string);
        let referring: Vec<_> = helps.filter(|help| help.contains("[see: help ")).collect();
        assert!(referring.len() >= 5, "{referring:?}");
        assert!(referring.iter().all(|help| reference(help).is_some()), "{referring:?}");
        let explained = explained(command).render_long_help().to_string();
        assert!(explained.contains("ladder 100/s") && !explained.contains("[see: help"));
    }

    #[test]
    fn topics_fit_below_an_option() {
        for Topic { name, text, .. } in &TOPICS {
            for line in text.lines() {
                assert!(line.chars().count() <= 92 && !line.ends_with(' '), "{name}: {line}");
            }
        }
    }
}
