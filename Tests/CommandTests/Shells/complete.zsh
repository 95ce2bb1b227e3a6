# What zsh offers at the end of a line. Usage: zsh -f complete.zsh SCRIPT LINE
# A line for each candidate, without the quotes that it is inserted with, from a shell on a terminal of its own that is given the line and a tab.
zmodload zsh/zpty
answer=$(mktemp)
zpty shell zsh -f -i
# zpty echoes and the shell prompts: what counts goes into the file.
zpty -w shell "PS1= PS2=; unsetopt beep; LISTMAX=1000; autoload -U compinit; compinit -u -D; source ${(q)1}"
zpty -w shell "compadd() {
  if [[ \${@[1,(i)(-|--)]} == *-(O|A|D)\\ * ]]; then builtin compadd \"\$@\"; return; fi
  local -a found
  builtin compadd -A found \"\$@\"
  (( \$#found )) && print -rl -- \${(Q)found} >> ${(q)answer}
  return 1
}"
zpty -w shell "bindkey '^I' complete-word; print ready >> ${(q)answer}"
until [[ $(<$answer) == *ready* ]]; do zpty -r -t shell > /dev/null 2>&1; sleep 0.02; done
zpty -w -n shell "$2"$'\t'$'\x15'"print end >> ${(q)answer}"$'\n'
until [[ $(<$answer) == *end ]]; do zpty -r -t shell > /dev/null 2>&1; sleep 0.02; done
zpty -d shell
sed '1d; $d' $answer | sort -u
rm -f $answer
