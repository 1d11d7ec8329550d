/** Faults that the tests of calls must find, each a change of the text of the database functions: see `mutate`. */

export const CALL_MUTATIONS = {
  "a call that ends keeps its slot": [
    "update fleet.avatar_slots set tenant_id = null, session_id = null, has_news = true where session_id = any (v_calls);",
    "update fleet.avatar_slots set has_news = true where session_id = any (v_calls);",
  ],
  "a report of another generation": [
    "call.session_id = slot.session_id and call.generation = report.generation",
    "call.session_id = slot.session_id",
  ],
  "seconds that count on while a call moves": [
    "handovers = handovers + p_is_handover::integer, counts_from = null\n",
    "handovers = handovers + p_is_handover::integer\n",
  ],
  "seconds that count on while a worker joins again": [
    "when v_report.state <> 'started' then null\n",
    "when v_report.state <> 'started' then v_report.counts_from\n",
  ],
  "seconds that a stalled worker has not seen": [
    "when p_silent_seconds > 3 then greatest(",
    "when p_silent_seconds > 3000 then greatest(",
  ],
  "seconds that count on without a worker": [
    "ceil(extract(epoch from least(\n      p_now,",
    "ceil(extract(epoch from greatest(\n      p_now,",
  ],
  "a moved call that is charged its last report alone": ["set used = p_used, version", "set used = used, version"],
  "a call that does not wait for a slot": ["elsif not v_can_wait[v_at] then", "else"],
  "a hold that is used up by the clock alone": [
    "and call.counts_from + make_interval(secs => session.reserved / session.price + 3) <= p_now\n",
    "\n",
  ],
  "a call that ends keeps the token of its agent": [
    "where agent.tenant_id = session.tenant_id and agent.session_id = session.id;",
    "where agent.tenant_id = session.tenant_id and agent.session_id = session.id and false;",
  ],
  "a token that is sent again is another call": ["when v_session_id is not null then 'same'", ""],
  "an avatar that does not wait for its agent": ["and (not own.has_agent or own.url is not null)", ""],
  "a start that ignores the queue": [
    "if p_queue.free_slots - cardinality(v_aheads) > v_ahead",
    "if p_queue.free_slots - cardinality(v_aheads) > 0 * v_ahead",
  ],
  "a conversation at the price of a call": [
    "then v_call.conversation_price\n        else v_price",
    "then v_price\n        else v_price",
  ],
  "a hold at another price than that of its session": [
    "p_outcomes[ordinality].reserved, p_outcomes[ordinality].price, metadata",
    "p_outcomes[ordinality].reserved, request.price, metadata",
  ],
  "a call at a worker that does not have its voice": ["where at <> all (p_taken) and", "where at <> all (p_taken) or"],
  "usage of another generation": [
    "call.session_id = used.session_id and call.generation = used.generation",
    "call.session_id = used.session_id",
  ],
  "usage that is added whole with each report": [
    "greatest(v_used.input_tokens - v_used.input_before, 0)",
    "v_used.input_tokens",
  ],
  "usage of a call that is counted, and not kept": [
    "input_tokens = call.input_tokens + growth.input_tokens, output",
    "input_tokens = call.input_tokens, output",
  ],
  "a slot that two calls of a batch get": ["v_slots := v_slots || v_slot;", ""],
} as const;
