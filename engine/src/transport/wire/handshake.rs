//! The handshake of a connection, without the connection: which bytes go and come, and what they prove.
//!
//! The rank that connects says hello: job, ranks, lane and a number that it has never used before. The other
//! says hello too, and proves that it has the key of the job; then the first one does. A proof is about both
//! hellos and about who has said which, so nothing that was overheard can be said once more. A stranger learns
//! nothing and gets no answer, unless it has overheard the name of the job.
//!
//! | from | bytes | |
//! |---|---|---|
//! | who connects | [`HELLO_BYTES`] | its hello |
//! | who is connected to | [`ANSWER_BYTES`] | its hello, its proof |
//! | who connects | [`PROOF_BYTES`] | its proof; frames may follow at once |
//!
//! Two ends of which one seals and the other does not prove themselves all the same, and part then: so both know that they
//! belong together, and can say what is wrong.

use super::proofs::{is_proof, job_of, proof, JOB_BYTES, PROOF_BYTES};
use super::records::Keys;
use crate::job::node_card::{JobKey, NodeDirectory};
use crate::job::node_segment::ALL_LANES;
use crate::transport::network::random_bytes;
use crate::JobRank;

/// Of a hello.
pub const HELLO_BYTES: usize = 80;
/// Of an answer.
pub const ANSWER_BYTES: usize = HELLO_BYTES + PROOF_BYTES;

/// Says that this is a connection of ours, and which form of handshake and frames it has.
const MAGIC: [u8; 8] = *b"serried\x02";
/// The same of a sealed connection.
const SEALED_MAGIC: [u8; 8] = *b"serried\x82";

/// Who this rank is to its peers.
#[derive(Clone, Copy)]
pub struct Identity {
    /// Its rank.
    pub rank: JobRank,
    /// Ranks in the job.
    pub ranks: u32,
    /// Who is where, and the secret of the job.
    pub directory: &'static dyn NodeDirectory,
    /// Its connections are sealed; so are those of its peers, or there are none.
    pub is_sealed: bool,
}

impl Identity {
    fn node_of(&self, rank: JobRank) -> u32 {
        self.directory.place_of(rank).0
    }

    fn magic(&self) -> &'static [u8; 8] {
        if self.is_sealed {
            &SEALED_MAGIC
        } else {
            &MAGIC
        }
    }
}

impl std::fmt::Debug for Identity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Identity")
            .field("rank", &self.rank)
            .field("ranks", &self.ranks)
            .finish_non_exhaustive()
    }
}

/// Why a connection is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// It is none of ours, or of another version.
    NotOurs,
    /// It is one of another job.
    AnotherJob,
    /// A rank that there is not, or that is not this one.
    WrongRank,
    /// It does not have the key.
    NotProven,
}

/// What an end says of itself and of whom it wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Hello {
    /// The name of the end that says it ([`NodeDirectory::name_of`]).
    from: u64,
    /// That of the other end.
    to: u64,
    lane: u8,
}

/// Whether the end that has said this seals its connections.
fn seals(hello: &HelloBytes) -> bool {
    hello[..8] == SEALED_MAGIC
}

type HelloBytes = [u8; HELLO_BYTES];

impl Hello {
    /// As it travels, with a fresh number.
    fn write(&self, key: &JobKey, magic: &[u8; 8]) -> HelloBytes {
        let mut bytes = [0; HELLO_BYTES];
        bytes[..8].copy_from_slice(magic);
        bytes[8..24].copy_from_slice(&job_of(key));
        bytes[24..32].copy_from_slice(&self.from.to_le_bytes());
        bytes[32..40].copy_from_slice(&self.to.to_le_bytes());
        bytes[40] = self.lane;
        bytes[48..].copy_from_slice(&random_bytes::<32>());
        bytes
    }

    /// As it arrived.
    fn read(bytes: &HelloBytes) -> Result<Hello, Refusal> {
        let name = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"));
        let hello = Hello { from: name(24), to: name(32), lane: bytes[40] };
        match bytes[..8] == MAGIC || seals(bytes) {
            true if usize::from(hello.lane) < ALL_LANES => Ok(hello),
            true => Err(Refusal::WrongRank),
            false => Err(Refusal::NotOurs),
        }
    }

