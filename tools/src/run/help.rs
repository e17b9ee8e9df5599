//! The help text of `serried run`.

/// What `serried run --help` prints.
pub const TEXT: &str = "\
usage: serried run [OPTION]... PROGRAM [ARGUMENT]... [: [OPTION]... PROGRAM [ARGUMENT]...]...

Starts PROGRAM on several ranks of this machine (also as `mpiexec` or `mpirun`).
A `:` adds another program to the same job.

ranks and places
  -n N                     ranks of the program (also -np, -c); 1 if not said
  --bind-to KIND           none (default), core, numa or socket
  --map-by KIND            core, slot or node (neighbours), numa or socket (in turn)
  --report-bindings        say which rank is bound to which CPUs
  -wdir FOLDER             directory to run in (also --wd)
  -hosts A,B, -f FILE      hosts, or a file of them (also -host, -hostfile, -machinefile): names
                           of this machine only, for jobs on several are not there yet
  -configfile FILE         a file with a program and its options in each line, in the place of
                           `:`; # begins a comment, \\ continues a line

environment (ranks inherit the launcher's)
  -x NAME[=VALUE]          set a variable for all programs (also --set-env)
  -genv NAME VALUE         the same, as Hydra writes it
  -env NAME VALUE          set a variable for this program
  --unset-env NAME         remove a variable
  -genvnone, -envnone      start from an empty environment
  --library-path WHICH     serried (default): programs built against MPICH's or the
                           standard ABI's library find ours first; keep: leave it alone
  --launch-only            the same as --library-path keep: to start programs linked to
                           another MPI

output and input (whole lines, never mixed; rank 0 reads standard input)
  -l                       put [rank] before each line (also --label, -prepend-rank)
  --output tag             put [1,rank]<stdout>: before each line, as Open MPI does
  -prepend-pattern TEXT    put TEXT before each line; %r is the rank, %h the host
  -outfile-pattern FILE    standard output of each rank to a file, such as out.%r
  -errfile-pattern FILE    the same for standard error
  --output-filename FOLDER both, as FOLDER/rank.R/stdout and stderr

end
  --timeout SECONDS        end the job after this time (also MPIEXEC_TIMEOUT)
  --on-deadlock WHAT       when ranks can never go on: report (default) says so and why;
                           abort ends the job as well, with status 123; off
  --report FILE            if something goes wrong, write to FILE what was said of it and the last
                           64 MPI calls of each rank
  --stats                  at the end, show what each rank sent, received and waited for

The exit status is that of the first rank that ended badly: its own, or 128 plus the
signal that killed it; 127 if PROGRAM cannot be started; 124 after --timeout; 1 if all
went well but output could not be written (a full disk), which is told in a line.
Options of other launchers that mean nothing on one machine are accepted and named once.
";
