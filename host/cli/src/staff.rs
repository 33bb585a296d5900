//! `equipoise staff add`, `remove`, `role`, `pin` and `list`: who may work at the bedside.

use std::io::IsTerminal;
use std::path::{Path, PathBuf};

use super::error::CliError;
use super::session::TrialArgs;
use equipoise::wire::FileDigest;
use equipoise_study::output::say;
use equipoise_ward::bedside::ask_pin::typed_pin;
use equipoise_ward::records::pin::Pin;
use equipoise_ward::records::place;
use equipoise_ward::records::signing::role_for;
use equipoise_ward::records::staff::{Person, Role, Staff};
use equipoise_ward::records::table::Table;

/// `equipoise staff`
#[derive(Debug, clap::Subcommand)]
pub enum StaffCommand {
    /// Add a person; their PIN of 6 to 12 digits is read from standard input
    ///
    /// The first person makes the staff file and must have the role coordinate. Later a coordinator
    /// is named with --operator, and their PIN comes first.
    Add(AddArgs),
    /// Remove a person
    Remove(PersonArgs),
    /// Give a person other roles
    Role(RoleArgs),
    /// Give a person another PIN, read from standard input after the coordinator's
    Pin(PersonArgs),
    /// List everybody with id, name and roles
    List(TrialArgs),
}

/// Which staff file, kept by whom.
#[derive(Debug, clap::Args)]
pub struct KeeperArgs {
    #[command(flatten)]
    trial: TrialArgs,
    /// Short id of the coordinator, whose PIN is read from standard input
    #[arg(long, value_name = "ID")]
    operator: Option<String>,
}

/// `equipoise staff add`
#[derive(Debug, clap::Args)]
pub struct AddArgs {
    /// Short id: up to 8 letters, digits or -
    id: String,
    /// Full name
    name: String,
    /// Roles by commas: enrol, outcome, coordinate, unblind
    #[arg(long, value_delimiter = ',', required = true)]
    role: Vec<Role>,
    #[command(flatten)]
    keeper: KeeperArgs,
}

/// `equipoise staff remove` and `equipoise staff pin`
#[derive(Debug, clap::Args)]
pub struct PersonArgs {
    /// Short id
    id: String,
    #[command(flatten)]
    keeper: KeeperArgs,
}

/// `equipoise staff role`
#[derive(Debug, clap::Args)]
pub struct RoleArgs {
    /// Short id
    id: String,
    /// Roles by commas: enrol, outcome, coordinate, unblind
    #[arg(value_delimiter = ',', required = true)]
    role: Vec<Role>,
    #[command(flatten)]
    keeper: KeeperArgs,
}

/// Runs one of them.
///
/// # Errors
/// The staff file cannot be used, or the change is not allowed; nothing changed.
pub fn run(command: &StaffCommand) -> Result<(), CliError> {
    match command {
        StaffCommand::Add(args) => add(args),
        StaffCommand::Remove(args) => {
            change(&args.keeper, |staff| staff.remove(&args.id).map(drop))
        }
        StaffCommand::Role(args) => {
            change(&args.keeper, |staff| staff.set_roles(&args.id, &args.role))
        }
        StaffCommand::Pin(args) => change(&args.keeper, |staff| {
            let old = staff.person(&args.id).cloned();
            let old = old.ok_or_else(|| format!("there is nobody with the id {:?}", args.id))?;
            let pin = ask_pin(&format!("new PIN of {}", old.id)).map_err(|e| e.to_string())?;
            let new = Person::new(&old.id, &old.name, &old.roles, &pin);
            staff.replace(new.map_err(|error| error.to_string())?);
            Ok(())
        }),
        StaffCommand::List(args) => list(args),
    }
}

fn path(args: &TrialArgs) -> Result<PathBuf, CliError> {
    let trial = args.read()?;
    Ok(place::staff(FileDigest(trial.digest()), args.trial.as_deref())?)
}

fn read(path: &Path) -> Result<Staff, CliError> {
    Staff::read(path)?.ok_or_else(|| {
        CliError::usage(format!(
            "there is no staff file {}: equipoise staff add makes it",
            path.display()
        ))
    })
}

fn add(args: &AddArgs) -> Result<(), CliError> {
    let path = path(&args.keeper.trial)?;
    let person = || {
        let pin = ask_pin(&format!("PIN of {}", args.id))?;
        Ok::<_, CliError>(Person::new(&args.id, &args.name, &args.role, &pin)?)
    };
    if path.exists() {
        return change(&args.keeper, |staff| {
            staff.insert(person().map_err(|error| error.to_string())?)
        });
    }
    Staff::begin(person()?).map_err(CliError::usage)?.write(&path)?;
    say(&format!("{}: made, {} {} may sign in\n", path.display(), args.id, args.name));
    Ok(())
}

/// Changes the file in the name of a coordinator.
fn change(
    keeper: &KeeperArgs,
    change: impl FnOnce(&mut Staff) -> Result<(), String>,
) -> Result<(), CliError> {
    let path = path(&keeper.trial)?;
    let mut staff = read(&path)?;
    let id = keeper
        .operator
        .as_ref()
        .ok_or_else(|| CliError::usage("say which coordinator changes the staff: --operator ID"))?;
    let coordinator = staff.person(id).cloned().ok_or_else(|| {
        CliError::refused(format!("the staff file has nobody with the id {id:?}"))
    })?;
    role_for(&coordinator, &[Role::Coordinate])?;
    if !coordinator.knows(&ask_pin(&format!("PIN of {id}"))?)? {
        return Err(CliError::refused(format!("the PIN of {id} is wrong; nothing changed")));
    }
    change(&mut staff).map_err(CliError::usage)?;
    staff.write(&path)?;
    say(&format!("{}: changed, {} people\n", path.display(), staff.people().len()));
    Ok(())
}

fn list(args: &TrialArgs) -> Result<(), CliError> {
    let staff = read(&path(args)?)?;
    let rows = staff.people().iter().map(|person| {
        let roles: Vec<&str> = person.roles.iter().map(|role| role.name()).collect();
        vec![person.id.clone(), person.name.clone(), roles.join(", ")]
    });
    say(&Table::new(&["id", "name", "roles"], rows).aligned());
    Ok(())
}

/// Reads a PIN: without an echo from a terminal, otherwise a line of standard input.
///
/// # Errors
/// Standard input ended.
pub fn ask_pin(prompt: &str) -> Result<Pin, CliError> {
    let unusable = |error: std::io::Error| CliError::usage(format!("standard input: {error}"));
    if std::io::stdin().is_terminal() {
        return typed_pin(prompt).map_err(unusable);
    }
    let mut line = String::new();
    if std::io::stdin().read_line(&mut line).map_err(unusable)? == 0 {
        return Err(CliError::usage(format!("standard input ended before the {prompt}")));
    }
    let pin = Pin::typed(&line);
    equipoise_ward::records::pin::forget(line);
    Ok(pin)
}
