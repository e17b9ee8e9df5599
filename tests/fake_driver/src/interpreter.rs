//! Carries out a text, thread by thread, as the language says. A floating point number that is none comes out as one that no
//! processor makes, since the language does not promise which it is.

use crate::memory::Memory;
use crate::texts::{Do, Instruction, Text, Type, Value};
use crate::{Answer, LAUNCH_FAILED, MISALIGNED_ADDRESS};
use std::ffi::c_void;
use std::sync::Arc;

/// Instructions of a thread at most: then it is taken to hang.
const MOST: usize = 10_000;
const NO_SINGLE: u32 = 0x7fff_ffff;
const NO_DOUBLE: u64 = 0x7fff_ffff_ffff_ffff;

/// A launch of a text, with what its parameters were then.
pub struct Run {
    text: Arc<Text>,
    parameters: Vec<u64>,
    blocks: u64,
    threads: u64,
}

/// What a thread does with memory.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Doing {
    All,
    /// It poisons what it will write.
    Poison(u8),
}

impl Run {
    /// # Safety
    /// There are as many parameters as the text declares.
    pub unsafe fn new(text: Arc<Text>, (blocks, threads): (u64, u64), parameters: *mut *mut c_void) -> Run {
        let read = |(place, &bytes): (usize, &usize)| {
            let mut value = [0u8; 8];
            // SAFETY: by the caller.
            unsafe {
                let from = parameters.add(place).read().cast::<u8>();
                std::ptr::copy_nonoverlapping(from, value.as_mut_ptr(), bytes);
            }
            u64::from_le_bytes(value)
        };
        let parameters = text.parameters.iter().enumerate().map(read).collect();
        Run { text, parameters, blocks, threads }
    }

    /// Runs it; with `wrong`, one thread writes something else.
    ///
    /// # Safety
    /// By who has started it, all that it reads and writes is there.
    pub unsafe fn run(&self, memory: &Memory, wrong: bool) -> Result<(), Answer> {
        // SAFETY: by the caller.
        unsafe { self.all(memory, Doing::All, wrong) }
    }

    /// Poisons what it will write and does not read.
    ///
    /// # Safety
    /// As [`Run::run`].
    pub unsafe fn poison(&self, memory: &Memory, poison: u8) {
        // SAFETY: by the caller. What is wrong shows when it is run.
        let _ = unsafe { self.all(memory, Doing::Poison(poison), false) };
    }

    unsafe fn all(&self, memory: &Memory, doing: Doing, wrong: bool) -> Result<(), Answer> {
        let mut registers = vec![0u64; self.text.registers];
        for group in 0..self.blocks {
            for thread in 0..self.threads {
                registers.fill(0);
                let at = Thread { run: self, memory, doing, group, thread, wrong: wrong && thread == 3 };
                // SAFETY: by the caller.
                unsafe { at.run(&mut registers)? };
            }
        }
        Ok(())
    }
}

struct Thread<'a> {
    run: &'a Run,
    memory: &'a Memory,
    doing: Doing,
    group: u64,
    thread: u64,
    wrong: bool,
}

