//! The value of a constant in one ABI, as the ABI's file writes it.

use crate::Problem;

/// A value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// A number, kept as written (hexadecimal or decimal).
    Number(String),
    /// The name of another constant.
    Alias(String),
    /// `&symbol=number`: a predefined handle that is the address of an exported
    /// object; the number is its Fortran integer.
    Object(String, u32),
    /// `@symbol`: the address that an exported pointer of this name holds, or that
    /// of an exported function.
    Exported(String),
    /// `(value)`: the ABI has no such constant; bodies get this value instead.
    Hidden(Box<Value>),
    /// `-`: the ABI has no such constant, and no body needs it.
    None,
}

impl Value {
    /// Reads a value.
    ///
    /// # Errors
    /// A word that is none.
    pub fn parse(word: &str) -> Result<Value, Problem> {
        if let Some(inner) = word.strip_prefix('(').and_then(|rest| rest.strip_suffix(')')) {
            return Value::parse(inner).map(|value| Value::Hidden(Box::new(value)));
        }
        if let Some(object) = word.strip_prefix('&') {
            let problem = || format!("`{word}` is no `&object=number` with a number below 128");
            let (symbol, number) = object.split_once('=').ok_or_else(problem)?;
            let number = number.parse().ok().filter(|number| *number < 128).ok_or_else(problem)?;
            return Ok(Value::Object(symbol.to_string(), number));
        }
        if let Some(symbol) = word.strip_prefix('@') {
            return Ok(Value::Exported(symbol.to_string()));
        }
        match word {
            "-" => Ok(Value::None),
            _ if word.starts_with("MPI") => Ok(Value::Alias(word.to_string())),
            _ if is_number(word) => Ok(Value::Number(word.to_string())),
            _ => Err(format!("`{word}` is no value")),
        }
    }

    /// What programs see: nothing of what only bodies get.
    pub fn visible(&self) -> &Value {
        match self {
            Value::Hidden(_) => &Value::None,
            _ => self,
        }
    }

    /// What bodies get.
    pub fn for_bodies(&self) -> &Value {
        match self {
            Value::Hidden(value) => value,
            _ => self,
        }
    }
}

fn is_number(word: &str) -> bool {
    let digits = word.strip_prefix('-').unwrap_or(word);
    match digits.strip_prefix("0x") {
        Some(digits) => i64::from_str_radix(digits, 16).is_ok(),
        None => digits.parse::<i64>().is_ok(),
    }
}
