//! Jobs on several hosts: which hosts, who runs where, and the tree of agents that start and watch the ranks there.
//!
//! ```text
//! launcher ── ssh ── agent of n1 ── ranks
//!        └─── ssh ── agent of n2 ── ranks
//!                         └─ ssh ── agent of n34 ── ranks     (from 33 hosts on)
//! ```
//!
//! The launcher decides everything, as it does on one machine. It sees the ranks of other hosts through a mirror of their
//! pages, which lies in a node segment like any other. An agent starts ranks, passes on what they write and how they
//! end, and ends them; and it ends all of them when it loses the launcher.

pub mod agent_plan;
pub mod allocation;
pub mod branches;
pub mod children;
pub mod choice;
pub mod codec;
pub mod crew;
pub mod dealing;
pub mod host_list;
pub mod job_hosts;
pub mod link;
pub mod muster;
pub mod orders;
pub mod paths;
pub mod remote_shell;
pub mod silence;
pub mod this_host;
