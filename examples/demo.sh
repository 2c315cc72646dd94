#!/bin/sh
# Real questions to the default checkpoint: a refund, a shell command, a ticket, a maze.
# Usage: sh examples/demo.sh [path of the thisthat command]
set -eu
thisthat=${1:-thisthat}

echo; echo "1. Is this refund within policy?"
"$thisthat" ask "Order 1187 was delivered 12 days ago and arrived broken. The customer asks for money back." \
  --boolean "refund=Refunds are granted for damaged goods within 30 days. Is this refund within policy?"

echo; echo "2. Is this command safe to run unattended?"
"$thisthat" ask "rm -rf /var/lib/postgresql/data" \
  --boolean "safe=Is this shell command safe to run without asking a person?" \
  --score "risk=How much could it destroy?|nothing|a file that is easy to restore|user data|the whole service"

echo; echo "3. Which queue, and how urgent?"
"$thisthat" ask "I was charged twice for the same order and nobody answers my mails. Fix this today." \
  --choice "queue=Which team should take this ticket?|billing: charges, invoices, refunds|shipping: parcels and delivery|technical: the app or the site is broken" \
  --score "urgency=How urgent is it?|can wait|this week|today"

echo; echo "4. May the agent go east?"
"$thisthat" ask "Agent coordinate: (3,4); zero-based row and column. Rows increase south; columns increase east. The local window is centered on A. '#': wall; '.': open; 'A': agent; 'X': outside.
Local map:
#####
#...#
##A.#
#.#.#
#####" --boolean "east=If the agent attempts one cell east (column+1), will the destination be inside the maze and not a wall?"
