"""Made-up mail: labels.csv to fit on, others.csv to judge by, mail.mbox to answer."""

import csv
import mailbox
import random
from email.message import EmailMessage
from pathlib import Path

HERE = Path(__file__).parent
ITEMS = ["desk lamp", "teapot", "garden hose", "rucksack", "kettle"]
ITEMS += ["office chair", "radio", "tent", "bell", "raincoat"]
# Queue, whether money is asked back, text.
MAILS = [
    ("billing", True, "You charged my card twice for the {}. Please pay one of them back."),
    ("billing", True, "I returned the {} two weeks ago and want my money back."),
    ("billing", True, "There are two payments for the {} on my statement. I want one back."),
    ("billing", True, "Please refund the {}, it broke after a day."),
    ("billing", False, "My invoice for the {} shows the wrong amount."),
    ("billing", False, "The discount code was not taken off the price of the {}."),
    ("billing", False, "Could you send me the receipt for the {} again?"),
    ("shipping", False, "Where is my {}? It was due last week."),
    ("shipping", False, "The parcel with the {} was left at the wrong house."),
    ("shipping", False, "The tracking page of the {} has not changed for five days."),
    ("shipping", False, "The {} has not arrived yet."),
    ("shipping", False, "When will the {} be delivered?"),
    ("account", False, "I forgot my password and cannot see my order of the {}."),
    ("account", False, "My account is locked, so I cannot order the {}."),
    ("account", False, "Somebody else logged in to my account and bought the {}."),
]


def write(name: str, rows: list[tuple[str, bool, str]]) -> None:
    """Labels as `thisthat eval` reads them: a column for the state and one for each question."""
    with (HERE / name).open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["id", "state", "refund", "queue"])
        for number, (queue, refund, text) in enumerate(rows, 1):
            writer.writerow([f"m-{number}", text, str(refund).lower(), queue])


def main() -> None:
    """Every mail about every item, in an order that is always the same."""
    rows = [(queue, refund, text.format(item)) for queue, refund, text in MAILS for item in ITEMS]
    random.Random(7).shuffle(rows)
    write("labels.csv", rows[:110])
    write("others.csv", rows[110:])
    path = HERE / "mail.mbox"
    path.unlink(missing_ok=True)
    box = mailbox.mbox(path)
    for number, (_, _, text) in enumerate(rows[110:122], 1):
        message = EmailMessage()
        message["Message-ID"] = f"<{number}@example>"
        message["Subject"] = "Your shop"
        message["From"] = f"customer{number}@example"
        message.set_content(text)
        box.add(mailbox.mboxMessage(message))
    box.close()


if __name__ == "__main__":
    main()
