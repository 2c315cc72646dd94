"""Record types of many trades, one entry each; the syntax is that of ``fields.read_type``.

Ranges are ordinary ones for the trade. Nothing here says what is good or bad: rules come later.
"""

from __future__ import annotations

from functools import cache

from thisthat_lab.suites.records.fields import RecordType, read_types

LINES = """
parcel PX: weight # kg 1-40 | declared value # $ 20-900/10 | insured ? | destination zone = north,
  south, harbour, airport, island | handling labels * fragile, cold, upright, flammable | dispatch
  date @ | signature ~ required ?
support ticket TK: waiting time # hours 1-72 | replies so far # 0-12 | reopened ? | channel =
  email, chat, phone, web form | product = billing, mobile app, website, hardware | opened on @ |
  customer tier = free, silver, gold, platinum
rental booking RB: nights # 1-21 | guests # 1-9 | deposit ~ paid ? | room type = single, double,
  suite, dormitory | nightly rate # $ 40-400/5 | arrival date @ | booked extras * breakfast,
  parking, cot, late checkout
library loan LL: days overdue # days 0-60 | renewals # 0-5 | reserved by another reader ? | item
  type = novel, atlas, DVD, journal, map | fine # $ 0-30 | branch = Central, Riverside, Hillcrest,
  Station Road | due date @
gym membership GM: visits this month # 0-30 | length of membership # months 1-48 | frozen ? | plan
  = basic, standard, family, student | monthly fee # $ 15-90 | add-ons * pool, sauna, classes,
  locker | joined on @
insurance claim CL: amount claimed # $ 100-9000/50 | days since the event # days 1-120 | police
  report ~ attached ? | cause = fire, theft, water, storm, collision | policy excess # $ 50-900/50
  | witnesses # 0-5 | reported on @
server SV: CPU load # % 2-99 | free disk # GB 1-500 | uptime # days 1-300 | patched ? |
  environment = production, staging, test, sandbox | region = Oslo, Quito, Pune, Dakar, Perth |
  roles * web, cache, queue, database
deployment DP: failed checks # 0-9 | approvals # 0-5 | rollback plan ~ attached ? | service =
  checkout, search, catalogue, accounts, reports | lines changed # 5-900 | window = weekday,
  weekend, night, holiday | freeze exemption ~ granted ?
invoice IV: total # $ 50-9000/10 | days past due # days 0-90 | disputed ? | currency = EUR, USD,
  GBP, JPY | purchase order ~ attached ? | department = marketing, facilities, research, sales |
  issued on @
job application JA: years of experience # years 0-20 | references # 0-4 | willing to relocate ? |
  degree = none, bachelor, master, doctorate | notice period # weeks 0-12 | languages * English,
  Spanish, Hindi, Arabic, German | applied on @
lab sample LS: temperature # degrees 2-40 | volume # ml 5-200/5 | sealed ? | sample type = water,
  soil, serum, air, tissue | hours in transit # hours 1-96 | storage = freezer, fridge, shelf,
  incubator | collected on @
flight FL: delay # minutes 0-240/5 | seats left # 0-60 | catering ~ loaded ? | terminal = A, B, C,
  D | distance # km 200-9000/100 | crew members on duty # 2-12 | gate ~ open ?
delivery route DR: stops # 3-40 | distance # km 5-180 | driver ~ confirmed ? | vehicle = bicycle,
  van, lorry, scooter | load # kg 10-900/10 | shift = morning, afternoon, night | goods *
  groceries, medicine, furniture, post
warehouse item WI: units on hand # 0-300 | units reserved # 0-120 | discontinued ? | aisle = A1,
  B4, C7, D2, E9 | supplier lead time # days 1-45 | unit cost # $ 1-80 | last counted @
restaurant order RO: items # 1-15 | bill # $ 8-240 | paid ? | service = dine in, takeaway,
  delivery, catering | minutes since ordering # minutes 1-90 | allergy notes * nuts, dairy,
  gluten, shellfish | table section = patio, bar, window, hall
patient visit PV: pulse # bpm 48-140 | age # years 1-95 | referred ? | ward = cardiology,
  orthopaedics, paediatrics, surgery | waiting time # minutes 0-240/5 | interpreter ~ requested ?
  | visited on @
school trip ST: pupils # 8-90 | adults # 1-12 | consent file ~ complete ? | destination = museum,
  farm, theatre, coast, castle | cost per pupil # $ 2-60 | transport = coach, train, tram, on foot
  | departure date @
research grant RG: amount requested # $ 1000-90000/1000 | months # months 3-60 | ethics approval ~
  on file ? | field = physics, history, biology, linguistics | co-applicants # 0-6 | reviewer
  score # points 1-10 | submitted on @
used car UC: mileage # km 5000-240000/1000 | price # $ 900-30000/100 | accident free ? | fuel =
  petrol, diesel, electric, hybrid | previous owners # 1-6 | colour = red, white, black, green,
  silver | registered on @
apartment AP: rent # $ 400-3200/20 | floor area # m2 18-160 | furnished ? | district = Old Town,
  Docklands, University, Park Side | floor # 0-14 | features * balcony, lift, garden, garage |
  available from @
bank transfer BT: amount # $ 10-9500/10 | transfers this week # 0-20 | beneficiary ~ verified ? |
  country = Norway, Brazil, Kenya, Japan, Canada | account age # months 1-120 | channel = branch,
  app, phone, terminal | sent on @
user account UA: failed logins # 0-15 | days since last login # days 0-400 | two-factor login ~
  enabled ? | role = viewer, editor, admin, auditor | storage used # GB 0-100 | groups * finance,
  staff, contractors, alumni | created on @
sensor reading SR: humidity # % 5-99 | battery # % 1-100 | calibrated ? | site = roof, cellar,
  greenhouse, pier | signal strength # points 0-30 | readings missed # 0-25 | installed on @
house plant HP: height # cm 5-220 | days since watering # days 0-30 | flowering ? | light = shade,
  half shade, full sun, window | pot size # cm 6-50 | species = fern, ficus, cactus, orchid, ivy |
  repotted on @
theatre booking TB: seats # 1-12 | price per seat # $ 10-140 | refundable ? | section = stalls,
  balcony, gallery, box | minutes before curtain # minutes 5-180/5 | concessions * student,
  senior, member, school | performance date @
press release PR: words # 80-900/10 | quotes # 0-6 | approved by legal ? | topic = product,
  hiring, earnings, charity | embargo hours # hours 0-72 | languages * English, French, Korean,
  Polish | drafted on @
code review CR: comments # 0-40 | files touched # 1-60 | test suite ~ passing ? | language =
  Python, Rust, Java, Go | reviewers # 0-5 | age # days 0-30 | labels * bugfix, refactor, docs,
  security
bug report BR: users affected # 0-500/5 | reproductions # 0-12 | regression ? | component =
  parser, editor, installer, scheduler | severity = minor, major, critical, cosmetic | crash logs
  # 0-8 | found on @
weather alert WA: wind speed # km/h 5-140 | rainfall # mm 0-120 | coast ~ affected ? | colour code
  = green, yellow, orange, red | duration # hours 1-48 | hazards * hail, flood, lightning, ice |
  issued on @
farm field FF: area # hectares 1-90 | soil moisture # % 4-60 | irrigated ? | crop = wheat, maize,
  barley, potatoes, beans | expected yield # tonnes 1-200 | owner type = family, cooperative,
  company | sown on @
fishing permit FP: catch limit # kg 5-500/5 | nets # 0-12 | guide ~ on board ? | zone = lake,
  estuary, open sea, river | boat length # m 3-25 | target species * cod, trout, eel, perch |
  valid until @
museum loan ML: insured value # $ 500-90000/500 | objects # 1-30 | courier ~ assigned ? | material
  = bronze, textile, paper, glass | exhibition days # days 7-240 | climate needs * dry, dark,
  cool, stable | shipped on @
print job PJ: pages # 1-400 | copies # 1-200 | duplex ? | paper = A3, A4, A5, letter | queue
  position # 1-30 | finishing * staples, folding, binding, punch | submitter group = students,
  staff, visitors, press
payroll entry PE: hours worked # hours 4-60 | overtime # hours 0-20 | timesheet ~ approved ? |
  grade = junior, senior, lead, intern | bonus # $ 0-2000/50 | site = factory, depot, office,
  laboratory | pay date @
training course TC: participants enrolled # 3-60 | places # 5-60 | certificate ~ offered ? |
  format = online, classroom, workshop, blended | length # days 1-15 | fee # $ 0-900/10 | starts
  on @
phone contract PC: data allowance # GB 1-100 | monthly price # $ 5-90 | roaming ~ included ? |
  network = Tala, Vento, Norda, Kiri | minutes used # minutes 0-900/10 | months remaining # months
  0-24 | options * hotspot, music, insurance, handset
electric charger EC: power # kW 3-150 | occupied bays # 0-12 | open at night ? | plug = type 2,
  CCS, CHAdeMO, domestic | price per hour # $ 1-20 | faults this month # 0-9 | serviced on @
hotel review HR: stars # 1-5 | helpful votes # 0-90 | photo ~ attached ? | traveller = family,
  couple, business, solo | length # words 10-400/5 | topics * noise, staff, food, view, beds |
  posted on @
donation DN: amount # $ 5-3000/5 | previous gifts # 0-30 | gift aid ~ declared ? | campaign =
  wells, schools, shelter, clinics | method = card, cash, transfer, cheque | newsletter ~
  requested ? | received on @
film project FI: budget # $ 2000-90000/500 | shooting days # days 3-60 | script ~ locked ? | genre
  = drama, comedy, western, thriller | crew members # 4-80 | locations # 1-15 | release date @
wine batch WB: alcohol # % 8-16 | bottles # 50-3000/50 | organic ? | grape = Merlot, Riesling,
  Syrah, Malbec | acidity # points 1-10 | cellar = north vault, south vault, barn, annex | bottled
  on @
recipe RC: preparation time # minutes 5-120/5 | servings # 1-12 | vegetarian ? | cuisine = Thai,
  Greek, Peruvian, Polish | ingredients # 3-25 | energy # kcal 80-950/10 | equipment * oven,
  blender, grill, wok
medical device MD: battery life # hours 1-72 | alarms # 0-12 | sterilised ? | type = pump,
  monitor, ventilator, scanner | service age # months 0-60 | ward = ICU, recovery, day clinic,
  theatre | checked on @
building permit BP: height # m 3-40 | parking spaces # 0-60 | public notice ~ posted ? | use =
  housing, retail, storage, office | floor area # m2 40-4000/20 | objections # 0-12 | lodged on @
train service TS: delay # minutes 0-90 | carriages # 2-14 | dining car ~ attached ? | line =
  coastal, valley, northern, airport | occupancy # % 5-110 | stops # 2-30 | fault codes * brakes,
  doors, heating, signal
podcast episode PO: length # minutes 8-120 | downloads # 10-9000/10 | transcript ~ published ? |
  category = science, sport, history, comedy | guests # 0-4 | sponsors # 0-5 | aired on @
beehive BH: frames of brood # 0-12 | honey stores # kg 0-40 | queen ~ seen ? | temper = calm,
  nervous, aggressive, listless | mites per sample # 0-20 | hive type = Langstroth, Warre, top
  bar, national | inspected on @
satellite pass SP: elevation # degrees 2-90 | duration # minutes 1-15 | antenna ~ free ? | band =
  S, X, Ka, UHF | data waiting # GB 1-120 | ground station = Kiruna, Svalbard, Dongara, Punta |
  cloud cover # % 0-100
water meter WM: consumption # m3 1-90 | previous reading # m3 100-999 | leak ~ suspected ? |
  property = flat, shop, villa, workshop | estimated readings # 0-8 | tariff = standard, social,
  industrial, seasonal | read on @
court filing CF: pages # 2-120 | exhibits # 0-25 | filing fee ~ paid ? | matter = contract,
  family, tenancy, labour | days to hearing # days 1-90 | parties # 2-9 | filed on @
translation job TJ: words # 100-9000/50 | rate per page # $ 8-60 | proofread ? | target language =
  Dutch, Urdu, Swahili, Czech | days to deadline # days 0-30 | subject = legal, medical, literary,
  technical | glossary ~ supplied ?
spare part SE: units in stock # 0-90 | unit price # $ 2-700 | certified ? | machine = loom, lathe,
  press, conveyor | lead time # days 1-60 | supplier = Arven, Bolmet, Cadrix, Dunlo | last ordered
  @
game match GA: players # 2-16 | rounds # 1-30 | ranked ? | map = canyon, harbour, temple, glacier
  | average ping # ms 8-220 | mode = duel, team, relay, survival | reported players # 0-4
art auction lot AL: estimate # $ 100-20000/100 | bids # 0-40 | reserve ~ met ? | medium = oil,
  ink, bronze, photograph | width # cm 8-240 | provenance gaps # 0-5 | catalogue date @
ferry crossing FC: vehicles # 0-120 | passengers # 5-600/5 | run at night ? | pier = east, west,
  old, freight | wave height # cm 10-400/10 | lifeboats # 2-16 | cargo * livestock, fuel, mail,
  timber
online listing OL: price # $ 5-900 | photos # 0-12 | seller ~ verified ? | condition = new, like
  new, worn, for parts | views # 0-900/5 | days listed # days 0-120 | category = toys, tools,
  books, bikes
charity shop shift CS: volunteers # 1-12 | income # $ 20-900/5 | manager ~ present ? | department
  = clothing, books, furniture, music | hours # hours 2-9 | bags sorted # 0-60 | shift date @
clinical trial site CT: participants # 4-120 | withdrawals # 0-20 | monitor visit ~ done ? | phase
  = one, two, three, four | protocol deviations # 0-15 | country = Chile, Ghana, Finland, Nepal |
  opened on @
network link NL: latency # ms 1-250 | packet loss # % 0-30 | encrypted ? | medium = fibre, radio,
  copper, satellite | bandwidth # Mbit/s 10-900/10 | outages this month # 0-12 | upgraded on @
bakery batch BB: loaves # 10-240 | oven temperature # degrees 150-260/5 | glazed ? | flour = rye,
  spelt, wheat, oat | proving time # minutes 20-240/10 | rejects # 0-30 | baker = Ines, Tomas,
  Wen, Aisha
conference talk CO: length # minutes 10-60/5 | slides # 5-90 | recorded ? | track = data,
  security, design, hardware | seats booked # 0-300/5 | rehearsals # 0-6 | speaker level = first
  timer, regular, keynote
vaccine shipment VS: doses # 50-5000/50 | temperature # degrees 1-25 | logger ~ active ? | carrier
  = Polar Line, Swift Air, Medico, Trans Baltic | hours in transit # hours 2-96 | boxes # 1-60 |
  packed on @
street light SL: brightness # lux 2-60 | complaints # 0-15 | timer ~ working ? | lamp = LED,
  sodium, halogen, solar | pole height # m 3-14 | street type = lane, avenue, square, ring road |
  repaired on @
advert campaign AD: clicks # 10-9000/10 | budget spent # % 1-120 | approved ? | audience =
  parents, students, runners, gardeners | cost per click # cents 3-180 | variants # 1-9 |
  platforms * radio, web, print, television
oil tank OT: fill level # % 2-99 | pressure # bar 1-20 | inspected ? | product = diesel, kerosene,
  crude, naphtha | temperature # degrees 5-90 | leak sensors # 1-12 | commissioned on @
survey response SU: questions answered # 2-40 | seconds per page # seconds 2-90 | consent ~ given
  ? | age band = under 25, 25 to 44, 45 to 64, over 64 | satisfaction # points 1-10 | attention
  checks failed # 0-5 | completed on @
ski lift LI: queueing time # minutes 0-60 | wind # km/h 2-110 | seat heating ~ switched on ? |
  slope = blue, red, black, nursery | cabins in service # 4-60 | snow depth # cm 5-250/5 |
  inspected on @
pension case PN: contribution years # years 1-45 | monthly amount # $ 200-3500/10 | spouse ~
  entitled ? | scheme = state, company, private, military | missing documents # 0-8 | dependants #
  0-6 | lodged on @
drone flight DF: altitude # m 5-400/5 | battery # % 5-100 | observer ~ present ? | purpose =
  survey, film, delivery, training | wind # km/h 0-70 | distance # m 50-5000/50 | zone = rural,
  suburban, harbour, stadium
data pipeline run DA: rows loaded # 0-9000/10 | null values # % 0-60 | retried ? | source =
  ledger, sensors, clickstream, survey | duration # minutes 1-300 | schema changes # 0-9 | ran on
  @
elevator EL: trips today # 0-400/5 | stops missed # 0-20 | emergency phone ~ tested ? | building =
  annex, tower, clinic, mall | load limit # kg 200-2000/50 | age # years 0-50 | last serviced @
bird survey BI: species seen # 1-60 | observers # 1-9 | visibility ~ good ? | habitat = marsh,
  forest, cliff, meadow | duration # minutes 15-300/5 | wind # points 0-9 | surveyed on @
"""


@cache
def record_types() -> tuple[RecordType, ...]:
    """Every record type of the catalogue, in the order of its entries."""
    return read_types(LINES)
