"""What branch families are made of: domains, rules, branches, layouts."""
