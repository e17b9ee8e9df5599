//! The command that starts an agent on another host.

use crate::run::options::Shell;
use std::ffi::{OsStr, OsString};
use std::path::Path;

/// Names for `-launcher`, and what each runs before the name of a host (`%`: the host goes there) and the command.
const KNOWN: [(&str, &str); 5] = [
    ("ssh", "ssh -x -T -o BatchMode=yes -o ConnectTimeout=30 %"),
    ("rsh", "rsh %"),
    ("slurm", "srun --unbuffered --nodes=1 --ntasks=1 --overlap --mpi=none --nodelist=%"),
    ("sge", "qrsh -inherit %"),
    ("lsf", "blaunch %"),
];

/// A way to run a command on another host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemoteShell(Vec<String>);

impl RemoteShell {
    /// As options say; ssh if they say nothing.
    ///
    /// # Errors
    /// A sentence for the user.
    pub fn wanted(shell: &Shell) -> Result<RemoteShell, String> {
        RemoteShell::named(shell.kind.as_deref().unwrap_or("ssh"), shell.command.as_deref())
    }

    /// By the name of `-launcher`; with the command of `-launcher-exec` in the place of its own.
    ///
    /// # Errors
    /// A sentence for the user.
    pub fn named(name: &str, command: Option<&str>) -> Result<RemoteShell, String> {
        let known = KNOWN.iter().find(|(known, _)| *known == name);
        let (_, words) = known.ok_or_else(|| {
            let names: Vec<&str> = KNOWN.iter().map(|(name, _)| *name).collect();
            format!("-launcher {name}: known are {}", names.join(", "))
        })?;
        let words: Vec<String> = words.split(' ').map(str::to_owned).collect();
        let Some(command) = command else { return Ok(RemoteShell(words)) };
        let mut own: Vec<String> = command.split_whitespace().map(str::to_owned).collect();
        if own.is_empty() {
            return Err("-launcher-exec wants a command".into());
        }
        own.push("%".into());
        Ok(RemoteShell(own))
    }

    /// The words that were given by [`RemoteShell::words`].
    pub fn of_words(words: Vec<String>) -> RemoteShell {
        RemoteShell(words)
    }

    /// Its words, with `%` for the host.
    pub fn words(&self) -> &[String] {
        &self.0
    }

    /// The command line that runs the agent on a host.
    pub fn command(&self, host: &str, serried: &Path) -> Vec<OsString> {
        self.of_command(host, &[serried.as_os_str(), OsStr::new("agent")])
    }

    /// The command line that runs a command on a host.
    pub fn of_command(&self, host: &str, command: &[&OsStr]) -> Vec<OsString> {
        let shell = self.0.iter().map(|word| word.replace('%', host).into());
        shell.chain(command.iter().map(|word| for_a_shell(word))).collect()
    }
}

/// What goes through a shell on the other side needs quotes only if it is strange.
fn for_a_shell(word: &OsStr) -> OsString {
    match word.to_str().is_some_and(|word| !word.is_empty() && word.chars().all(is_plain)) {
        true => word.to_owned(),
        false => format!("'{}'", word.to_string_lossy().replace('\'', "'\\''")).into(),
    }
}

fn is_plain(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || "/._-+@:,=".contains(letter)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(shell: &RemoteShell, serried: &str) -> String {
        let words = shell.command("n2", Path::new(serried));
        words.iter().map(|word| word.to_str().unwrap()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn a_host_is_reached_by_ssh_or_as_the_user_wants_it() {
        let ssh = RemoteShell::named("ssh", None).unwrap();
        assert!(line(&ssh, "/opt/bin/serried").starts_with("ssh -x "));
        assert!(line(&ssh, "/opt/bin/serried").ends_with(" n2 /opt/bin/serried agent"));
        assert!(line(&ssh, "/my files/serried").ends_with(" n2 '/my files/serried' agent"));
        let slurm = RemoteShell::named("slurm", None).unwrap();
        assert!(line(&slurm, "/s").ends_with(" --nodelist=n2 /s agent"));
        let own = RemoteShell::named("ssh", Some("/etc/mpi/kubexec.sh -v")).unwrap();
        assert_eq!(line(&own, "/s"), "/etc/mpi/kubexec.sh -v n2 /s agent");
        assert!(RemoteShell::named("pigeon", None).unwrap_err().contains("known are ssh, rsh"));
        assert!(RemoteShell::named("ssh", Some(" ")).is_err());
        assert_eq!(RemoteShell::of_words(own.words().to_vec()), own);
    }
}
