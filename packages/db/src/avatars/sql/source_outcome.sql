-- Whether an avatar of `p_environment` can be built from the asset `p_id`: 'written', or why it is refused. The asset may still
-- be on its way. Its kind and its status are null when the avatar's tenant has none of this id in the avatar's environment.
-- A test asset (TEST_ASSETS of the domain) can be the source of every avatar in the environment test. The service knows which
-- of them exist.
create function rta.source_outcome(
  p_environment text,
  p_id text,
  p_source_kind text,
  p_asset_kind text,
  p_asset_status text
) returns text
language sql immutable as $$
  select case
    when p_environment = 'test' and p_id like 'ast\_test\_%' then 'written'
    when p_asset_kind is null then 'asset_not_found'
    when p_asset_kind <> p_source_kind then 'asset_kind_mismatch'
    when p_asset_status in ('failed', 'deleted') then 'asset_not_usable'
    else 'written'
  end
$$;
