"""From a spec to a plan: columns, rules, totals and queries become a domain and its tables."""