    /// Which of these secrets it is about.
    fn key_among(bytes: &HelloBytes, keys: &[JobKey]) -> Result<JobKey, Refusal> {
        let found = keys.iter().find(|key| bytes[8..8 + JOB_BYTES] == job_of(key));
        found.copied().ok_or(Refusal::AnotherJob)
    }
}

/// The parts of a proof or of a key: who proves or sends, and both hellos. All words for that have the same length.
fn parts<'a>(who: &'a [u8], first: &'a HelloBytes, answer: &'a HelloBytes) -> [&'a [u8]; 3] {
    [who, first, answer]
}

const CALLER: &[u8] = b"caller";
const CALLED: &[u8] = b"called";
const OF_CALLER: &[u8] = b"seal-1";
const OF_CALLED: &[u8] = b"seal-2";

/// The end that connects.
#[derive(Debug)]
pub struct Caller {
    hello: HelloBytes,
    said: Hello,
    key: JobKey,
}

impl Caller {
    /// Of a connection to a lane of a peer.
    pub fn new(me: &Identity, peer: JobRank, lane: usize) -> Caller {
        let (from, to) = (me.directory.name_of(me.rank), me.directory.name_of(peer));
        let (said, key) = (Hello { from, to, lane: lane as u8 }, me.directory.key_to(peer));
        Caller { hello: said.write(&key, me.magic()), said, key }
    }

    /// What it says first.
    pub fn hello(&self) -> &[u8] {
        &self.hello
    }

    /// What it says to the answer.
    ///
    /// # Errors
    /// If the answer is not that of the peer.
    pub fn answered(&self, answer: &[u8; ANSWER_BYTES]) -> Result<[u8; PROOF_BYTES], Refusal> {
        let (theirs, proof_of_peer) = answer.split_first_chunk::<HELLO_BYTES>().expect("an answer is longer");
        let answered = Hello::read(theirs)?;
        Hello::key_among(theirs, &[self.key])?;
        if (answered.from, answered.to) != (self.said.to, self.said.from) {
            return Err(Refusal::WrongRank);
        }
        match is_proof(&self.key, &parts(CALLED, &self.hello, theirs), proof_of_peer) {
            true => Ok(proof(&self.key, &parts(CALLER, &self.hello, theirs))),
            false => Err(Refusal::NotProven),
        }
    }

    /// Whether one end seals and the other does not.
    pub fn is_unlike(&self, answer: &[u8; ANSWER_BYTES]) -> bool {
        answer.first_chunk().is_some_and(|theirs| seals(theirs) != seals(&self.hello))
    }

    /// The keys of the connection, if it is sealed.
    pub fn keys(&self, answer: &[u8; ANSWER_BYTES]) -> Option<Keys> {
        let theirs =
            answer.first_chunk::<HELLO_BYTES>().filter(|theirs| seals(theirs) && seals(&self.hello))?;
        let of = |who| proof(&self.key, &parts(who, &self.hello, theirs));
        Some(Keys { out: of(OF_CALLER), into: of(OF_CALLED) })
    }
}

/// The end that is connected to, once it has been said hello to.
#[derive(Debug)]
pub struct Called {
    theirs: HelloBytes,
    own: HelloBytes,
    key: JobKey,
    /// The rank that is connected to.
    to: JobRank,
    said: Hello,
}

/// What a connection is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// The rank that is connected to, one of this node.
    pub to: JobRank,
    /// The rank that has connected.
    pub from: JobRank,
    /// The lane of both.
    pub lane: usize,
}

