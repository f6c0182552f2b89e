# Prints the completions of fish after a line.
complete -C"$argv[1]" | string split -f 1 \t | sort | paste -s -d ' '
