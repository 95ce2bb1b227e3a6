# What bash offers for the last of the words. Usage: bash --norc complete.bash SCRIPT WORD…
# A line for each candidate; <files> where it is left to the completion of files.
source "$1"
shift
# There is no readline here that the real one could tell.
compopt() { echo "<files>"; }
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
function=$(complete -p "$1" | sed -E 's/.*-F ([^ ]+) .*/\1/')
"$function"
[ ${#COMPREPLY[@]} -eq 0 ] || printf '%s\n' "${COMPREPLY[@]}"