impl Called {
    /// Of a connection that has said hello.
    ///
    /// # Errors
    /// If it is not one for a rank of this node.
    pub fn new(me: &Identity, theirs: &HelloBytes) -> Result<Called, Refusal> {
        let said = Hello::read(theirs)?;
        let key = Hello::key_among(theirs, &me.directory.keys())?;
        let is_here = |&to: &JobRank| to.0 < me.ranks && me.node_of(to) == me.directory.own_node();
        let to = me.directory.rank_of(said.to).filter(is_here).ok_or(Refusal::WrongRank)?;
        let own = Hello { from: said.to, to: said.from, lane: said.lane };
        Ok(Called { theirs: *theirs, own: own.write(&key, me.magic()), key, to, said })
    }

    /// What it says to that.
    pub fn answer(&self) -> [u8; ANSWER_BYTES] {
        let mut answer = [0; ANSWER_BYTES];
        answer[..HELLO_BYTES].copy_from_slice(&self.own);
        let own = proof(&self.key, &parts(CALLED, &self.theirs, &self.own));
        answer[HELLO_BYTES..].copy_from_slice(&own);
        answer
    }

    /// Whether one end seals and the other does not.
    pub fn is_unlike(&self) -> bool {
        seals(&self.theirs) != seals(&self.own)
    }

    /// The keys of the connection, if it is sealed.
    pub fn keys(&self) -> Option<Keys> {
        let is_sealed = seals(&self.theirs) && seals(&self.own);
        let of = |who| proof(&self.key, &parts(who, &self.theirs, &self.own));
        is_sealed.then(|| Keys { out: of(OF_CALLED), into: of(OF_CALLER) })
    }

