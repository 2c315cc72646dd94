"""The kinds of record the branch families are about, with their fields. Data only."""

from __future__ import annotations

from thisthat_lab.suites.base.fields import Day, Domain, Field, Flag, Number, Pick, Tags


def _number(
    key: str, label: str, low: float, high: float, unit: str = "", decimals: int = 0
) -> Field:
    return Number(key, label, low, high, unit, decimals)


def _money(key: str, label: str, low: float, high: float, decimals: int = 0) -> Field:
    return Number(key, label, low, high, "$", decimals)


def _pick(key: str, label: str, values: str) -> Field:
    return Pick(key, label, tuple(value.strip() for value in values.split(",")))


def _tags(key: str, label: str, values: str) -> Field:
    return Tags(key, label, tuple(value.strip() for value in values.split(",")))


_flag = Flag
_day = Day

ALL = (
    Domain(
        "online order",
        "ORD",
        (
            _money("amount_paid", "amount paid", 8, 900, 2),
            _number("days_since_delivery", "time since delivery", 1, 120, "days"),
            _pick(
                "category",
                "product category",
                "electronics, clothing, toys, groceries, furniture, books, cosmetics",
            ),
            _flag("seal_intact", "the seal is intact", "the seal has been broken"),
            _flag("receipt_attached", "a receipt is attached", "no receipt is attached"),
            _flag(
                "bought_on_clearance",
                "the item was bought on clearance",
                "the item was bought at the regular price",
            ),
            _day("purchase_date", "purchase date"),
            _number("earlier_returns", "number of earlier returns", 0, 14),
            _tags(
                "accessories_returned",
                "accessories sent back",
                "charger, cable, manual, case, remote, adapter",
            ),
            _pick(
                "payment_method",
                "payment method",
                "card, cash, voucher, bank transfer, store credit",
            ),
        ),
    ),
    Domain(
        "hotel booking",
        "BKG",
        (
            _money("room_rate", "room rate", 60, 700),
            _number("hours_before_arrival", "notice before arrival", 2, 240, "hours"),
            _number("nights", "length of the stay", 1, 21, "nights"),
            _pick("rate_plan", "rate plan", "flexible, saver, corporate, weekend, member"),
            _flag("prepaid", "the stay was prepaid", "the stay is to be paid on arrival"),
            _flag("medical_note", "a medical note was supplied", "no medical note was supplied"),
            _number("guests", "number of guests", 1, 9),
            _day("arrival_date", "arrival date"),
            _pick(
                "booked_through", "booking source", "website, agency, phone, walk-in, partner app"
            ),
        ),
    ),
    Domain(
        "concert ticket",
        "TKT",
        (
            _money("face_value", "face value", 15, 400),
            _number("days_before_show", "time left before the show", 1, 90, "days"),
            _pick("seat_block", "seat block", "floor, balcony, gallery, box, lawn"),
            _flag(
                "transferred",
                "the ticket was transferred to someone else",
                "the ticket is still with the first buyer",
            ),
            _flag("show_moved", "the show was moved to another date", "the show keeps its date"),
            _flag("insured", "ticket insurance was taken", "ticket insurance was declined"),
            _number("tickets_in_order", "number of tickets in the order", 1, 10),
            _day("bought_on", "date of purchase"),
        ),
    ),
    Domain(
        "software subscription",
        "SUB",
        (
            _money("monthly_fee", "monthly fee", 5, 480),
            _number("days_since_renewal", "time since renewal", 0, 60, "days"),
            _number("logins_since_renewal", "number of logins since renewal", 0, 40),
            _pick("plan", "plan", "starter, team, business, enterprise, student"),
            _flag("auto_renewed", "the plan renewed automatically", "the plan was renewed by hand"),
            _flag("reminder_sent", "a renewal reminder was sent", "no renewal reminder was sent"),
            _number("seats", "number of seats", 1, 250),
            _tags(
                "add_ons",
                "active add-ons",
                "backup, single sign-on, audit log, priority support, analytics",
            ),
            _pick("billing_cycle", "billing cycle", "monthly, quarterly, yearly, every two years"),
        ),
    ),
    Domain(
        "equipment rental",
        "RNT",
        (
            _money("deposit", "deposit", 50, 1500),
            _number("hours_late", "delay of the return", 0, 72, "hours"),
            _pick("condition", "condition at return", "clean, dusty, scratched, dented, wet"),
            _flag("fuel_full", "the tank is full", "the tank is not full"),
            _flag(
                "damage_report_signed",
                "the damage report is signed",
                "the damage report is unsigned",
            ),
            _number("rental_days", "rental period", 1, 30, "days"),
            _tags("missing_parts", "missing parts", "strap, battery, hose, key, helmet, blade"),
            _pick(
                "equipment",
                "equipment type",
                "excavator, trailer, generator, scaffold, pressure washer, lift",
            ),
        ),
    ),
    Domain(
        "train journey",
        "JNY",
        (
            _number("delay_minutes", "delay at the destination", 0, 180, "minutes"),
            _money("fare", "fare", 4, 260, 2),
            _pick("fare_class", "fare class", "standard, first, advance, off-peak, sleeper"),
            _flag(
                "delay_announced",
                "the delay was announced before departure",
                "the delay was not announced before departure",
            ),
            _flag("seat_reserved", "a seat was reserved", "no seat was reserved"),
            _day("travel_date", "date of travel"),
            _number("days_since_travel", "time since the journey", 1, 60, "days"),
            _pick(
                "cause", "cause of the delay", "signal fault, weather, strike, staffing, trespass"
            ),
        ),
    ),
    Domain(
        "data access request",
        "ACC",
        (
            _number("clearance_level", "clearance level", 1, 9),
            _pick(
                "role",
                "role of the requester",
                "analyst, contractor, engineer, manager, auditor, intern, support agent",
            ),
            _pick(
                "environment",
                "environment",
                "production, staging, sandbox, archive, disaster recovery",
            ),
            _flag(
                "manager_approved",
                "the line manager has approved",
                "the line manager has not approved",
            ),
            _flag(
                "training_current",
                "the privacy training is up to date",
                "the privacy training has lapsed",
            ),
            _number("requested_days", "duration requested", 1, 180, "days"),
            _number("open_grants", "number of grants already open", 0, 12),
            _tags(
                "group_memberships",
                "group memberships",
                "finance-ro, data-eng, oncall, release, legal-hold, vendors",
            ),
            _flag(
                "device_managed",
                "the device is managed by the company",
                "the device is a private one",
            ),
        ),
    ),
    Domain(
        "door badge request",
        "BDG",
        (
            _pick(
                "zone",
                "zone asked for",
                "server room, loading dock, archive, laboratory, roof, lobby",
            ),
            _number("months_employed", "time in the company", 0, 96, "months"),
            _flag("escort_named", "an escort is named", "no escort is named"),
            _flag("photo_on_file", "a photo is on file", "no photo is on file"),
            _pick("shift", "shift", "early, late, night, weekend, rotating"),
            _number("lost_badges", "number of badges lost before", 0, 6),
            _day("valid_until", "last day of validity"),
            _tags(
                "certificates",
                "certificates held",
                "fire safety, forklift, clean room, first aid, lone work",
            ),
        ),
    ),
    Domain(
        "file share link",
        "LNK",
        (
            _number("recipients", "number of recipients", 1, 60),
            _pick(
                "classification",
                "classification",
                "public, internal, confidential, restricted, secret",
            ),
            _flag("password_set", "the link has a password", "the link has no password"),
            _flag(
                "external_recipient",
                "an outside recipient is included",
                "all recipients are inside the company",
            ),
            _number("expiry_days", "time until the link expires", 1, 365, "days"),
            _number("file_megabytes", "file size", 1, 4000, "MB"),
            _flag("watermarked", "the file carries a watermark", "the file carries no watermark"),
            _pick(
                "owner_department",
                "department of the owner",
                "sales, finance, research, people, legal, support",
            ),
        ),
    ),
    Domain(
        "support ticket",
        "TIC",
        (
            _number("hours_open", "time the ticket has been open", 0, 160, "hours"),
            _pick("plan", "customer plan", "free, basic, plus, premium, enterprise"),
            _number("replies", "number of customer replies", 0, 18),
            _flag("production_down", "production is down", "production is running"),
            _flag("workaround_known", "a workaround is known", "no workaround is known"),
            _number("affected_users", "number of affected users", 1, 4000),
            _pick(
                "area", "product area", "login, billing, reports, mobile app, integrations, exports"
            ),
            _number("sentiment", "sentiment score", 0, 100),
            _tags(
                "labels", "ticket labels", "vip, regression, security, duplicate, question, legal"
            ),
        ),
    ),
    Domain(
        "patient message",
        "MSG",
        (
            _number("temperature", "body temperature", 36, 41, "°C", 1),
            _number("pain", "pain level", 0, 10),
            _number("age", "age of the patient", 1, 95, "years"),
            _number("symptom_days", "duration of the symptoms", 1, 30, "days"),
            _flag("pregnant", "the patient is pregnant", "the patient is not pregnant"),
            _flag(
                "can_swallow",
                "the patient can swallow liquids",
                "the patient cannot swallow liquids",
            ),
            _pick(
                "symptom",
                "main symptom",
                "cough, rash, headache, back pain, dizziness, sore throat",
            ),
            _tags(
                "medication",
                "current medication",
                "insulin, warfarin, ibuprofen, steroids, antibiotics, none listed",
            ),
            _number("missed_doses", "number of missed doses", 0, 9),
        ),
    ),
    Domain(
        "customer complaint",
        "CMP",
        (
            _money("disputed_amount", "disputed amount", 5, 6000),
            _number("contacts", "number of earlier contacts", 0, 12),
            _number("days_waiting", "waiting time", 0, 75, "days"),
            _flag(
                "regulator_mentioned",
                "the regulator is mentioned",
                "the regulator is not mentioned",
            ),
            _flag("apology_sent", "an apology has been sent", "no apology has been sent"),
            _pick(
                "topic",
                "topic of the complaint",
                "fees, delivery, staff, quality, privacy, opening hours",
            ),
            _number("customer_years", "length of the relationship", 0, 30, "years"),
            _pick("came_by", "way it came in", "letter, phone call, email, chat, branch visit"),
        ),
    ),
    Domain(
        "service incident",
        "INC",
        (
            _number("error_rate", "error rate", 0, 60, "%", 1),
            _number("minutes_elapsed", "time since the first alert", 1, 240, "minutes"),
            _number("regions_affected", "number of affected regions", 1, 9),
            _flag("data_loss", "data has been lost", "no data has been lost"),
            _flag("rollback_possible", "a rollback is possible", "a rollback is not possible"),
            _pick(
                "component",
                "component",
                "database, load balancer, cache, queue, certificate, object store",
            ),
            _number("customer_reports", "number of customer reports", 0, 300),
            _flag(
                "oncall_acknowledged",
                "the on-call engineer has acknowledged",
                "the on-call engineer has not acknowledged",
            ),
        ),
    ),
    Domain(
        "car insurance claim",
        "CLM",
        (
            _money("repair_cost", "repair cost", 150, 14000),
            _number("days_to_report", "time until it was reported", 0, 60, "days"),
            _money("excess", "excess", 50, 1500),
            _flag("police_report", "a police report exists", "no police report exists"),
            _flag("premium_paid", "the premium is paid", "the premium is overdue"),
            _pick("cause", "cause of the damage", "hail, collision, theft, vandalism, fire, flood"),
            _number("driver_age", "age of the driver", 18, 88, "years"),
            _number("claims_in_three_years", "number of claims in three years", 0, 7),
            _day("incident_date", "date of the incident"),
        ),
    ),
    Domain(
        "household claim",
        "HHC",
        (
            _money("claimed_value", "claimed value", 100, 20000),
            _pick(
                "peril", "peril", "water leak, burglary, storm, fire, glass breakage, power surge"
            ),
            _flag("photos_supplied", "photos were supplied", "photos were not supplied"),
            _flag(
                "home_occupied",
                "the home was occupied at the time",
                "the home was empty at the time",
            ),
            _number("days_unoccupied", "longest unoccupied period", 0, 120, "days"),
            _number("invoices", "number of invoices", 0, 15),
            _tags(
                "cover_sections",
                "cover sections bought",
                "contents, jewellery, garden, bicycles, electronics, liability",
            ),
            _number("policy_months", "age of the policy", 0, 120, "months"),
        ),
    ),
    Domain(
        "travel claim",
        "TRV",
        (
            _money("claim_total", "claim total", 40, 9000),
            _number("trip_days", "trip length", 1, 90, "days"),
            _pick(
                "region",
                "region travelled",
                "Europe, Asia, Africa, Oceania, North America, South America",
            ),
            _flag("receipts_complete", "the receipts are complete", "some receipts are missing"),
            _flag("doctor_seen", "a doctor was seen abroad", "no doctor was seen abroad"),
            _number("hours_delayed", "flight delay", 0, 48, "hours"),
            _pick(
                "loss",
                "kind of loss",
                "baggage, illness, cancellation, delay, theft, missed connection",
            ),
            _day("return_date", "date of return"),
        ),
    ),
    Domain(
        "pet claim",
        "PET",
        (
            _money("vet_bill", "vet bill", 30, 5000),
            _number("pet_age", "age of the animal", 1, 18, "years"),
            _flag("vaccinated", "the vaccinations are current", "the vaccinations have lapsed"),
            _flag(
                "condition_known_before",
                "the condition was known before the cover began",
                "the condition arose after the cover began",
            ),
            _pick("species", "species", "dog, cat, rabbit, parrot, horse, tortoise"),
            _number("waiting_days_passed", "time since the cover began", 0, 200, "days"),
            _number("treatments", "number of treatments", 1, 12),
        ),
    ),
    Domain(
        "release candidate",
        "REL",
        (
            _number("test_pass_rate", "test pass rate", 60, 100, "%", 1),
            _number("coverage", "line coverage", 30, 100, "%"),
            _number("approvals", "number of approvals", 0, 6),
            _number("open_blockers", "number of open blockers", 0, 9),
            _flag(
                "migration_included",
                "a schema migration is included",
                "no schema migration is included",
            ),
            _flag(
                "rollback_rehearsed", "the rollback was rehearsed", "the rollback was not rehearsed"
            ),
            _pick("target", "target environment", "production, staging, canary, edge, internal"),
            _number("changed_files", "number of changed files", 1, 400),
            _number("soak_hours", "soak time", 0, 96, "hours"),
            _pick("weekday", "planned weekday", "Monday, Tuesday, Wednesday, Thursday, Friday"),
        ),
    ),
    Domain(
        "model rollout",
        "MOD",
        (
            _number("offline_accuracy", "offline accuracy", 50, 100, "%", 1),
            _number("latency_ms", "median latency", 5, 900, "ms"),
            _number("calibration_error", "calibration error", 0, 20, "%", 1),
            _flag("bias_review_done", "the bias review is done", "the bias review is outstanding"),
            _flag(
                "shadow_run_clean", "the shadow run was clean", "the shadow run showed differences"
            ),
            _number("traffic_share", "traffic share asked for", 1, 100, "%"),
            _pick("task", "task", "ranking, fraud, search, translation, forecasting, tagging"),
            _number("reviewers", "number of reviewers", 0, 5),
        ),
    ),
    Domain(
        "firmware update",
        "FWU",
        (
            _number("battery", "battery charge", 1, 100, "%"),
            _number("free_storage", "free storage", 10, 4000, "MB"),
            _number("devices_in_wave", "number of devices in the wave", 1, 5000),
            _flag("signature_valid", "the signature is valid", "the signature is not valid"),
            _flag(
                "on_mains_power", "the device is on mains power", "the device is on battery power"
            ),
            _pick("model", "device model", "sensor, gateway, camera, thermostat, lock, meter"),
            _number("failed_before", "number of failed updates before", 0, 8),
        ),
    ),
    Domain(
        "purchase requisition",
        "PRQ",
        (
            _money("amount", "amount", 20, 25000),
            _number("quotes", "number of quotes", 0, 6),
            _pick(
                "department",
                "department",
                "research, marketing, operations, finance, people, design",
            ),
            _flag(
                "budgeted", "the purchase is in the budget", "the purchase is outside the budget"
            ),
            _flag("vendor_vetted", "the vendor is vetted", "the vendor is not vetted"),
            _number("delivery_weeks", "delivery time", 1, 30, "weeks"),
            _day("needed_by", "date it is needed by"),
            _pick(
                "kind_of_goods",
                "kind of goods",
                "hardware, furniture, licences, travel, consulting, stationery",
            ),
        ),
    ),
    Domain(
        "loan application",
        "LON",
        (
            _money("income", "yearly income", 12000, 160000),
            _money("loan_amount", "loan amount", 1000, 90000),
            _number("credit_score", "credit score", 300, 850),
            _number("employment_months", "time in the current job", 0, 240, "months"),
            _flag("guarantor", "a guarantor signed", "nobody signed as guarantor"),
            _flag("collateral", "collateral is offered", "no collateral is offered"),
            _pick(
                "purpose",
                "purpose",
                "car, home improvement, education, debt consolidation, wedding, business",
            ),
            _number("late_payments", "number of late payments", 0, 11),
        ),
    ),
    Domain(
        "expense report",
        "EXP",
        (
            _money("total", "total", 10, 4000, 2),
            _number("days_after_trip", "time since the trip", 1, 90, "days"),
            _flag("itemised", "the bills are itemised", "the bills are not itemised"),
            _flag("client_present", "a client was present", "no client was present"),
            _pick(
                "expense_type",
                "expense type",
                "meal, taxi, lodging, flight, parking, conference fee",
            ),
            _number("attendees", "number of attendees", 1, 20),
            _money("per_head", "cost per head", 5, 220),
            _tags(
                "attachments",
                "attachments",
                "receipt, agenda, approval email, invoice, boarding pass",
            ),
        ),
    ),
    Domain(
        "leave request",
        "LVE",
        (
            _number("days_requested", "days requested", 1, 30, "days"),
            _number("balance", "leave balance", 0, 40, "days"),
            _number("notice_days", "notice given", 0, 90, "days"),
            _flag("cover_arranged", "cover is arranged", "no cover is arranged"),
            _flag("peak_season", "it falls in the peak season", "it falls outside the peak season"),
            _pick("leave_kind", "kind of leave", "annual, unpaid, study, parental, care"),
            _number("team_absent", "number of colleagues away", 0, 8),
            _day("first_day", "first day of leave"),
        ),
    ),
    Domain(
        "job application",
        "APP",
        (
            _number("years_experience", "years of experience", 0, 25, "years"),
            _number("test_score", "test score", 0, 100),
            _money("salary_asked", "salary asked for", 25000, 140000),
            _flag("portfolio_sent", "a portfolio was sent", "no portfolio was sent"),
            _flag(
                "willing_to_move",
                "the applicant is willing to move",
                "the applicant is not willing to move",
            ),
            _tags(
                "skills",
                "skills",
                "python, welding, accounting, spanish, sales, statistics, sewing",
            ),
            _pick("degree", "highest degree", "none, apprenticeship, bachelor, master, doctorate"),
            _number("references", "number of references", 0, 5),
        ),
    ),
    Domain(
        "farm delivery",
        "FRM",
        (
            _number("weight", "net weight", 20, 3000, "kg"),
            _number("moisture", "moisture", 5, 30, "%", 1),
            _number("core_temperature", "core temperature", 1, 25, "°C"),
            _flag(
                "organic_certificate",
                "an organic certificate came with it",
                "no organic certificate came with it",
            ),
            _flag("pest_traces", "traces of pests were found", "no traces of pests were found"),
            _pick("crop", "crop", "wheat, barley, apples, potatoes, tomatoes, oats"),
            _pick("grade", "grade", "A, B, C, feed"),
            _number("hours_in_transit", "time in transit", 1, 72, "hours"),
        ),
    ),
    Domain(
        "building inspection",
        "BLD",
        (
            _number("floor_load", "floor load", 100, 1200, "kg per square metre"),
            _number("exits", "number of exits", 1, 9),
            _number("extinguishers", "number of extinguishers", 0, 24),
            _flag(
                "alarm_tested",
                "the alarm was tested this year",
                "the alarm was not tested this year",
            ),
            _flag("sprinklers", "sprinklers are installed", "sprinklers are not installed"),
            _pick(
                "use",
                "use of the building",
                "office, school, storage, restaurant, housing, workshop",
            ),
            _number("occupants", "number of occupants", 2, 600),
            _day("last_inspection", "date of the last inspection"),
        ),
    ),
    Domain(
        "library account",
        "LIB",
        (
            _money("fines", "unpaid fines", 0, 60, 2),
            _number("books_out", "number of books on loan", 0, 25),
            _number("overdue_days", "longest overdue period", 0, 120, "days"),
            _flag("address_confirmed", "the address is confirmed", "the address is not confirmed"),
            _pick("membership", "membership", "child, student, adult, senior, visitor, staff"),
            _number("renewals", "number of renewals", 0, 7),
            _flag("has_reservation", "a reservation is waiting", "no reservation is waiting"),
        ),
    ),
    Domain(
        "clinical sample",
        "SMP",
        (
            _number("volume", "volume", 1, 40, "ml"),
            _number("transport_hours", "transport time", 1, 72, "hours"),
            _number("storage_temperature", "storage temperature", 1, 30, "°C"),
            _flag("label_legible", "the label is legible", "the label is illegible"),
            _flag("consent_signed", "the consent form is signed", "the consent form is not signed"),
            _pick("tube", "tube colour", "red, purple, green, blue, grey"),
            _number("haemolysis_index", "haemolysis index", 0, 100),
        ),
    ),
    Domain(
        "student enrolment",
        "STU",
        (
            _number("credits", "credits earned", 0, 240),
            _number("grade_average", "grade average", 1, 5, "", 1),
            _number("absences", "number of absences", 0, 30),
            _flag("fees_paid", "the fees are paid", "the fees are unpaid"),
            _flag("advisor_consent", "the adviser has consented", "the adviser has not consented"),
            _pick("programme", "programme", "history, physics, nursing, law, design, economics"),
            _number("semester", "semester", 1, 12),
            _tags(
                "courses_passed",
                "courses passed",
                "calculus, writing, statistics, ethics, chemistry, programming",
            ),
        ),
    ),
    Domain(
        "cargo container",
        "CTR",
        (
            _number("gross_weight", "gross weight", 2000, 32000, "kg"),
            _number("demurrage_days", "days in the yard", 0, 45, "days"),
            _flag("sealed", "the container is sealed", "the container is unsealed"),
            _flag(
                "hazardous", "the goods are declared hazardous", "the goods are declared harmless"
            ),
            _pick("goods", "goods", "machinery, fruit, chemicals, textiles, paper, scrap"),
            _pick(
                "origin", "port of origin", "Rotterdam, Busan, Santos, Durban, Valparaiso, Mumbai"
            ),
            _number("document_count", "number of documents", 0, 12),
            _money("declared_value", "declared value", 1000, 250000),
        ),
    ),
    Domain(
        "marketplace seller",
        "SEL",
        (
            _number("rating", "rating", 1, 5, "stars", 1),
            _number("orders_last_month", "number of orders last month", 0, 2000),
            _number("dispute_rate", "dispute rate", 0, 15, "%", 1),
            _number("account_age", "account age", 0, 100, "months"),
            _flag("identity_verified", "the identity is verified", "the identity is not verified"),
            _flag("bank_account_linked", "a bank account is linked", "no bank account is linked"),
            _pick(
                "goods_sold", "goods sold", "handmade, second-hand, electronics, food, art, tools"
            ),
            _number("late_shipments", "number of late shipments", 0, 60),
        ),
    ),
    Domain(
        "grant proposal",
        "GRN",
        (
            _money("budget", "budget", 2000, 400000),
            _number("months", "project length", 3, 60, "months"),
            _number("reviewer_score", "reviewer score", 0, 100),
            _flag(
                "ethics_cleared",
                "the ethics board has cleared it",
                "the ethics board has not cleared it",
            ),
            _flag(
                "partner_letter", "a partner letter is enclosed", "no partner letter is enclosed"
            ),
            _pick(
                "field_of_study",
                "field of study",
                "biology, history, engineering, sociology, music, geology",
            ),
            _number("publications", "number of publications", 0, 60),
            _day("submitted_on", "date of submission"),
        ),
    ),
    Domain(
        "network host",
        "HST",
        (
            _number("open_ports", "number of open ports", 0, 40),
            _number("patch_age", "age of the last patch", 0, 200, "days"),
            _number("cpu_load", "processor load", 1, 100, "%"),
            _flag("firewall_on", "the firewall is on", "the firewall is off"),
            _flag(
                "internet_facing",
                "the host faces the internet",
                "the host is reachable from inside only",
            ),
            _pick(
                "operating_system",
                "operating system",
                "Debian, Windows, FreeBSD, Ubuntu, Alpine, macOS",
            ),
            _number("failed_logins", "number of failed logins", 0, 500),
            _tags(
                "agents",
                "installed agents",
                "antivirus, backup, monitoring, inventory, disk encryption",
            ),
        ),
    ),
    Domain(
        "delivery parcel",
        "PCL",
        (
            _number("weight", "weight", 1, 60, "kg", 1),
            _number("distance", "distance", 2, 3000, "km"),
            _number("longest_side", "longest side", 5, 240, "cm"),
            _money("declared_value", "declared value", 5, 3000),
            _flag("fragile", "the parcel is marked fragile", "the parcel is not marked fragile"),
            _flag("signature_required", "a signature is required", "no signature is required"),
            _pick("destination_zone", "destination zone", "city, suburb, rural, island, abroad"),
            _number("delivery_attempts", "number of delivery attempts", 0, 5),
            _pick(
                "contents", "contents", "glass, documents, clothes, batteries, food, spare parts"
            ),
        ),
    ),
    Domain(
        "customer order",
        "COR",
        (
            _money("order_value", "order value", 10, 5000),
            _number("items", "number of items", 1, 60),
            _number("hours_waiting", "waiting time", 0, 96, "hours"),
            _number("loyalty_years", "length of membership", 0, 20, "years"),
            _flag("gift", "the order is a gift", "the order is not a gift"),
            _flag("backordered", "an item is on back order", "every item is in stock"),
            _pick("customer_type", "customer type", "private, retailer, school, hospital, agency"),
            _number("past_orders", "number of past orders", 0, 120),
            _pick("season", "season", "spring, summer, autumn, winter"),
            _day("promised_date", "promised date"),
        ),
    ),
    Domain(
        "api client",
        "API",
        (
            _number("requests_last_minute", "number of requests in the last minute", 0, 900),
            _number("requests_today", "number of requests today", 0, 50000),
            _number("burst", "largest burst", 1, 300, "requests per second"),
            _number("concurrent", "number of open connections", 1, 120),
            _flag("key_verified", "the key is verified", "the key is not verified"),
            _flag(
                "on_allowlist",
                "the client is on the allow list",
                "the client is not on the allow list",
            ),
            _pick("tier", "tier", "anonymous, free, developer, business, partner"),
            _number("error_share", "share of failed requests", 0, 100, "%"),
            _pick("endpoint", "endpoint", "/search, /login, /export, /orders, /images, /reports"),
        ),
    ),
    Domain(
        "log window",
        "LOG",
        (
            _number("error_lines", "number of error lines", 0, 600),
            _number("p99_latency", "99th percentile latency", 20, 9000, "ms"),
            _number("disk_used", "disk used", 5, 100, "%"),
            _number("restarts", "number of restarts", 0, 20),
            _number("queue_depth", "queue depth", 0, 20000, "messages"),
            _flag("replica_lagging", "a replica is lagging", "all replicas are in step"),
            _flag("backup_succeeded", "the last backup succeeded", "the last backup failed"),
            _pick("component", "component", "scheduler, broker, indexer, proxy, worker, database"),
            _number("dropped_packets", "dropped packets", 0, 30, "%", 1),
        ),
    ),
    Domain(
        "security alert",
        "ALR",
        (
            _number("confidence", "confidence of the detector", 1, 100, "%"),
            _number("hosts", "number of hosts involved", 1, 80),
            _number("outbound_megabytes", "outbound traffic", 0, 5000, "MB"),
            _flag(
                "admin_account",
                "an administrator account is involved",
                "no administrator account is involved",
            ),
            _flag("contained", "the host is isolated", "the host is still connected"),
            _pick(
                "technique",
                "technique",
                "phishing, brute force, malware, insider, misconfiguration, scanning",
            ),
            _number("dwell_hours", "time since the first sign", 0, 400, "hours"),
        ),
    ),
    Domain(
        "maintenance report",
        "MNT",
        (
            _number("vibration", "vibration", 1, 30, "mm/s", 1),
            _number("oil_temperature", "oil temperature", 20, 140, "°C"),
            _number("hours_since_service", "running time since service", 0, 4000, "hours"),
            _flag("leak_visible", "a leak is visible", "no leak is visible"),
            _flag("spare_in_stock", "a spare part is in stock", "no spare part is in stock"),
            _pick("machine", "machine", "pump, compressor, conveyor, press, turbine, mixer"),
            _number("noise", "noise level", 50, 120, "dB"),
            _number("stops_this_week", "number of stops this week", 0, 15),
        ),
    ),
    Domain(
        "content report",
        "CNT",
        (
            _number("reports", "number of reports", 1, 400),
            _number("views", "number of views", 0, 90000),
            _number("account_days", "age of the account", 0, 3000, "days"),
            _flag(
                "repeat_offender",
                "the author was warned before",
                "the author was never warned before",
            ),
            _flag("contains_link", "the post contains a link", "the post contains no link"),
            _pick(
                "claimed_reason",
                "reason given",
                "spam, harassment, copyright, nudity, scam, misinformation",
            ),
            _number("classifier_score", "classifier score", 0, 100),
        ),
    ),
    Domain(
        "energy meter",
        "MTR",
        (
            _number("daily_use", "daily use", 1, 90, "kWh", 1),
            _number("days_without_reading", "time without a reading", 0, 90, "days"),
            _money("balance_due", "balance due", 0, 1500, 2),
            _flag("smart_meter", "a smart meter is fitted", "a smart meter is not fitted"),
            _flag(
                "vulnerable_household",
                "the household is registered as vulnerable",
                "the household is not registered as vulnerable",
            ),
            _pick("tariff", "tariff", "fixed, variable, night saver, green, prepaid"),
            _number("voltage", "voltage", 200, 260, "V"),
        ),
    ),
)


def domain(noun: str) -> Domain:
    """The domain of this noun; raises KeyError."""
    for one in ALL:
        if one.noun == noun:
            return one
    raise KeyError(noun)


def domains(*nouns: str) -> tuple[Domain, ...]:
    """The domains of these nouns; raises KeyError."""
    return tuple(domain(noun) for noun in nouns)
