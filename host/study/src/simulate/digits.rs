//! Wide integers as decimal text in JSON: readers that use doubles would lose digits.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

pub fn serialize<S: Serializer>(value: &i128, to: S) -> Result<S::Ok, S::Error> {
    to.collect_str(value)
}

pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<i128, D::Error> {
    String::deserialize(from)?.parse().map_err(D::Error::custom)
}

/// Several of them.
pub mod list {
    use super::*;

    pub fn serialize<S: Serializer, const N: usize>(
        values: &[i128; N],
        to: S,
    ) -> Result<S::Ok, S::Error> {
        values.iter().map(ToString::to_string).collect::<Vec<_>>().serialize(to)
    }

    pub fn deserialize<'de, D: Deserializer<'de>, const N: usize>(
        from: D,
    ) -> Result<[i128; N], D::Error> {
        let words = Vec::<String>::deserialize(from)?;
        let values: Result<Vec<i128>, _> = words.iter().map(|word| word.parse()).collect();
        let values = values.map_err(D::Error::custom)?;
        values
            .try_into()
            .map_err(|values: Vec<_>| D::Error::invalid_length(values.len(), &"moments"))
    }
}
