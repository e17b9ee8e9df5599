//! Programs for the device as texts (PTX): read into instructions that `interpreter` carries out. Whatever it does not know is
//! refused, as a driver refuses a wrong text.

use std::collections::HashMap;

/// A number of so many bits, and what they mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Type {
    Signed(u32),
    Unsigned(u32),
    Float(u32),
    Truth,
}

impl Type {
    fn named(name: &str) -> Option<Type> {
        if name == "pred" {
            return Some(Type::Truth);
        }
        let (kind, bits) = name.split_at_checked(1)?;
        let bits = bits.parse().ok().filter(|bits| [8, 16, 32, 64].contains(bits))?;
        match kind {
            "s" => Some(Type::Signed(bits)),
            "u" | "b" => Some(Type::Unsigned(bits)),
            "f" if bits >= 32 => Some(Type::Float(bits)),
            _ => None,
        }
    }

    pub fn bits(self) -> u32 {
        match self {
            Type::Signed(bits) | Type::Unsigned(bits) | Type::Float(bits) => bits,
            Type::Truth => 1,
        }
    }
}

/// A register by its number, or a constant.
#[derive(Clone, Copy, Debug)]
pub enum Value {
    Register(usize),
    Constant(u64),
    Group,
    Threads,
    Thread,
}

#[derive(Clone, Copy, Debug)]
pub enum Do {
    Move,
    Add,
    Multiply,
    /// All bits of the product of two numbers, each half as long.
    MultiplyWide,
    And,
    Or,
    ExclusiveOr,
    ShiftLeft,
    /// To a longer number.
    Widen,
    Greater,
    NotLess,
    NotSame,
    /// Whether one of them is no number.
    NoNumber,
    /// The first or the second, as the third says.
    Select,
    LoadParameter,
    Load,
    Store,
    Branch,
    Return,
}

#[derive(Clone, Debug)]
pub struct Instruction {
    /// Only if this register is so.
    pub only_if: Option<(usize, bool)>,
    pub what: Do,
    pub of: Type,
    pub to: usize,
    pub from: Vec<Value>,
}

/// A text with one function.
#[derive(Debug)]
pub struct Text {
    pub function: String,
    /// Bytes of each parameter.
    pub parameters: Vec<usize>,
    pub registers: usize,
    pub instructions: Vec<Instruction>,
}

#[derive(Default)]
struct Reader {
    registers: HashMap<String, usize>,
    parameters: HashMap<String, usize>,
    labels: HashMap<String, usize>,
}

/// Reads a text.
pub fn read(text: &str) -> Option<Text> {
    let lines: Vec<&str> = text.lines().map(|line| line.split("//").next().unwrap_or("").trim()).collect();
    let begin = lines.iter().position(|line| line.starts_with(".visible .entry "))?;
    let (open, close) =
        (lines.iter().position(|&line| line == "{")?, lines.iter().position(|&line| line == "}")?);
    let has = |line: &str| lines[..begin].contains(&line);
    if !has(".version 6.3") || !has(".target sm_70") || !has(".address_size 64") {
        return None;
    }
    let (mut reader, mut sizes) = (Reader::default(), Vec::new());
    for line in lines[begin + 1..open].iter().filter(|line| line.starts_with(".param")) {
        let words: Vec<&str> = line.trim_end_matches(',').split_whitespace().collect();
        let [_, kind, name] = words[..] else { return None };
        reader.parameters.insert(name.to_owned(), sizes.len());
        sizes.push(Type::named(kind.strip_prefix('.')?)?.bits() as usize / 8);
    }
    let mut code = Vec::new();
    for line in lines[open + 1..close].iter().filter(|line| !line.is_empty()) {
        if let Some(registers) = line.strip_prefix(".reg ") {
            let (kind, names) = registers.trim_end_matches(';').split_once(' ')?;
            Type::named(kind.strip_prefix('.')?)?;
            for name in names.split(',') {
                let number = reader.registers.len();
                reader.registers.insert(name.trim().to_owned(), number);
            }
        } else if let Some(label) = line.strip_suffix(':') {
            reader.labels.insert(label.to_owned(), code.len());
        } else {
            code.push(line.strip_suffix(';')?);
        }
    }
    let function = lines[begin].strip_prefix(".visible .entry ")?.strip_suffix('(')?.to_owned();
    let instructions = code.into_iter().map(|line| reader.instruction(line)).collect::<Option<_>>()?;
    Some(Text { function, parameters: sizes, registers: reader.registers.len(), instructions })
}

