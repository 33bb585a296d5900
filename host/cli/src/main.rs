//! The command line: every subcommand with its arguments, one error type and one map of exit codes
//! ([`error`]).

mod audit;
mod bedside;
mod chart_file;
mod charts;
mod check;
mod consort;
mod coordinator;
mod custodian;
mod demo;
mod device;
mod error;
mod kits;
mod log;
mod plan;
mod pool;
mod progress;
mod qualify;
mod reconcile;
mod records;
mod report;
mod roles;
mod sample;
mod session;
mod simulate;
mod staff;
mod start;
mod values;
mod web;

use std::ffi::OsString;
use std::io::{self, Write};
use std::process::ExitCode;

use clap::{CommandFactory, Parser};

use equipoise_study::output::say;
use equipoise_ward::os;
use equipoise_ward::records::report::Format;
use equipoise_ward::records::text::escaped;
use error::{CliError, finish};

/// A bedside randomizer for clinical trials: adaptive, and private by proof.
///
/// Without a subcommand it runs a virtual device with the bedside screen or page, or the
/// demonstration if there is no terminal.
///
/// Exit codes: 0 done, 1 refused by the device or the log, 2 usage, 3 no device.
#[derive(Parser)]
#[command(name = "equipoise", version, args_conflicts_with_subcommands = true)]
#[command(subcommand_value_name = "COMMAND", help_template = roles::help_template::<Command>())]
struct Cli {
    #[command(flatten)]
    start: start::StartArgs,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(clap::Subcommand)]
#[allow(clippy::large_enum_variant, reason = "one value for as long as the program runs")]
enum Command {
    /// Run a whole simulated trial over a device's serial line
    Demo(demo::DemoArgs),
    /// Show the bedside screen: enrol, see the arm, enter outcomes
    Terminal(bedside::TerminalArgs),
    /// Serve the bedside page to a browser on this machine
    Web(web::WebArgs),
    /// Enrol a patient and print the arm
    Assign(bedside::AssignArgs),
    /// Record the outcome of a patient
    Outcome(bedside::OutcomeArgs),
    /// Give a patient of a blinded trial another kit of the same arm
    Replace(bedside::ReplaceArgs),
    /// Record that the outcome of a patient will never come
    Lost(bedside::PatientArgs),
    /// List the patients whose outcome is missing
    Waiting(coordinator::WaitingArgs),
    /// List every patient of the log with arm, times and notes
    List(coordinator::EnrolmentArgs),
    /// Print arm, times and notes of a patient
    Show(coordinator::ShowArgs),
    /// Write a note on a patient to the log
    Note(coordinator::NoteArgs),
    /// Keep the staff file: who may work at the bedside, with which PIN
    #[command(subcommand, subcommand_value_name = "COMMAND")]
    Staff(staff::StaffCommand),
    /// Check a trial file without a device
    Check(check::CheckArgs),
    /// Print the public facts of the trial
    Status(bedside::StatusArgs),
    /// Run the device on this machine, with its flash in a file
    Device(device::DeviceArgs),
    /// Audit the privacy claims of the designs, and the kit numbers
    ///
    /// Without a method all of them are used; with `--design`, all but `--kits`, which is not about
    /// a design.
    ///
    /// Exit codes: 0 every claim held, 1 a claim was exceeded (that of `interim` or `uniform`, or
    /// of the design named with `--design`) or kit numbers reveal arms, 2 usage. The claim
    /// published for `dp-conse` is known to be exceeded; it counts only when that design is
    /// named.
    Audit(audit::AuditArgs),
    /// Make a custodian's key
    Keygen(custodian::KeygenArgs),
    /// Show a key, prove that a device holds it, read it from paper
    Key(custodian::KeyArgs),
    /// Begin a trial on a blank device
    Provision(custodian::ProvisionArgs),
    /// Close the trial: the final look
    Close(custodian::CloseArgs),
    /// Erase the trial from the device
    Erase(custodian::EraseArgs),
    /// Print the estimates with their intervals
    Report(report::ReportArgs),
    /// Simulate many trials and print their operating characteristics
    Simulate(simulate::SimulateArgs),
    /// Merge the parts of a simulation, as if one run had written them
    Merge(simulate::MergeArgs),
    /// Draw regret against error, the cost of privacy or a rare feature
    Pareto(charts::ParetoArgs),
    /// Compare the errors of the estimates with the normal law
    Normality(charts::NormalityArgs),
    /// Find the patients, effect, epsilon or alpha that reach a target
    Plan(plan::PlannerArgs),
    /// Combine the reports of several devices that ran one trial file
    Pool(pool::PoolArgs),
    /// The kits of a blinded trial: list them, check a list, unblind one
    #[command(subcommand, subcommand_value_name = "COMMAND")]
    Kits(kits::KitsCommand),
    /// Check the log of a terminal, or print its last hash for paper
    #[command(subcommand, subcommand_value_name = "COMMAND")]
    Log(log::LogCommand),
    /// Keep a second copy of log and trial file, and compare it
    #[command(subcommand, subcommand_value_name = "COMMAND")]
    Records(records::RecordsCommand),
    /// Put a device through its checks, with a page for the trial's file
    Qualify(qualify::QualifyArgs),
    /// Compare the hospital's chart with the log and the report
    Reconcile(reconcile::ReconcileArgs),
    /// Draw from the noise laws, for anybody to test them
    Sample(sample::SampleArgs),
    /// Print a completion script for a shell
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Print the manual page
    Man,
}

