//! The commands by the role of their reader, for `equipoise --help` and the manual page.
//!
//! clap lists subcommands in one flat list. [`ROLES`] says which command belongs to which role and
//! in which order; the descriptions are those of clap, so a command is described in one place.

use std::fmt::Write;

use clap::builder::Styles;
use clap::{Command, Subcommand};
use clap_mangen::roff::{Roff, bold, roman};

/// Every command, by role.
const ROLES: [(&str, &[&str]); 6] = [
    (
        "Bedside",
        &[
            "terminal", "web", "assign", "outcome", "lost", "replace", "waiting", "list", "show",
            "note", "staff", "status", "records",
        ],
    ),
    ("Custodian", &["check", "keygen", "key", "provision", "close", "report", "erase"]),
    ("Pharmacy", &["kits"]),
    ("Statistician", &["plan", "simulate", "merge", "pareto", "normality", "pool"]),
    ("Auditor", &["audit", "sample", "log", "qualify", "reconcile"]),
    ("Engineer", &["demo", "device", "completions", "man"]),
];

/// The command that clap adds by itself. It serves every role, so the list ends by naming it.
pub const HELP: &str = "help";

/// The help of the program, in clap's template language, with the subcommands `C` listed by role.
pub fn help_template<C: Subcommand>() -> String {
    let program = C::augment_subcommands(Command::new("equipoise"));
    let styles = Styles::styled();
    let (header, literal) = (styles.get_header(), styles.get_literal());
    let heading = |text| format!("{header}{text}:{header:#}\n");
    let mut template = "{before-help}{about-with-newline}\n{usage-heading} {usage}\n\n".to_owned();
    template += &list(&program, heading, |name| format!("{literal}{name}{literal:#}"));
    template += &format!("More about a command: {literal}equipoise {HELP} COMMAND{literal:#}\n\n");
    template + &heading("Options") + "{options}{after-help}"
}

/// A paragraph a role, a line a command.
fn list(
    program: &Command,
    heading: impl Fn(&'static str) -> String,
    styled: impl Fn(&str) -> String,
) -> String {
    let width = width();
    let mut text = String::new();
    for (role, names) in ROLES {
        text += &heading(role);
        for name in names {
            let gap = " ".repeat(width - name.len());
            // Writing to a string cannot fail.
            let _ = writeln!(text, "  {}{gap}  {}", styled(name), about(program, name));
        }
        text.push('\n');
    }
    text
}

/// The length of the longest name.
fn width() -> usize {
    let names = ROLES.iter().flat_map(|(_, names)| *names);
    names.map(|name| name.len()).max().unwrap_or(0)
}

fn about(program: &Command, name: &str) -> String {
    let about = program.find_subcommand(name).and_then(Command::get_about);
    about.map_or_else(String::new, ToString::to_string)
}

/// The section of the manual page that lists the commands.
pub fn manual_section(program: &Command) -> Roff {
    let indent = (width() + 2).to_string();
    let mut section = Roff::default();
    section.control("SH", ["COMMANDS"]);
    for (role, names) in ROLES {
        section.control("SS", [role]);
        // A line a command, as in the help; `PD` alone puts the distance of paragraphs back.
        section.control("PD", ["0"]);
        for name in names {
            section.control("TP", [indent.as_str()]);
            section.text([bold(*name)]);
            section.text([roman(about(program, name))]);
        }
        section.control("PD", []);
    }
    section
}

/// The subcommands of the program in the order of the list.
pub fn in_order(program: &Command) -> impl Iterator<Item = &Command> {
    let names = ROLES.iter().flat_map(|(_, names)| *names);
    names.filter_map(|name| program.find_subcommand(name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    fn program() -> Command {
        let mut program = crate::Cli::command();
        program.build();
        program
    }

    /// Each command is in exactly one role, and each name in a role is a command.
    #[test]
    fn each_command_has_one_role() {
        let program = program();
        let own = program.get_subcommands().map(Command::get_name).filter(|name| *name != HELP);
        let mut commands: Vec<&str> = own.collect();
        let mut listed: Vec<&str> = ROLES.iter().flat_map(|(_, names)| *names).copied().collect();
        commands.sort_unstable();
        listed.sort_unstable();
        assert_eq!(listed, commands);
    }

    /// Short and long help show every command once, on one line of 80 columns with the description
    /// that clap has.
    #[test]
    fn help_has_a_line_a_command() {
        let mut program = program();
        let help = [program.render_help().to_string(), program.render_long_help().to_string()];
        for help in help {
            for command in in_order(&program) {
                let name = command.get_name();
                let prefix = format!("  {name} ");
                let lines: Vec<&str> = help.lines().filter(|l| l.starts_with(&prefix)).collect();
                assert_eq!(lines.len(), 1, "{name}:\n{help}");
                let described = about(&program, name);
                assert!(!described.is_empty() && lines[0].ends_with(&described), "{}", lines[0]);
                assert!(lines[0].len() <= 80, "{} columns: {}", lines[0].len(), lines[0]);
            }
            assert!(ROLES.iter().all(|(role, _)| help.contains(&format!("\n{role}:\n"))), "{help}");
        }
    }
}
