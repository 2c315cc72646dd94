"""Score: how well does a piece of content keep to the length and format policy?"""

from __future__ import annotations

from thisthat_lab.suites.records.fields import read_types
from thisthat_lab.suites.records.ratings import RatingWording, rating_family

TYPES = read_types(
    """
blog draft BD: words # 100-3000/20 | headings # 0-15 | images # 0-12 | image text ~ complete ? |
  links # 0-30 | reading level # 4-16 | tone = formal, casual, playful, neutral | spell check ~
  passed ?
product description PD: characters # 40-900/10 | bullet points # 0-12 | title words # 2-20 | price
  ~ mentioned ? | keyword uses # 0-10 | language = English, Danish, Turkish, Malay | exclamation
  marks # 0-8 | size table ~ included ?
newsletter NL: subject length # characters 10-90 | sections # 1-12 | unsubscribe link ~ included ?
  | images # 0-20 | personalised ? | colour theme = light, dark, brand, plain | links # 0-25 |
  send date @
commit message CM: subject length # characters 8-120 | body lines # 0-30 | issue number ~ given ?
  | mood = imperative, past, none, mixed | trailing spaces # 0-6 | signed off ? | type prefix =
  fix, feat, docs, none
press photo PH: width # pixels 400-6000/100 | file size # MB 1-40 | caption words # 0-60 | credit
  ~ given ? | format = JPEG, PNG, TIFF, RAW | orientation = portrait, landscape, square | colour
  profile ~ embedded ?
school essay SE: pages # 1-20 | sources cited # 0-20 | paragraphs # 2-40 | bibliography ~ included
  ? | font = serif, sans, mono, script | line spacing = single, one and a half, double | days late
  # 0-9 | cover sheet ~ attached ?
video upload VU: length # seconds 5-900/5 | subtitle file ~ provided ? | resolution = 480p, 720p,
  1080p, 4K | intro length # seconds 0-40 | title words # 1-20 | tags used # 0-20 | thumbnail ~
  custom ? | loudness # points 1-30
chat reply CR: sentences # 1-15 | emojis # 0-8 | greeting ~ used ? | links # 0-5 | tone = warm,
  neutral, terse, formal | words # 5-200 | signature ~ added ? | questions asked # 0-5
"""
)
WORDING = RatingWording(
    questions=(
        "How well does the {noun} follow the format policy?",
        "Grade the format of {name}.",
        "Which format grade does {noun} {name} get?",
        "Rate compliance with the style guide.",
        "How close is the {noun} to the house style?",
    ),
    headings=("style_guide", "format policy", "grading key", "checklist"),
    things=("draft", "metadata", "measurements", "content_stats"),
    scales=(
        ("reject", "revise", "publish"),
        ("off policy", "partly on policy", "mostly on policy", "fully on policy"),
        ("unusable", "poor", "passable", "good", "flawless"),
    ),
)
FAMILY = rating_family("format_grade", TYPES, WORDING)
