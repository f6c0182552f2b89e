# What zsh offers behind a line: an interactive one in a terminal of its own, where tab is pressed.
zmodload zsh/zpty
folder=$(mktemp -d)
# The inner shell writes down what matches.
cat >$folder/.zshrc <<'INNER'
autoload -Uz compinit && compinit -u -D
compadd() {
    local -a matches
    builtin compadd -O matches "$@"
    print -l -- $matches >>$ZDOTDIR/offered
    builtin compadd "$@"
}
finish() { touch $ZDOTDIR/end }
zle -N finish
bindkey "^T" finish
touch $ZDOTDIR/begin
INNER

# until_there FILE: meanwhile what the terminal shows is thrown away, so that nothing is held up.
until_there() {
    repeat 300; do
        while zpty -r -t shell output; do :; done
        [[ -e $folder/$1 ]] && return
        sleep 0.1
    done
    print "no $1 came"
}

export ZDOTDIR=$folder
zpty shell zsh -i
until_there begin
zpty -w -n shell "$1"$'\t\x14'
until_there end
zpty -d shell
[[ -e $folder/offered ]] && sort -u $folder/offered | grep . | paste -s -d ' '
rm -rf $folder
