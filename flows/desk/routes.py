"""What every route of the desk asks for: the one place where rights are given to pages and actions.

A route that is not here answers nobody.
"""

from typing import Literal

from hallmark.tasks.people.rights import Right

Open = Literal["open"]
"""For everybody, logged in or not: what is needed in order to log in."""

LoggedIn = Literal["logged in"]
"""For everybody who is logged in, whatever they may do."""

InPerson = Literal["in person"]
"""For everybody who logged in with a browser, for themselves."""

NEEDED: dict[tuple[str, str], Right | Open | LoggedIn | InPerson] = {
    ("GET", "/health"): "open",
    ("GET", "/log-in"): "open",
    ("POST", "/log-in"): "open",
    ("GET", "/log-in/provider"): "open",
    ("GET", "/log-in/provider/answer"): "open",
    ("GET", "/invitation/{secret}"): "open",
    ("POST", "/invitation/{secret}"): "open",
    ("POST", "/log-out"): "logged in",
    ("GET", "/me"): "logged in",
    ("POST", "/me/password"): "in person",
    ("POST", "/me/tokens"): "in person",
    ("POST", "/me/tokens/{number}/withdraw"): "in person",
    ("GET", "/"): Right.SEE,
    ("GET", "/releases/{release}"): Right.SEE,
    ("GET", "/releases/{release}/live"): Right.SEE,
    ("GET", "/releases/{release}/published/{name}"): Right.SEE,
    ("GET", "/compare"): Right.SEE,
    ("GET", "/calendar"): Right.SEE,
    ("GET", "/metrics"): Right.SEE,
    ("GET", "/keys"): Right.SEE,
    ("GET", "/docs"): Right.SEE,
    ("GET", "/docs/{name}"): Right.SEE,
    ("GET", "/accounts"): Right.ACCOUNTS,
    ("GET", "/accounts/{account}"): Right.ACCOUNTS,
    ("POST", "/accounts"): Right.BUDGET,
    ("POST", "/accounts/{account}/cap"): Right.BUDGET,
    ("POST", "/accounts/{account}/plan"): Right.BUDGET,
    ("GET", "/releases/{release}/files/{name}"): Right.REVIEW,
    ("GET", "/releases/{release}/rehearsal/{name}"): Right.REVIEW,
    ("POST", "/releases/{release}/comments"): Right.REVIEW,
    ("POST", "/decisions"): Right.DECIDE,
    ("GET", "/specs"): Right.PREPARE,
    ("POST", "/specs"): Right.PREPARE,
    ("GET", "/specs/{name}"): Right.PREPARE,
    ("POST", "/specs/{name}"): Right.PREPARE,
    ("POST", "/specs/{name}/remove"): Right.PREPARE,
    ("GET", "/specs/{name}/about"): Right.PREPARE,
    ("POST", "/specs/{name}/about"): Right.PREPARE,
    ("GET", "/specs/{name}/columns"): Right.PREPARE,
    ("POST", "/specs/{name}/columns"): Right.PREPARE,
    ("POST", "/specs/{name}/columns/type"): Right.PREPARE,
    ("POST", "/specs/{name}/columns/ignore"): Right.PREPARE,
    ("GET", "/specs/{name}/mechanism"): Right.PREPARE,
    ("POST", "/specs/{name}/mechanism"): Right.PREPARE,
    ("POST", "/specs/{name}/mechanism/name"): Right.PREPARE,
    ("GET", "/specs/{name}/questions"): Right.PREPARE,
    ("POST", "/specs/{name}/questions"): Right.PREPARE,
    ("GET", "/specs/{name}/rules"): Right.PREPARE,
    ("POST", "/specs/{name}/rules"): Right.PREPARE,
    ("POST", "/specs/{name}/rules/remove"): Right.PREPARE,
    ("POST", "/specs/check"): Right.PREPARE,
    ("POST", "/specs/plan"): Right.PREPARE,
    ("POST", "/specs/alternative"): Right.PREPARE,
    ("POST", "/specs/frontier"): Right.PREPARE,
    ("GET", "/specs/{name}/board"): Right.PREPARE,
    ("GET", "/schema/release-spec.json"): Right.PREPARE,
    ("POST", "/specs/{name}/validate"): Right.PREPARE,
    ("GET", "/specs/{name}/values"): Right.PREPARE,
    ("POST", "/tables"): Right.PREPARE,
    ("GET", "/tables/{kind}/{name}"): Right.PREPARE,
    ("POST", "/tables/{kind}/{name}/look"): Right.PREPARE,
    ("POST", "/tables/{kind}/{name}/form"): Right.PREPARE,
    ("POST", "/tables/{kind}/{name}/replace"): Right.PREPARE,
    ("POST", "/tables/{kind}/{name}/remove"): Right.PREPARE,
    ("POST", "/tables/{kind}/{name}/private"): Right.PREPARE,
    ("POST", "/releases/{release}/ask"): Right.PREPARE,
    ("POST", "/releases/{release}/decline"): Right.RUN,
    ("POST", "/releases/{release}/start"): Right.RUN,
    ("POST", "/releases/{release}/rehearse"): Right.RUN,
    ("POST", "/releases/{release}/stop"): Right.RUN,
    ("POST", "/releases/{release}/reopen"): Right.RUN,
    ("POST", "/releases/{release}/withdraw"): Right.RUN,
    ("POST", "/releases/{release}/notice"): Right.WITHDRAW,
    ("POST", "/calendar/{entry}/run"): Right.RUN,
    ("POST", "/calendar"): Right.SCHEDULE,
    ("POST", "/calendar/{entry}/remove"): Right.SCHEDULE,
    ("POST", "/calendar/proposals/{number}"): Right.SCHEDULE,
    ("POST", "/releases/{release}/looks"): Right.MANAGE,
    ("GET", "/agency"): Right.GOVERN,
    ("POST", "/agency/proposals"): Right.GOVERN,
    ("POST", "/agency/approvers"): Right.GOVERN,
    ("POST", "/agency/approvers/remove"): Right.GOVERN,
    ("POST", "/agency/gates"): Right.GOVERN,
    ("POST", "/agency/cluster"): Right.GOVERN,
    ("POST", "/agency/proposals/{number}"): Right.GOVERN,
    ("GET", "/log"): Right.AUDIT,
    ("GET", "/log/export"): Right.AUDIT,
    ("GET", "/people"): Right.MANAGE,
    ("POST", "/people"): Right.MANAGE,
    ("POST", "/people/{login}/roles"): Right.MANAGE,
    ("POST", "/people/{login}/invite"): Right.MANAGE,
    ("POST", "/people/{login}/leave"): Right.MANAGE,
    ("POST", "/people/tokens/{number}/withdraw"): Right.MANAGE,
}
"""By method and path. HEAD asks for what GET does."""

BY_ITSELF = frozenset({("GET", "/releases/{release}/live")})
"""What pages ask for by themselves, which keeps nobody logged in who has gone."""

BY_NO_PROGRAM = frozenset({"in person", Right.MANAGE, Right.GOVERN, Right.WITHDRAW})
"""What an access token is never enough for: whoever finds one must not make themselves others that
last longer, nor let people in, nor say what the agency cannot take back."""
