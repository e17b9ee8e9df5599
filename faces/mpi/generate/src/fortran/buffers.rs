//! Buffers that come as descriptors: sections of arrays, which need not be contiguous. What the wrappers do with
//! them is told in `faces/fortran/src/section`.

use super::library::Style;
use super::passing::{Context, Passed};
use crate::declaration::Argument;
use crate::kind::{Direction, Kind};

/// What C gets of a section that is not contiguous.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way<'a> {
    /// Nothing: only its address counts, or the program has made a mistake.
    Address,
    /// A copy, which is put back after the call.
    Copied,
    /// A copy, which is put back when the request of the call ends.
    Kept,
    /// A datatype instead of the count and the datatype with these names.
    Described(&'a str, &'a str),
}

impl Context<'_> {
    /// A buffer that comes as a descriptor.
    pub(super) fn section(&self, argument: &Argument) -> Passed {
        let name = &argument.name;
        let descriptor = match self.style {
            Style::Bound => "CfiDescriptor",
            Style::Native | Style::Plain => "NativeDescriptor",
        };
        let section = format!("{descriptor}::section({name})");
        let passed = Passed { parameter: format!("{name}: *const {descriptor}"), ..Passed::default() };
        match self.way(argument) {
            Way::Address => Passed { expression: format!("{section}.address()"), ..passed },
            Way::Copied | Way::Kept => Passed {
                before: format!("let mut {name}_k = Copied::new({section});"),
                expression: format!("{name}_k.address()"),
                after: match self.way(argument) == Way::Copied && is_filled(argument) {
                    true => format!("{name}_k.put_back();"),
                    false => String::new(),
                },
                ..passed
            },
            Way::Described(count, datatype) => Passed {
                before: format!(
                    "let described = Described::new(&{section}, i64::from(*{count}), {});\n    \
                     let Some(mut {name}_d) = described else {{ return report(ierror, refused(\"{}\")) }};",
                    self.datatype(datatype),
                    self.declaration.name
                ),
                expression: format!("{name}_d.address"),
                after: format!("{name}_d.free();"),
                ..passed
            },
        }
    }

    /// What C gets for an argument instead of what the program passed: the count or the datatype of a section.
    pub(super) fn replaced(&self, argument: &Argument) -> Option<String> {
        if self.style == Style::Plain {
            return None;
        }
        self.declaration.arguments.iter().find_map(|buffer| match self.way(buffer) {
            Way::Described(count, _) if count == argument.name => {
                Some(format!("{}_d.count as {}", buffer.name, argument.kind.rust_type(self.wide)))
            }
            Way::Described(_, datatype) if datatype == argument.name => {
                Some(format!("{}_d.datatype", buffer.name))
            }
            _ => None,
        })
    }

    /// After a call that succeeded: copies that its request needs.
    pub(super) fn kept(&self) -> String {
        let kept = self.declaration.arguments.iter().filter(|one| self.way(one) == Way::Kept);
        let copies: Vec<String> = kept.map(|one| format!("({}_k, {})", one.name, is_filled(one))).collect();
        match copies.is_empty() || self.style == Style::Plain {
            true => String::new(),
            false => {
                let request = if self.library.is_wide() { "narrow(*request)" } else { "*request" };
                format!("    Kept::until_gone([{}], handles::to_request({request}));\n", copies.join(", "))
            }
        }
    }

    fn datatype(&self, name: &str) -> String {
        let argument = self.declaration.arguments.iter().find(|argument| argument.name == name);
        argument.map_or(String::new(), |argument| self.pass(argument).expression)
    }

    fn way(&self, argument: &Argument) -> Way<'_> {
        let declaration = self.declaration;
        let has = |object: &str| {
            let is = |kind: &Kind| matches!(kind, Kind::Handle(handle) if handle.object().name == object);
            declaration.arguments.iter().any(|argument| is(&argument.kind))
        };
        if !argument.kind.is_buffer() || !has("datatype") || declaration.chapter == "partitioned" {
            return Way::Address;
        }
        let goes_on = has("request") || has("win") || declaration.name.ends_with("_begin");
        if !goes_on {
            return Way::Copied;
        }
        let place = declaration.arguments.iter().position(|other| other.name == argument.name).unwrap_or(0);
        let is_one_message =
            declaration.chapter != "collective" || declaration.name.to_lowercase().contains("bcast");
        match &declaration.arguments[place + 1..] {
            [count, datatype, ..]
                if is_one_message && is_count(&count.kind) && is_datatype(&datatype.kind) =>
            {
                Way::Described(&count.name, &datatype.name)
            }
            _ if has("request") => Way::Kept,
            _ => Way::Address,
        }
    }
}

fn is_filled(argument: &Argument) -> bool {
    argument.kind.name() == "out buffer"
}

fn is_count(kind: &Kind) -> bool {
    ["count", "count?"].contains(&kind.name())
}

fn is_datatype(kind: &Kind) -> bool {
    let is = |handle: &crate::kind::Handle| {
        handle.object().name == "datatype" && handle.direction() == Direction::In
    };
    matches!(kind, Kind::Handle(handle) if is(handle) && !handle.is_array())
}
