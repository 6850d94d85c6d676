"""Our server in the configuration files of the programs that use it: look, plan, show, write.

places, server = Places.here(), Server.here()
for found in survey(places, server):
    print(found.client.title, found.state)
plan = plan_connect(client("cursor"), places, server)
print(plan.diff)
carry_out(plan, clock=clock)
"""

from gm_engine.wiring.clients import CLIENTS, Client, Places, Scope, Server, client, snippet
from gm_engine.wiring.plans import Connection, Plan, Written, carry_out, plan_connect, plan_disconnect, survey

__all__ = [
    "CLIENTS",
    "Client",
    "Connection",
    "Places",
    "Plan",
    "Scope",
    "Server",
    "Written",
    "carry_out",
    "client",
    "plan_connect",
    "plan_disconnect",
    "snippet",
    "survey",
]
