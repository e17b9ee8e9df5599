//! The help text of `serried run`.

/// What `serried run --help` prints.
pub const TEXT: &str = "\
usage: serried run [OPTION]... PROGRAM [ARGUMENT]... [: [OPTION]... PROGRAM [ARGUMENT]...]...

Starts PROGRAM on several ranks, here or on other hosts (also as `mpiexec` or `mpirun`).
A `:` adds another program to the same job.

ranks and places
  -n N                     ranks of the program (also -np, -c); if not said, 1, or one for each
                           slot of the hosts
  --bind-to KIND           none (default), core, numa or socket; unbound ranks get their share of
                           CPUs in OPENBLAS_NUM_THREADS and others, if nothing is set
  --map-by KIND            core or slot (neighbours), numa or socket (in turn), node (hosts in turn)
  --report-bindings        say which rank is bound to which CPUs
  -wdir FOLDER             directory to run in (also --wd)

hosts (docs/clusters.md)
  --hosts A,B:4            hosts, with their slots (also -host, -H); without it the hosts that Slurm,
                           PBS, LSF or Grid Engine has given, else this machine
  --hostfile FILE          the same from a file: `host:4` or `host slots=4` a line (also -f, -machinefile)
  -ppn N                   ranks on each host
  -localonly               this machine, whatever the batch system says
  -launcher KIND           how to reach a host: ssh (default), slurm, sge, lsf, rsh
  -launcher-exec COMMAND   a command in its place, which gets a host and a command line
  --agent-path FILE        where `serried` is on the hosts, if not where it is here
  --host-timeout SECONDS   after so long a silent host is given up (10); it is named after 3
  --fanout N               how many agents one process starts (32)

containers that a daemon has started, on one machine (docs/clusters.md)
  --meet FOLDER            this is one of several `serried run` that are one job: they meet in a folder that all
                           of them have; -n is the number of ranks that this one starts
  --parties N              how many there are (also --containers)
  --party I                which of them this is, from 0; without it in the order in which they come
  --job NAME               a name, if several jobs meet in one folder
  --meet-timeout SECONDS   how long to wait for the others (120)

programs
  -configfile FILE         a file with a program and its options in each line, in the place of
                           `:`; # begins a comment, \\ continues a line

environment (ranks inherit the launcher's)
  -x NAME[=VALUE]          set a variable for all programs (also --set-env)
  -genv NAME VALUE         the same, as Hydra writes it
  -env NAME VALUE          set a variable for this program
  --unset-env NAME         remove a variable
  -genvnone, -envnone      start from an empty environment
  --memory-alloc-kinds KINDS   kinds of memory to ask for, such as system,cuda:device: what is there
                           of them is in mpi_memory_alloc_kinds
  --initial-errhandler NAME    the error handler with which MPI begins: mpi_errors_are_fatal, mpi_errors_abort
                           or mpi_errors_return
  --max-slowdown PERCENT   ranks that wait sleep only so much that being woken too late costs PERCENT of
                           the time at most; 0: they never sleep
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
  --on-failure WHAT        when a rank fails: abort (default) ends the job; continue tells the other
                           ranks, whose calls that need it return MPIX_ERR_PROC_FAILED (also
                           --with-ft ulfm, --enable-recovery)
  --restarts N             if a rank dies or a host is lost, start the job again, N times at most, on the
                           hosts that are left; ranks read in SERRIED_RESTART how often that was
  --report FILE            if something goes wrong, write to FILE what was said of it and the last
                           64 MPI calls of each rank
  --stats                  at the end, show what each rank sent, received and waited for, how often it
                           slept and was late, its CPU time, and the energy used, where that can be read

The exit status is that of the first rank that ended badly: its own, or 128 plus the
signal that killed it; 127 if PROGRAM or a host cannot be started; 125 if a host is lost;
124 after --timeout; 1 if all went well but output could not be written (a full disk),
which is told in a line.
Options of other launchers that mean nothing here are accepted and named once.
";
