#!/bin/sh
# Real questions to the default checkpoint: a refund, a shell command, a ticket, a maze.
# Usage: sh examples/demo.sh [path of the thisthat command]
set -eu
thisthat=${1:-thisthat}

echo; echo "1. Is this refund within policy? 12 days after delivery, and 45 days after"
for days in 12 45; do
  "$thisthat" ask "The goods are damaged and were delivered $days days ago." \
    --boolean "refund=Is a refund due? A refund is due when the goods are damaged and were delivered at most 30 days ago."
done

echo; echo "2. May this command run? Not when the program is rm"
for command in "rm -rf" "ls -la"; do
  "$thisthat" ask "[Command policy]
The command must not run exactly when the program is rm.

[Terminal]
Host: db-2
User: ops
Proposed command: $command /var/lib/postgresql/data" \
    --boolean "run=May the command run?" \
    --score "risk=How risky is the command?|harmless: the program is not rm|careful: the program is rm|dangerous: the command runs under sudo"
done

echo; echo "3. Which queue, and how many days has it been open?"
"$thisthat" ask --json-state '{"days_open": 12, "text": "I was charged twice and want one of the payments back."}' \
  --choice "queue=Which team should take this?|billing: charges, refunds and invoices|shipping: parcels, addresses and delays|account: login, password and personal data" \
  --score "age=How high is the number of days?|under 10|10 to 20|more than 20"

echo; echo "4. May the agent go east?"
"$thisthat" ask "Agent coordinate: (3,4); zero-based row and column. Rows increase south; columns increase east. The local window is centered on A. '#': wall; '.': open; 'A': agent; 'X': outside.
Local map:
#####
#...#
##A.#
#.#.#
#####" --boolean "east=If the agent attempts one cell east (column+1), will the destination be inside the maze and not a wall?"
