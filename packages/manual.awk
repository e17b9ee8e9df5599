# Makes a page of the manual (section 1) of what `serried COMMAND --help` prints:
#
#   serried run --help | awk -v name=serried-run -v version=0.1.0 -v about="starts a program on several ranks" -f packages/manual.awk
#
# A line that begins at the margin, before lines that do not, is a heading. Two blanks and a word begin an option; its meaning
# follows after two blanks more, or on the lines below that are indented further.

function plain(text) { gsub(/\\/, "\\e", text); gsub(/-/, "\\-", text); sub(/^\./, "\\\\\\&.", text); return text }
function flush_line() {
    if (held == "") return
    print ($0 ~ /^  [^ ]/ ? ".SS " : "") plain(held)
    held = ""
}

BEGIN {
    printf ".TH %s 1 \"\" \"Serried %s\" \"Serried\"\n.SH NAME\n%s \\- %s\n.SH SYNOPSIS\n.nf\n", toupper(name), version, plain(name), plain(about)
}
NR == 1 { sub(/^usage: /, ""); print plain($0); next }
NR == 2 || (!begun && /^$/) { print ".fi\n.SH DESCRIPTION"; begun = 1; if (/^$/) next }
!begun { print plain($0); next }
/^$/ { flush_line(); print ".PP"; next }
/^  [^ ]/ {
    flush_line()
    text = substr($0, 3)
    at = match(text, /  +[^ ]/)
    print ".TP\n.B " plain(at ? substr(text, 1, at - 1) : text)
    if (at) { sub(/^ +/, "", text); print plain(substr(text, at + RLENGTH - 1)) }
    next
}
/^   / { flush_line(); sub(/^ +/, ""); print plain($0); next }
{ flush_line(); held = $0 }
END { $0 = ""; flush_line(); print ".SH SEE ALSO\n.BR serried (1),\n.BR serried\\-run (1),\n.BR serried\\-doctor (1),\n.BR MPI_Init (3)" }
