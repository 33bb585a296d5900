//! The options of the world: rates as they are named here, all others as
//! [`equipoise_study::simulate::world::KEYS`] describes them.

use clap::{Arg, ArgMatches, Args, Command, FromArgMatches};

use crate::values::{Numbers, instance};
use equipoise_study::simulate::world::{Change, KEYS, Key};
use equipoise_study::simulate::{Instance, World};

/// The mean outcomes of every feature under both arms.
#[derive(Clone, Debug, Args)]
pub struct RateArgs {
    /// Mean outcome (0 to 1) under arm 0: one for all features, or one each, by commas
    #[arg(long, value_name = "P", default_value = "0.35", value_parser = Numbers::shares)]
    #[arg(conflicts_with = "instance")]
    baseline: Numbers,
    /// Effect of arm 1, added to the baseline: one for all features, or one each, by commas
    #[arg(long, value_name = "D", default_value = "0.3", value_parser = Numbers::effects)]
    #[arg(conflicts_with = "instance", allow_hyphen_values = true)]
    effect: Numbers,
    /// Mean outcome under arm 0, by its former name
    #[arg(long, hide = true, value_parser = Numbers::shares)]
    #[arg(conflicts_with_all = ["baseline", "effect", "instance"])]
    p0: Option<Numbers>,
    /// Mean outcome under arm 1, beside --p0
    #[arg(long, hide = true, value_parser = Numbers::shares)]
    #[arg(conflicts_with_all = ["baseline", "effect", "instance"])]
    p1: Option<Numbers>,
    /// A file with the two means of a feature on each line instead
    #[arg(long, value_name = "FILE", value_parser = instance)]
    instance: Option<Instance>,
}

impl RateArgs {
    /// The rates of a plan with this many features.
    pub fn instance(&self, features: u8) -> Instance {
        let effects = self.effect.of(features);
        let usual = Instance::with_effects(self.baseline.of(features), &effects);
        let named = Instance {
            p0: self.p0.as_ref().map_or(usual.p0, |p0| p0.of(features)),
            p1: self.p1.as_ref().map_or(usual.p1, |p1| p1.of(features)),
            drift: 0.0,
        };
        self.instance.clone().unwrap_or(named)
    }
}

/// Every other option of the world.
#[derive(Clone, Debug)]
pub struct KeyArgs(Vec<Change>);

impl KeyArgs {
    /// The world with these rates.
    pub fn world(&self, instance: Instance) -> World {
        let mut world = World::plain(instance);
        self.0.iter().for_each(|change| change.apply(&mut world));
        world
    }
}

fn option(key: &Key) -> Arg {
    let option = Arg::new(key.name).long(key.name).value_name(key.value_name);
    let option = option.help(key.help).default_value(key.default);
    option.allow_negative_numbers(true).value_parser(key.read)
}

impl FromArgMatches for KeyArgs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        Ok(Self(KEYS.iter().filter_map(|key| matches.get_one(key.name).cloned()).collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl Args for KeyArgs {
    fn augment_args(command: Command) -> Command {
        command.args(KEYS.iter().map(option))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}
