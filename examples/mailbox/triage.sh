#!/bin/sh
# Triage of a mailbox export: how good is it, from which probability on to act, then every mail.
# Usage: sh examples/mailbox/triage.sh OUT [path of the thisthat command] [path of python]
set -eu
here=$(cd "$(dirname "$0")" && pwd)
out=$1 thisthat=${2:-thisthat} python=${3:-python3}
mkdir -p "$out"
cp "$here/labels.csv" "$out/"  # `threshold fit` notes beside the labels how often they were used

echo "1. How often is it right on labelled mail?"
"$thisthat" eval "$here/others.csv" --schema "$here/questions.json"

echo; echo "2. From which probability on may it act? At most one in ten wrong, with 95 % confidence"
"$thisthat" threshold fit "$out/labels.csv" --schema "$here/questions.json" \
  --target "error<=0.1" -o "$out/mail.policy.json"

echo; echo "3. Every mail of the export, with what to do"
"$python" "$here/read_mbox.py" "$here/mail.mbox" > "$out/mail.jsonl"
"$thisthat" batch "$out/mail.jsonl" --schema "$here/questions.json" --id id --state state \
  --policy "$out/mail.policy.json" --format csv -o "$out/answers"
cat "$out"/answers/part-*.csv
