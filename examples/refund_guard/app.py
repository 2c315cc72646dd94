"""A guard in front of refunds: what code can decide stays code, what it cannot read is asked.

It pays money out, so SURE is high: at 0.6 it paid for "The kettle works, but my neighbour has a
broken one" (0.76 that the goods are broken). At 0.8 it pays for none of the twins in its test;
clear messages still pass, and a person reads the rest.

pip install fastapi uvicorn && uvicorn app:app --app-dir examples/refund_guard

curl 127.0.0.1:8000/refunds --json '{"days_since_delivery": 5, "paid": 40,
  "message": "The kettle arrived broken. I want my money back."}'
"""

from typing import Any

from fastapi import FastAPI
from pydantic import BaseModel, Field

import thisthat
from thisthat import Boolean, Choice

SURE = 0.8  # fit your own on labels: thisthat threshold fit
QUESTIONS = {
    "broken": Boolean("Does the customer say that the goods are broken?"),
    "wish": Choice(
        {
            "refund": "money back",
            "replacement": "a new one instead",
            "repair": "to have it mended",
            "advice": "an answer to a question",
        },
        "What does the customer ask for?",
    ),
}


class Request(BaseModel):
    """A customer's message, and what the shop knows about the order."""

    message: str = Field(min_length=1, max_length=5000)
    days_since_delivery: int = Field(ge=0)
    paid: float = Field(gt=0)


app = FastAPI(title="refunds")
decider = thisthat.open()


@app.post("/refunds")
async def decide(request: Request) -> dict[str, Any]:
    """Pay, refuse, or ask a person; with the probabilities it rests on."""
    decision = await decider.decide_async(request.message, QUESTIONS)
    broken, wish = decision["broken"].yes, decision["wish"]
    if request.days_since_delivery > 30:
        action, reason = "refuse", "delivered more than 30 days ago"
    elif request.paid > 200:
        action, reason = "ask a person", "more than 200 was paid"
    elif wish.best != "refund":
        action, reason = "ask a person", f"wants {wish.best}, not a refund"
    elif broken >= SURE:
        action, reason = "pay", "says that the goods are broken"
    else:
        action, reason = "ask a person", "does not clearly say that the goods are broken"
    return {
        "action": action,
        "reason": reason,
        "broken": round(broken, 3),
        "wish": {name: round(p, 3) for name, p in wish.probabilities.items()},
        "checkpoint": decision.source.version,
    }
