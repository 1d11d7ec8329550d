/** Faults that the tests of deliveries must find: see `credits/mutations.ts`. */
export const DELIVERY_MUTATIONS = {
  "no lock on the turns": [
    "where turn.tenant_id = any (v_tenant_ids) for no key update skip locked",
    "where turn.tenant_id = any (v_tenant_ids)",
  ],
  "an ordered endpoint without order": ["served.ordered and exists (", "false and exists ("],
  "parked behind one that has just ended": [
    "earlier.sequence desc limit 1\n      for share skip locked",
    "earlier.sequence desc limit 1",
  ],
  "nothing frees what waits": [
    "update public.webhook_deliveries set waits = false where ctid = any (v_places);",
    "null;",
  ],
  "what waits is not locked with what ends": [
    "      and delivery.lease = finished.lease and finished.outcome",
    "      and false and finished.outcome",
  ],
  "what waits and is held is waited for": [
    "for no key update skip locked\n  ) locked on true;",
    "for no key update\n  ) locked on true;",
  ],
  "what waits and is held is forgotten": ["  if not v_are_locked then", "  if false then"],
  "a lost lease counts": ["and delivery.lease = finished.lease\n    returning", "\n    returning"],
  "the second body wins": [
    'and event.id = frozen.id collate "C" and event.body is null;',
    'and event.id = frozen.id collate "C";',
  ],
  "the sweep takes what is pending": ["collate \"C\" and stored.status <> 'pending'\n", 'collate "C"\n'],
} as const;