fn main() -> ExitCode {
    // Before anything is read: any command may come to hold codes, outcomes or a key.
    if let Err(error) = os::forbid_dumps() {
        let why =
            format!("core dumps could not be forbidden, and one could hold outcomes: {error}");
        return finish(Err(CliError::usage(why)), false);
    }
    let cli = match Cli::try_parse_from(with_factors(std::env::args_os().collect())) {
        Ok(cli) => cli,
        Err(error) if error.use_stderr() => {
            // The message repeats what was typed, so it may hold escape sequences.
            eprint!("{}", escaped(&error.render().to_string()));
            return CliError::usage("").exit_code();
        }
        Err(help) => help.exit(),
    };
    let Some(command) = cli.command else { return finish(start::run(&cli.start), false) };
    match command {
        Command::Demo(args) => finish(demo::run(&args), false),
        Command::Terminal(args) => finish(bedside::terminal(&args), false),
        Command::Web(args) => finish(web::web(&args), false),
        Command::Assign(args) => finish(bedside::assign(&args), args.json),
        Command::Outcome(args) => finish(bedside::outcome(&args), args.json),
        Command::Lost(args) => finish(bedside::lost(&args), args.json),
        Command::Replace(args) => finish(bedside::replace(&args), args.json()),
        Command::Waiting(args) => finish(coordinator::waiting(&args), false),
        Command::List(args) => finish(coordinator::list(&args), false),
        Command::Show(args) => finish(coordinator::show(&args), args.json),
        Command::Note(args) => finish(coordinator::note(&args), false),
        Command::Staff(command) => finish(staff::run(&command), false),
        Command::Check(args) => finish(check::check(&args), false),
        Command::Status(args) => finish(bedside::status(&args), args.json),
        Command::Device(args) => finish(device::device(&args), false),
        Command::Audit(args) => finish(audit::audit(&args), false),
        Command::Keygen(args) => finish(custodian::keygen(&args), false),
        Command::Key(args) => finish(custodian::key(&args), false),
        Command::Provision(args) => finish(custodian::provision(&args), false),
        Command::Close(args) => finish(custodian::close(&args), false),
        Command::Erase(args) => finish(custodian::erase(&args), false),
        Command::Report(args) => finish(report::report(&args), args.format == Format::Json),
        Command::Simulate(args) => finish(simulate::simulate(&args), false),
        Command::Merge(args) => finish(simulate::merge_parts(&args), false),
        Command::Pareto(args) => finish(charts::pareto(&args), false),
        Command::Normality(args) => finish(charts::normality(&args), false),
        Command::Plan(args) => finish(plan::plan(&args), false),
        Command::Pool(args) => finish(pool::pool(&args), args.json.as_deref() == Some("-")),
        Command::Kits(command) => finish(kits::run(&command), false),
        Command::Log(command) => finish(log::run(&command), false),
        Command::Records(command) => finish(records::run(&command), false),
        Command::Qualify(args) => finish(qualify::qualify(&args), false),
        Command::Reconcile(args) => finish(reconcile::reconcile(&args), false),
        Command::Sample(args) => finish(sample::sample(&args), false),
        Command::Completions { shell } => finish(completions(shell), false),
        Command::Man => finish(manual(), false),
    }
}

