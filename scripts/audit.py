"""Known weaknesses of the installed dependencies, from pip-audit's report on standard input.

Exits with 1 if there are any, with 2 if nothing was audited: a registry that cannot be reached, or
a mirror without advisories, must not look like a clean result.
"""

import json
import sys

try:
    found = json.load(sys.stdin)["dependencies"]
except ValueError:
    found = []
audited = [each for each in found if "skip_reason" not in each]
weak = [(each, about) for each in audited for about in each["vulns"]]
for each, about in weak:
    fixed = ", ".join(about["fix_versions"]) or "no version yet"
    print(f"{each['name']} {each['version']}: {about['id']}, fixed in {fixed}")
print(f"{len(audited)} of {len(found)} packages audited, {len(weak)} known weaknesses")
if not audited:
    print("nothing was audited: the registry cannot be reached, or has no advisories")
sys.exit(1 if weak else 0 if audited else 2)
