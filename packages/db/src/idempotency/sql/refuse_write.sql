-- The outcome `p_kind` of a single write that is refused after its claim was written (claim_write): the claim is deleted.
create function rta.refuse_write(p_kind text, p_caller rta.caller, p_claim rta.claim, p_audit_event rta.audit_event)
returns rta.write_outcome
language plpgsql as $$
declare
  v_outcomes rta.write_outcome[] := rta.all_written();
begin
  v_outcomes[1].kind := p_kind;
  if p_claim.request is not null then
    perform rta.delete_refused_claims(array[p_caller], array[1], array[p_claim], array[p_audit_event], v_outcomes);
  end if;
  return v_outcomes[1];
end $$;
