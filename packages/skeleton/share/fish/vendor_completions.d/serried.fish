# The words are those of `--help`, so they are always of this version.
function __serried_options
    set -l words (commandline -opc)
    set -l given
    if test (basename $words[1]) = serried
        set given $words[2]
    end
    $words[1] $given --help 2>/dev/null | grep -oE '(^  |[ (])--?[A-Za-z][A-Za-z-]*' | tr -d ' ('
end

complete -c serried -n 'test (count (commandline -opc)) -eq 1' -f \
    -a "(serried help 2>/dev/null | sed -n 's/^  \([a-z]\{1,\}\)  .*/\1/p')"
for command in serried mpiexec mpirun
    complete -c $command -n 'string match -q -- "-*" (commandline -ct)' -f -a '(__serried_options)'
end