    /// What the connection is for, if that is proven.
    ///
    /// # Errors
    /// If it is not, or comes from a rank that there is not.
    pub fn proven(&self, me: &Identity, proof: &[u8; PROOF_BYTES]) -> Result<Wanted, Refusal> {
        if !is_proof(&self.key, &parts(CALLER, &self.theirs, &self.own), proof) {
            return Err(Refusal::NotProven);
        }
        let from = me.directory.rank_of(self.said.from);
        let from = from.filter(|from| from.0 < me.ranks && *from != self.to).ok_or(Refusal::WrongRank)?;
        Ok(Wanted { to: self.to, from, lane: self.said.lane.into() })
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::OfTests;
    use super::*;

    fn identity(rank: u32, key: &JobKey) -> Identity {
        let directory = Box::leak(Box::new(OfTests::new(rank, *key)));
        Identity { rank: JobRank(rank), ranks: 3, directory, is_sealed: false }
    }

    fn first(caller: &Caller) -> &HelloBytes {
        caller.hello().try_into().unwrap()
    }

    #[test]
    fn two_ranks_of_a_job_prove_themselves() {
        let key = JobKey::random().unwrap();
        let (one, other) = (identity(0, &key), identity(2, &key));
        let caller = Caller::new(&one, JobRank(2), 1);
        let called = Called::new(&other, first(&caller)).unwrap();
        let proof = caller.answered(&called.answer()).unwrap();
        let wanted = Wanted { to: JobRank(2), from: JobRank(0), lane: 1 };
        assert_eq!(called.proven(&other, &proof), Ok(wanted));
    }

    #[test]
    fn both_ends_of_a_sealed_connection_have_its_keys_and_no_others() {
        let key = JobKey::random().unwrap();
        let sealed = |rank| Identity { is_sealed: true, ..identity(rank, &key) };
        let (one, other) = (sealed(0), sealed(2));
        let keys = || {
            let caller = Caller::new(&one, JobRank(2), 1);
            let called = Called::new(&other, first(&caller)).unwrap();
            let answer = called.answer();
            let proof = caller.answered(&answer).unwrap();
            called.proven(&other, &proof).unwrap();
            let (mine, theirs) = (caller.keys(&answer).unwrap(), called.keys().unwrap());
            assert!((mine.out, mine.into) == (theirs.into, theirs.out) && mine.out != mine.into);
            assert!(
                proof != mine.out && *answer.last_chunk().unwrap() != mine.into,
                "what is said is no key"
            );
            mine
        };
        assert!(keys() != keys(), "the next connection has others");
    }

    #[test]
    fn one_who_seals_and_one_who_does_not_learn_of_each_other_and_get_no_keys() {
        let key = JobKey::random().unwrap();
        let of = |rank, is_sealed| Identity { is_sealed, ..identity(rank, &key) };
        for (calls, is_called) in [(false, true), (true, false), (true, true), (false, false)] {
            let (one, other) = (of(0, calls), of(2, is_called));
            let caller = Caller::new(&one, JobRank(2), 1);
            let called = Called::new(&other, first(&caller)).unwrap();
            let answer = called.answer();
            called.proven(&other, &caller.answered(&answer).unwrap()).unwrap();
            assert_eq!(
                (caller.is_unlike(&answer), called.is_unlike()),
                (calls != is_called, calls != is_called)
            );
            let have_keys = (caller.keys(&answer).is_some(), called.keys().is_some());
            assert_eq!(have_keys, (calls && is_called, calls && is_called));
            // Nobody on the way can make it look so.
            let mut turned = answer;
            turned[7] ^= 0x80;
            assert_eq!(caller.answered(&turned), Err(Refusal::NotProven));
        }
    }

    #[test]
    fn a_flipped_bit_anywhere_is_found() {
        let key = JobKey::random().unwrap();
        let (one, other) = (identity(0, &key), identity(2, &key));
        let caller = Caller::new(&one, JobRank(2), 0);
        for bit in 0..8 * HELLO_BYTES {
            let mut hello = *first(&caller);
            hello[bit / 8] ^= 1 << (bit % 8);
            let Ok(called) = Called::new(&other, &hello) else { continue };
            assert!(caller.answered(&called.answer()).is_err(), "bit {bit} of the hello");
        }
        let called = Called::new(&other, first(&caller)).unwrap();
        let answer = called.answer();
        for bit in 0..8 * ANSWER_BYTES {
            let mut wrong = answer;
            wrong[bit / 8] ^= 1 << (bit % 8);
            assert!(caller.answered(&wrong).is_err(), "bit {bit} of the answer");
        }
        let proof = caller.answered(&answer).unwrap();
        for bit in 0..8 * PROOF_BYTES {
            let mut wrong = proof;
            wrong[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(called.proven(&other, &wrong), Err(Refusal::NotProven));
        }
    }

    #[test]
    fn what_was_overheard_is_worth_nothing() {
        let key = JobKey::random().unwrap();
        let (one, other) = (identity(0, &key), identity(2, &key));
        let caller = Caller::new(&one, JobRank(2), 0);
        let called = Called::new(&other, first(&caller)).unwrap();
        let proof = caller.answered(&called.answer()).unwrap();
        let again = Called::new(&other, first(&caller)).unwrap();
        assert_eq!(again.proven(&other, &proof), Err(Refusal::NotProven), "a replay");
        let answer = again.answer();
        let echo = answer.last_chunk::<PROOF_BYTES>().unwrap();
        assert_eq!(again.proven(&other, echo), Err(Refusal::NotProven), "its own proof sent back");
    }

    #[test]
    fn who_does_not_belong_here_is_told_from_who_does() {
        let key = JobKey::random().unwrap();
        let me = identity(2, &key);
        let to = |from: &Identity, to: u32| {
            let caller = Caller::new(from, JobRank(to), 0);
            let called = Called::new(&me, first(&caller));
            called.and_then(|called| called.proven(&me, &caller.answered(&called.answer())?)).err()
        };
        assert_eq!(to(&identity(1, &key), 2), None);
        assert_eq!(to(&identity(1, &key), 0), Some(Refusal::WrongRank));
        assert_eq!(to(&identity(2, &key), 2), Some(Refusal::WrongRank), "oneself");
        assert_eq!(to(&identity(3, &key), 2), Some(Refusal::WrongRank), "beyond the job");
        assert_eq!(to(&identity(1, &JobKey::random().unwrap()), 2), Some(Refusal::AnotherJob));
        assert_eq!(Called::new(&me, &[7; HELLO_BYTES]).err(), Some(Refusal::NotOurs));
    }
}