impl Reader {
    fn instruction(&self, line: &str) -> Option<Instruction> {
        let (only_if, line) = match line.strip_prefix('@') {
            Some(rest) => {
                let (register, rest) = rest.split_once(' ')?;
                let name = register.trim_start_matches('!');
                (Some((*self.registers.get(name)?, name == register)), rest)
            }
            None => (None, line),
        };
        let (name, operands) = line.split_once(' ').unwrap_or((line, ""));
        let mut operands = operands.split(',').map(str::trim).filter(|operand| !operand.is_empty());
        if name == "ret" {
            let (what, of) = (Do::Return, Type::Truth);
            return Some(Instruction { only_if, what, of, to: 0, from: Vec::new() });
        }
        if name == "bra" {
            let to = *self.labels.get(operands.next()?)?;
            return Some(Instruction { only_if, what: Do::Branch, of: Type::Truth, to, from: Vec::new() });
        }
        let (what, of) = named(name)?;
        let (to, from) = match what {
            Do::Store => (0, operands.map(|one| self.value(one)).collect::<Option<Vec<_>>>()?),
            _ => {
                let to = *self.registers.get(operands.next()?)?;
                (to, operands.map(|one| self.value(one)).collect::<Option<Vec<_>>>()?)
            }
        };
        let number = match what {
            Do::Move | Do::Widen | Do::Load | Do::LoadParameter => 1,
            Do::Select => 3,
            _ => 2,
        };
        (from.len() == number).then_some(Instruction { only_if, what, of, to, from })
    }

    fn value(&self, name: &str) -> Option<Value> {
        let name = name.trim_matches(['[', ']']);
        Some(match name {
            "%ctaid.x" => Value::Group,
            "%ntid.x" => Value::Threads,
            "%tid.x" => Value::Thread,
            _ => match (self.registers.get(name), self.parameters.get(name)) {
                (Some(&register), _) => Value::Register(register),
                (None, Some(&parameter)) => Value::Constant(parameter as u64),
                (None, None) => Value::Constant(match name.strip_prefix("0x") {
                    Some(digits) => u64::from_str_radix(digits, 16).ok()?,
                    None => name.parse().ok()?,
                }),
            },
        })
    }
}

/// What an instruction does, and to what: the last part of its name is a type.
fn named(name: &str) -> Option<(Do, Type)> {
    let (rest, last) = name.rsplit_once('.')?;
    let of = Type::named(last)?;
    let is_float = matches!(of, Type::Float(_));
    let what = match rest {
        "mov" | "cvta.to.global" => Do::Move,
        "cvt.u64" if of == Type::Unsigned(32) => Do::Widen,
        "add" if !is_float => Do::Add,
        "mul.lo" if !is_float => Do::Multiply,
        // Anything but `.rn` could be fused, or round in other ways.
        "add.rn" if is_float => Do::Add,
        "mul.rn" if is_float => Do::Multiply,
        "mul.wide" if of == Type::Unsigned(32) => Do::MultiplyWide,
        "and" => Do::And,
        "or" => Do::Or,
        "xor" => Do::ExclusiveOr,
        "shl" => Do::ShiftLeft,
        "setp.gt" => Do::Greater,
        "setp.ge" if !is_float => Do::NotLess,
        "setp.ne" if !is_float => Do::NotSame,
        "setp.nan" if is_float => Do::NoNumber,
        "selp" => Do::Select,
        "ld.param" => Do::LoadParameter,
        "ld.global" => Do::Load,
        "st.global" => Do::Store,
        _ => return None,
    };
    Some((what, of))
}
