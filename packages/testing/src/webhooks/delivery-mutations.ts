/** Faults that the tests of deliveries must find: see `credits/mutations.ts`. */
export const DELIVERY_MUTATIONS = {
  "no lock on the turns": [
    "where turn.tenant_id = any (v_tenant_ids) for no key update skip locked",
    "where turn.tenant_id = any (v_tenant_ids)",
  ],
  "an ordered endpoint without order": ["served.ordered and exists (", "false and exists ("],
  "a delivery that is parked behind an ended one": [
    "earlier.sequence desc limit 1\n      for share skip locked",
    "earlier.sequence desc limit 1",
  ],
  "parked deliveries that stay parked": [
    "update public.webhook_deliveries set waits = false where ctid = any (v_places);",
    "null;",
  ],
  "parked deliveries that are not locked with the finished ones": [
    "      and delivery.lease = finished.lease and finished.outcome",
    "      and false and finished.outcome",
  ],
  "a wait for the lock of a parked delivery": [
    "for no key update skip locked\n  ) locked on true;",
    "for no key update\n  ) locked on true;",
  ],
  "a locked parked delivery that stays parked": ["  if not v_are_locked then", "  if false then"],
  "an outcome that counts although its lease was lost": [
    "and delivery.lease = finished.lease\n    returning",
    "\n    returning",
  ],
  "the second body wins": [
    'and event.id = frozen.id collate "C" and event.body is null;',
    'and event.id = frozen.id collate "C";',
  ],
  "a sweep that deletes pending deliveries": ["collate \"C\" and stored.status <> 'pending'\n", 'collate "C"\n'],
} as const;
