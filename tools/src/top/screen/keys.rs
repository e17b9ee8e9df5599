//! What keys do.

use super::tables::columns;
use super::{State, View};
use ratatui::crossterm::event::{Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

/// What follows from a key.
#[derive(Debug, PartialEq, Eq)]
pub enum Answer {
    /// Nothing, or something else to draw.
    Nothing,
    /// The end.
    End,
}

/// The keys and what they do, for the help.
pub const HELP: [(&str, &str); 9] = [
    ("q, Esc, Ctrl-C", "end; the job goes on"),
    ("Tab, 1 2 3 4", "next view; ranks, means, memory, traffic"),
    ("left, right", "sort by another column"),
    ("r", "sort the other way round"),
    ("t", "totals instead of rates per second"),
    ("up, down, PgUp, PgDn", "scroll"),
    ("space", "hold the picture, and go on"),
    ("Ctrl-L", "draw everything again"),
    ("?", "this help"),
];

/// Applies an event.
pub fn press(state: &mut State, event: &Event) -> Answer {
    match event {
        Event::Key(key) if key.kind != KeyEventKind::Release => key_pressed(state, key),
        _ => Answer::Nothing,
    }
}

fn key_pressed(state: &mut State, key: &KeyEvent) -> Answer {
    let control = key.modifiers.contains(KeyModifiers::CONTROL);
    if state.help && key.code != KeyCode::Char('c') {
        state.help = false;
        return Answer::Nothing;
    }
    match key.code {
        KeyCode::Char('c') if control => return Answer::End,
        KeyCode::Char('q') | KeyCode::Esc => return Answer::End,
        KeyCode::Tab => turn_to(state, next(state.view)),
        KeyCode::Char('1') => turn_to(state, View::Ranks),
        KeyCode::Char('2') => turn_to(state, View::Means),
        KeyCode::Char('3') => turn_to(state, View::Memory),
        KeyCode::Char('4') => turn_to(state, View::Traffic),
        KeyCode::Char('5') => turn_to(state, View::Files),
        KeyCode::Right => sort_by(state, 1),
        KeyCode::Left => sort_by(state, -1),
        KeyCode::Char('r') => state.reverse = !state.reverse,
        KeyCode::Char('t') => state.totals = !state.totals,
        KeyCode::Char(' ') => state.paused = !state.paused,
        KeyCode::Char('?' | 'h') => state.help = true,
        KeyCode::Up => state.scroll = state.scroll.saturating_sub(1),
        KeyCode::Down => state.scroll += 1,
        KeyCode::PageUp => state.scroll = state.scroll.saturating_sub(10),
        KeyCode::PageDown => state.scroll += 10,
        KeyCode::Home => state.scroll = 0,
        _ => {}
    }
    Answer::Nothing
}

fn next(view: View) -> View {
    match view {
        View::Ranks => View::Means,
        View::Means => View::Memory,
        View::Memory => View::Traffic,
        View::Traffic => View::Files,
        View::Files => View::Ranks,
    }
}

fn turn_to(state: &mut State, view: View) {
    if state.view != view {
        (state.view, state.sort, state.scroll) = (view, 0, 0);
    }
}

fn sort_by(state: &mut State, step: isize) {
    let count = columns(state.view, state.totals).len();
    if count > 0 {
        state.sort = (state.sort + count).wrapping_add_signed(step) % count;
    }
}
