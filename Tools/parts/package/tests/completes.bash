# Prints the completions of bash after a line, with bash-completion, which loads a command's completions on demand.
. /usr/share/bash-completion/bash_completion
COMP_LINE=$1
COMP_POINT=${#1}
read -ra COMP_WORDS <<<"$1"
[[ $1 != *' ' ]] || COMP_WORDS+=('')
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
_completion_loader headgate
"$(complete -p headgate | sed -E 's/.*-F ([^ ]+).*/\1/')"
printf '%s\n' "${COMPREPLY[@]}" | sort | paste -s -d ' '