/// Writes `assign CODE --sex f` as `assign CODE --factor sex=f`: the options named after factors
/// depend on the trial file, so they cannot be declared.
fn with_factors(args: Vec<OsString>) -> Vec<OsString> {
    let command = Cli::command();
    let assign = command
        .find_subcommand("assign")
        .filter(|_| args.get(1).is_some_and(|name| name == "assign"));
    let Some(assign) = assign else { return args };
    let known = |name: &str| {
        name == "help" || assign.get_arguments().any(|arg| arg.get_long() == Some(name))
    };
    let mut rewritten = Vec::new();
    let mut args = args.into_iter();
    while let Some(arg) = args.next() {
        let text = arg.to_str().unwrap_or_default();
        let option = text.strip_prefix("--").filter(|option| !option.is_empty());
        let name = option.map(|option| option.split_once('=').map_or(option, |(name, _)| name));
        match (name, option) {
            (Some(name), Some(option)) if !known(name) => {
                rewritten.push("--factor".into());
                let mut level =
                    || args.next().and_then(|level| level.into_string().ok()).unwrap_or_default();
                let pair = if option.contains('=') {
                    option.to_owned()
                } else {
                    format!("{name}={}", level())
                };
                rewritten.push(pair.into());
            }
            _ => rewritten.push(arg),
        }
    }
    rewritten
}

fn completions(shell: clap_complete::Shell) -> Result<(), CliError> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "equipoise", &mut script);
    say(&String::from_utf8_lossy(&script));
    Ok(())
}

fn manual() -> Result<(), CliError> {
    let page = manual_page().map_err(CliError::usage)?;
    say(&String::from_utf8_lossy(&page));
    Ok(())
}

/// One page: the program, its commands by role, then a section a command.
fn manual_page() -> io::Result<Vec<u8>> {
    let mut command = Cli::command();
    command.build();
    let man = clap_mangen::Man::new(command.clone());
    let mut page = Vec::new();
    man.render_title(&mut page)?;
    man.render_name_section(&mut page)?;
    man.render_synopsis_section(&mut page)?;
    man.render_description_section(&mut page)?;
    man.render_options_section(&mut page)?;
    roles::manual_section(&command).to_writer(&mut page)?;
    for sub in roles::in_order(&command) {
        manual_of(sub, &mut page)?;
    }
    Ok(page)
}

/// The section of a command, and those of its subcommands.
fn manual_of(command: &clap::Command, page: &mut Vec<u8>) -> io::Result<()> {
    let man = clap_mangen::Man::new(command.clone());
    let mut section = Vec::new();
    man.render_synopsis_section(&mut section)?;
    man.render_description_section(&mut section)?;
    man.render_options_section(&mut section)?;
    let name = command.get_bin_name().unwrap_or_else(|| command.get_name());
    writeln!(page, ".SH \"{}\"", name.to_uppercase())?;
    page.write_all(String::from_utf8_lossy(&section).replace(".SH ", ".SS ").as_bytes())?;
    let mut subs = command.get_subcommands().filter(|sub| sub.get_name() != roles::HELP);
    subs.try_for_each(|sub| manual_of(sub, page))
}
