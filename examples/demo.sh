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

echo; echo "2. Is this command safe to run unattended?"
"$thisthat" ask "rm -rf /var/lib/postgresql/data" \
  --boolean "safe=Is this shell command safe to run without asking a person?" \
  --score "risk=How much could it destroy?|nothing|a file that is easy to restore|user data|the whole service"

echo; echo "3. Which queue, and how urgent?"
"$thisthat" ask "I was charged twice for order 1187 and want one of the payments back." \
  --choice "queue=Which team should take this?|billing: charges, refunds and invoices|shipping: parcels, addresses and delays|account: login, password and personal data" \
  --score "urgency=How urgent is it?|can wait|this week|today"

echo; echo "4. May the agent go east?"
"$thisthat" ask "Agent coordinate: (3,4); zero-based row and column. Rows increase south; columns increase east. The local window is centered on A. '#': wall; '.': open; 'A': agent; 'X': outside.
Local map:
#####
#...#
##A.#
#.#.#
#####" --boolean "east=If the agent attempts one cell east (column+1), will the destination be inside the maze and not a wall?"
