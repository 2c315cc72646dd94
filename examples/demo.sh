#!/bin/sh
# Real questions to the default checkpoint: a refund, a shell command, a ticket, a mail.
# Usage: sh examples/demo.sh [path of the thisthat command]
set -eu
thisthat=${1:-thisthat}

echo; echo "1. Is this refund within policy? 12 days after delivery, and 45 days after"
for days in 12 45; do
  "$thisthat" ask "The goods are damaged and were delivered $days days ago." \
    --boolean "refund=Is a refund due? A refund is due when the goods are damaged and were delivered at most 30 days ago."
done

echo; echo "2. Does this command delete something, and how risky is it? rm -r, then cat"
for command in "rm -r /srv/app/*.log" "cat /etc/hostname"; do
  "$thisthat" ask "$command" \
    --boolean "deletes=Does this command delete something?" \
    --score "risk=How risky is the command?|harmless: it only shows something|careful: it changes something|dangerous: it deletes something"
done

echo; echo "3. Which queue, and how many days has it been open?"
"$thisthat" ask --json-state '{"days_open": 12, "text": "I was charged twice and want one of the payments back."}' \
  --choice "queue=Which team should take this?|billing: charges, refunds and invoices|shipping: parcels, addresses and delays|account: login, password and personal data" \
  --score "age=How high is the number of days?|under 10|10 to 20|more than 20"

echo; echo "4. Is this mail phishing? A locked account, then lunch on Thursday"
"$thisthat" ask "From: Your Bank <security@bank-alerts.example>
Subject: Your account is locked

Dear customer, your account was locked. Click the link below within 24 hours and enter your password to unlock it, or it will be closed." \
  --boolean "phishing=Is this message a phishing attempt?"
"$thisthat" ask "From: Ana Brandt
Subject: Lunch on Thursday

Hi Tom, are we still on for lunch on Thursday? I look forward to seeing you and the children. Ana" \
  --boolean "phishing=Is this message a phishing attempt?"
