//! A buffer in which many messages are received: when it can be used anew.
//!
//! A provider says with one completion that it is done with the buffer. Messages of several peers may land in it at the same
//! time, and `net` and `tcp` say so when the message that was *begun* last is complete, though another may still be on its
//! way to a place before it. So the buffer is done with when there is no gap either in which a message may still land.

use super::message_buffers::BEFORE_PAYLOAD;

/// What has landed in a buffer.
#[derive(Debug, Default)]
pub struct Landing {
    /// Messages in it that have not been read.
    waiting: usize,
    /// The provider has said that it is done.
    is_over: bool,
    /// Up to here there is no gap, but for what is too short for a message.
    frontier: usize,
    /// What has landed behind a gap: from where to where.
    beyond: Vec<(usize, usize)>,
}

impl Landing {
    /// A message has landed.
    pub fn landed(&mut self, offset: usize, bytes: usize) {
        self.beyond.push((offset, offset + bytes));
        while let Some(next) =
            self.beyond.iter().position(|&(start, _)| start < self.frontier + BEFORE_PAYLOAD)
        {
            self.frontier = self.frontier.max(self.beyond.swap_remove(next).1);
        }
    }

    /// The provider is done with the buffer.
    pub fn ends(&mut self) {
        self.is_over = true;
    }

    /// A message in it waits to be read.
    pub fn waits(&mut self) {
        self.waiting += 1;
    }

    /// A message has been read.
    pub fn is_read(&mut self) {
        self.waiting -= 1;
    }

    /// Whether nobody uses it any more.
    pub fn is_free(&self) -> bool {
        self.is_over && self.waiting == 0 && self.beyond.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_is_free_when_the_provider_is_done_all_is_read_and_there_is_no_gap() {
        let mut landing = Landing::default();
        landing.landed(0, 100);
        landing.waits();
        // It was begun after another one, which is longer and still on its way.
        landing.landed(1100, 50);
        landing.ends();
        landing.is_read();
        assert!(!landing.is_free(), "a message of 1000 bytes is missing");
        landing.landed(100, 1000);
        assert!(landing.is_free());
        landing.waits();
        assert!(!landing.is_free(), "it is being read");
    }

    #[test]
    fn what_a_provider_leaves_free_between_messages_is_no_gap() {
        let mut landing = Landing::default();
        for message in 0..10 {
            landing.landed(64 * message, 40);
        }
        landing.ends();
        assert!(landing.is_free());
    }
}
