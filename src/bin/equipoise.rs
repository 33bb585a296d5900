//! The command line: one subcommand a variant, each with its arguments and its work in `equipoise::host`.

use std::io::Write;
use std::process::ExitCode;

use clap::{CommandFactory, Parser};
use equipoise::host::simulate::command as simulate;
use equipoise::host::terminal::commands::{custodian, log, say, ward};
use equipoise::host::terminal::{demo, start};
use equipoise::host::{audit, device, normality, pareto, planner, sample};

/// A bedside randomizer for clinical trials: adaptive, and private by proof.
///
/// Alone it runs a virtual device with the bedside screen; without a terminal, the demonstration.
///
/// Exit codes: 0 done, 1 refused by the device, 2 usage, 3 no device.
#[derive(Parser)]
#[command(version, args_conflicts_with_subcommands = true)]
struct Cli {
    #[command(flatten)]
    start: start::StartArgs,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(clap::Subcommand)]
#[allow(clippy::large_enum_variant, reason = "there is one, for as long as the program runs")]
enum Command {
    /// A whole simulated trial over a device's serial line
    Demo(demo::DemoArgs),
    /// The bedside screen on a device: enrol, see the arm, enter outcomes
    Terminal(ward::TerminalArgs),
    /// Enrol a patient and print the arm
    Assign(ward::AssignArgs),
    /// Hand over the outcome of a patient
    Outcome(ward::OutcomeArgs),
    /// Declare that the outcome of a patient will never come
    Lost(ward::LostArgs),
    /// Print the public facts of the trial
    Status(ward::StatusArgs),
    /// Run the device on this machine, with its flash in a file
    Device(device::DeviceArgs),
    /// Hold the privacy of the designs against what they claim
    Audit(audit::AuditArgs),
    /// Make a custodian's key
    Keygen(custodian::KeygenArgs),
    /// Begin a trial on a blank device
    Provision(custodian::ProvisionArgs),
    /// Close the trial: the final look
    Close(custodian::CloseArgs),
    /// Wipe the trial from the device
    Erase(custodian::EraseArgs),
    /// Print the estimates with their intervals
    Report(custodian::ReportArgs),
    /// Run many trials of one or more designs and print their operating characteristics
    Simulate(simulate::Args),
    /// Put the parts of a simulation together, to the bytes that one run would have written
    Merge(simulate::MergeArgs),
    /// Draw regret against error, what privacy costs, or what a rare feature costs
    Pareto(pareto::Args),
    /// Compare the errors of the estimates with the normal law
    Normality(normality::Args),
    /// Find the least epsilon, and an alpha, for a wanted width or share; write the trial file
    Plan(planner::Args),
    /// The log of a terminal
    #[command(subcommand)]
    Log(log::LogCommand),
    /// Draw from the noise laws, for anybody to test them
    Sample(sample::Args),
    /// Print a completion script for a shell
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Print the manual page
    Man,
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    let Some(command) = cli.command else { return start::run(&cli.start) };
    match command {
        Command::Demo(args) => demo::run(&args),
        Command::Terminal(args) => ward::terminal(&args),
        Command::Assign(args) => ward::assign(&args),
        Command::Outcome(args) => ward::outcome(&args),
        Command::Lost(args) => ward::lost(&args),
        Command::Status(args) => ward::status(&args),
        Command::Device(args) => device::run(&args),
        Command::Audit(args) => audit::run(&args),
        Command::Keygen(args) => custodian::keygen(&args),
        Command::Provision(args) => custodian::provision(&args),
        Command::Close(args) => custodian::close(&args),
        Command::Erase(args) => custodian::erase(&args),
        Command::Report(args) => custodian::report(&args),
        Command::Simulate(args) => answer(simulate::run(&args)),
        Command::Merge(args) => answer(simulate::run_merge(&args)),
        Command::Pareto(args) => answer(pareto::run(&args)),
        Command::Normality(args) => answer(normality::run(&args)),
        Command::Plan(args) => answer(planner::run(&args)),
        Command::Log(command) => log::run(&command),
        Command::Sample(args) => sample::run(&args),
        Command::Completions { shell } => completions(shell),
        Command::Man => manual(),
    }
}

/// The exit code, or the reason on standard error and the code for wrong usage.
fn answer(done: Result<ExitCode, impl std::error::Error>) -> ExitCode {
    done.unwrap_or_else(|error| {
        eprintln!("equipoise: {error}");
        ExitCode::from(2)
    })
}

fn completions(shell: clap_complete::Shell) -> ExitCode {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "equipoise", &mut script);
    say(&String::from_utf8_lossy(&script));
    ExitCode::SUCCESS
}

/// One page: the program, then every subcommand.
fn manual() -> ExitCode {
    let mut command = Cli::command();
    command.build();
    let man = clap_mangen::Man::new(command.clone());
    let mut page = Vec::new();
    let mut render = || {
        man.render_title(&mut page)?;
        man.render_name_section(&mut page)?;
        man.render_synopsis_section(&mut page)?;
        man.render_description_section(&mut page)?;
        man.render_options_section(&mut page)?;
        for sub in command.get_subcommands().filter(|sub| sub.get_name() != "help") {
            let man = clap_mangen::Man::new(sub.clone());
            let mut section = Vec::new();
            man.render_synopsis_section(&mut section)?;
            man.render_description_section(&mut section)?;
            man.render_options_section(&mut section)?;
            writeln!(page, ".SH \"EQUIPOISE {}\"", sub.get_name().to_uppercase())?;
            page.write_all(String::from_utf8_lossy(&section).replace(".SH ", ".SS ").as_bytes())?;
        }
        Ok::<_, std::io::Error>(())
    };
    match render() {
        Ok(()) => {
            say(&String::from_utf8_lossy(&page));
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("equipoise: {error}");
            ExitCode::from(2)
        }
    }
}
