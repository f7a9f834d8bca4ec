#!/bin/sh
# man_test.sh LANGEVIN PAGE: the manual page knows every command and every option of the program.
set -eu
langevin=$1 page=$2
text=$(sed -e 's/\\f[A-Z]//g' -e 's/\\-/-/g' "$page")
commands=$("$langevin" help | sed -n 's/^  \([a-z][a-z]*\)  *[^ ].*/\1/p' | grep -v '^langevin$')
test "$(echo "$commands" | wc -l)" -ge 5 || { echo "too few commands found"; exit 1; }
missing=0
for command in $commands; do
  echo "$text" | grep -qx "\.SS $command" || { echo "no section for the command $command"; missing=1; }
  # an option's line begins with blanks and a dash
  for option in $("$langevin" help "$command" | sed -n 's/^  *\(-[a-z], \)\{0,1\}\(--[a-z][a-z0-9-]*\).*/\2/p'); do
    echo "$text" | sed -n "/^\.SS $command\$/,/^\.S[SH] /p" | grep -q -e "$option" ||
      test "$option" = --help || { echo "$command: the option $option is missing"; missing=1; }
  done
done
exit $missing