impl Thread<'_> {
    unsafe fn run(&self, registers: &mut [u64]) -> Result<(), Answer> {
        let (mut next, code) = (0, &self.run.text.instructions);
        let mut read: Vec<u64> = Vec::new();
        for _ in 0..MOST {
            let Some(one) = code.get(next) else { return Ok(()) };
            next += 1;
            if one.only_if.is_some_and(|(register, so)| (registers[register] != 0) != so) {
                continue;
            }
            match one.what {
                Do::Return => return Ok(()),
                Do::Branch => next = one.to,
                Do::Load => {
                    let address = self.value(registers, one.from[0]);
                    read.push(address);
                    // SAFETY: by the caller.
                    registers[one.to] = unsafe { self.load(address, one.of)? };
                }
                Do::Store => {
                    let address = self.value(registers, one.from[0]);
                    let value = self.value(registers, one.from[1]);
                    if self.doing == Doing::All || !read.contains(&address) {
                        // SAFETY: by the caller.
                        unsafe { self.store(address, one.of, value)? };
                    }
                }
                _ => registers[one.to] = self.compute(one, registers),
            }
        }
        Err(LAUNCH_FAILED)
    }

    fn value(&self, registers: &[u64], value: Value) -> u64 {
        match value {
            Value::Register(register) => registers[register],
            Value::Constant(constant) => constant,
            Value::Group => self.group,
            Value::Threads => self.run.threads,
            Value::Thread => self.thread,
        }
    }

    fn place(&self, address: u64, of: Type) -> Result<(usize, usize), Answer> {
        let bytes = of.bits() as usize / 8;
        if !address.is_multiple_of(bytes as u64) {
            return Err(MISALIGNED_ADDRESS);
        }
        Ok((self.memory.for_program(address as usize, bytes)?, bytes))
    }

    unsafe fn load(&self, address: u64, of: Type) -> Result<u64, Answer> {
        let (place, bytes) = self.place(address, of)?;
        let mut value = [0u8; 8];
        // SAFETY: memory that the driver has.
        unsafe { std::ptr::copy_nonoverlapping(place as *const u8, value.as_mut_ptr(), bytes) };
        let value = u64::from_le_bytes(value);
        Ok(match of {
            // A register is longer: the sign fills it.
            Type::Signed(bits) => signed(value, bits) as u64,
            _ => value,
        })
    }

    unsafe fn store(&self, address: u64, of: Type, value: u64) -> Result<(), Answer> {
        let (place, bytes) = self.place(address, of)?;
        let value = match self.doing {
            Doing::All => (value ^ u64::from(self.wrong)).to_le_bytes(),
            Doing::Poison(poison) => [poison; 8],
        };
        // SAFETY: memory that the driver has.
        unsafe { std::ptr::copy_nonoverlapping(value.as_ptr(), place as *mut u8, bytes) };
        Ok(())
    }

    fn compute(&self, one: &Instruction, registers: &[u64]) -> u64 {
        let from = |place: usize| cut(self.value(registers, one.from[place]), one.of.bits());
        let result = match one.what {
            Do::LoadParameter => self.run.parameters[self.value(registers, one.from[0]) as usize],
            Do::Select => {
                let chosen = self.value(registers, one.from[2]) != 0;
                from(usize::from(!chosen))
            }
            Do::Move | Do::Widen => from(0),
            Do::MultiplyWide => return from(0).wrapping_mul(from(1)),
            Do::ShiftLeft => from(0).checked_shl(from(1) as u32).unwrap_or(0),
            Do::And => from(0) & from(1),
            Do::Or => from(0) | from(1),
            Do::ExclusiveOr => from(0) ^ from(1),
            Do::Add | Do::Multiply => arithmetic(one, from(0), from(1)),
            _ => return u64::from(compare(one, from(0), from(1))),
        };
        cut(result, one.of.bits())
    }
}

fn cut(value: u64, bits: u32) -> u64 {
    value & (u64::MAX >> (64 - bits))
}

fn signed(value: u64, bits: u32) -> i64 {
    ((value << (64 - bits)) as i64) >> (64 - bits)
}

fn arithmetic(one: &Instruction, left: u64, right: u64) -> u64 {
    let adds = matches!(one.what, Do::Add);
    match one.of {
        Type::Float(32) => {
            let (left, right) = (f32::from_bits(left as u32), f32::from_bits(right as u32));
            let result = if adds { left + right } else { left * right };
            u64::from(if result.is_nan() { NO_SINGLE } else { result.to_bits() })
        }
        Type::Float(_) => {
            let (left, right) = (f64::from_bits(left), f64::from_bits(right));
            let result = if adds { left + right } else { left * right };
            if result.is_nan() {
                NO_DOUBLE
            } else {
                result.to_bits()
            }
        }
        _ if adds => left.wrapping_add(right),
        _ => left.wrapping_mul(right),
    }
}

fn compare(one: &Instruction, left: u64, right: u64) -> bool {
    let order = match one.of {
        Type::Float(32) => f32::from_bits(left as u32).partial_cmp(&f32::from_bits(right as u32)),
        Type::Float(_) => f64::from_bits(left).partial_cmp(&f64::from_bits(right)),
        Type::Signed(bits) => Some(signed(left, bits).cmp(&signed(right, bits))),
        Type::Unsigned(_) | Type::Truth => Some(left.cmp(&right)),
    };
    match one.what {
        Do::NoNumber => order.is_none(),
        Do::Greater => order.is_some_and(std::cmp::Ordering::is_gt),
        Do::NotLess => order.is_some_and(std::cmp::Ordering::is_ge),
        _ => order.is_none_or(std::cmp::Ordering::is_ne),
    }
}
