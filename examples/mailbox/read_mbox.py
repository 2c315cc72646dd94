"""An mbox file as JSON lines for `thisthat batch`: python read_mbox.py mail.mbox > mail.jsonl"""

import json
import mailbox
import sys

for message in mailbox.mbox(sys.argv[1], create=False):
    part = message
    if message.is_multipart():
        part = next(each for each in message.walk() if each.get_content_type() == "text/plain")
    text = part.get_payload(decode=True).decode(part.get_content_charset() or "utf-8", "replace")
    print(json.dumps({"id": message["message-id"], "state": text.strip()}, ensure_ascii=False))
