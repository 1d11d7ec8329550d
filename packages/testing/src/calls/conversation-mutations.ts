/** Faults that the tests of turns, resumes and transcripts must find, each a change of the text of the database functions: see `mutate`. */

export const TURN_MUTATIONS = {
  "a turn of another key's call": [
    "and session.environment = p_environment and p_caller.id = any (session.lineage);\n    select call.room into v_room",
    "and session.environment = p_environment;\n    select call.room into v_room",
  ],
  "turns without a lock on their call": [
    "call.session_id = p_turn.session_id\n    for no key update;",
    "call.session_id = p_turn.session_id;",
  ],
  "one turn too many": ["v_waiting >= p_max_waiting then 'too_many'", "v_waiting > p_max_waiting then 'too_many'"],
  "interruptions that count as turns": [
    "filter (where turn.kind <> 'interrupt' and turn.status = 'queued')",
    "filter (where turn.status = 'queued')",
  ],
  "an interruption that leaves the turns that wait": [
    "and turn.ended_at is null and turn.generation is null and turn.kind <> 'interrupt';",
    "and turn.ended_at is null and turn.generation is null and turn.kind = 'interrupt';",
  ],
  "an interruption that drops the turns of the worker": [
    "and turn.ended_at is null and turn.generation is null and turn.kind <> 'interrupt';",
    "and turn.ended_at is null and turn.kind <> 'interrupt';",
  ],
  "a turn that its worker does not receive": [
    "      update fleet.avatar_slots set has_news = true where session_id = p_turn.session_id;\n    end if;\n  end if;",
    "    end if;\n  end if;",
  ],
  "turns in another order": ["order by given.number, given.session_id) into", "order by given.id desc) into"],
  "a report of a turn that is over": [
    [
      "where turn.session_id = slot.session_id and turn.ended_at is null and turn.status",
      "where turn.session_id = slot.session_id and turn.status",
    ],
    [
      "and turn.generation = call.generation and turn.ended_at is null and turn.status",
      "and turn.generation = call.generation and turn.status",
    ],
  ],
  "a turn that keeps its text": [
    "text = case when reported.status = 'speaking' then turn.text end,",
    "text = turn.text,",
  ],
} as const;

export const RESUME_MUTATIONS = {
  "a resume of another key's call": [
    "and session.id = p_session_id and p_caller.id = any (session.lineage)\n  for no key update of session;\n  select call.* into v_call",
    "and session.id = p_session_id\n  for no key update of session;\n  select call.* into v_call",
  ],
  "a resume with a room for each request": ["room_number < p_room_number;", "true;"],
  "a resume with a number that is too high": ["v_call.room_number in (p_room_number - 1, p_room_number) and", ""],
  "a resume with an ended key": [
    "when v_is_resumable is not true or v_is_ended then",
    "when v_is_resumable is not true then",
  ],
  "a resume of a call with an agent": [
    "          where agent.tenant_id = call.tenant_id and agent.session_id = call.session_id\n        )\n    )\n",
    "          where false\n        )\n    )\n",
  ],
  "a resume at a worker that cannot move it": ["and 'resume' = any (worker.features)", ""],
  "a resume before the start": [
    "and p_session.started_at is not null and not p_session.must_end",
    "and not p_session.must_end",
  ],
} as const;

export const TRANSCRIPT_MUTATIONS = {
  "segments of another worker": ["  if p_worker_id is distinct from v_worker_id or v_transcript", "  if v_transcript"],
  "segments of an earlier generation": [
    "  if v_call.generation is distinct from p_generation then",
    "  if v_call.generation is null then",
  ],
  "segments that are written after a gap": ["  elsif p_first > v_next then\n    return v_next;\n", ""],
  "segments that are not deleted with their transcript": [
    "  delete from public.call_segments where tenant_id = p_tenant_id and session_id = p_session_id;\n  return true;",
    "  return true;",
  ],
  "a transcript that is finished without its lease": [
    "session_id = p_session_id and lease = p_lease;\n  if not found then",
    "session_id = p_session_id;\n  if not found then",
  ],
  "a transcript of more than its share of bytes": ["v_size_bytes > 262144 or", "v_size_bytes > 262144000 or"],
} as const;
