/** The filters of the audit trail, which are part of the address. */
import type { AuditEvent } from "@realtime-avatar/client";
import { useQuery } from "@tanstack/react-query";
import { listUsers } from "../api/people.ts";
import { Button } from "../components/button.tsx";
import { DayField, InlineSelect, Options } from "../components/field.tsx";
import { useNavigation } from "../layout/navigation.tsx";
import { useNameText } from "../layout/object-name.tsx";
import { ACTION_TEXTS, type Filters } from "./data.ts";

/** The members and the current actor filter. A key is chosen at one of its events, or on its page. */
const ActorSelect = ({ actor, name }: { actor: string | undefined; name: string | null }) => {
  const { change } = useNavigation();
  const nameText = useNameText();
  const users = useQuery({ queryKey: ["users"], queryFn: listUsers, staleTime: 60_000 }).data ?? [];
  return (
    <InlineSelect
      label="Actor"
      className="w-full sm:w-auto sm:max-w-60"
      value={actor ?? ""}
      onChange={({ target: { value } }) => change({ actor: value || undefined })}
    >
      <option value="">By anyone</option>
      {actor !== undefined && !users.some(({ id }) => id === actor) && (
        <option value={actor}>{nameText({ id: actor, name })}</option>
      )}
      {users.map((user) => (
        <option key={user.id} value={user.id}>
          {user.name || user.email}
        </option>
      ))}
    </InlineSelect>
  );
};

/** `events`: the shown events, which contain the names of the filtered objects. */
export const FilterBar = ({ filters, events }: { filters: Filters; events: readonly AuditEvent[] }) => {
  const { action, target, actor, since, until } = filters;
  const { change } = useNavigation();
  const nameText = useNameText();
  const [event] = events;
  return (
    <div className="mb-4 grid grid-cols-2 gap-3 sm:flex sm:flex-wrap sm:items-center">
      <InlineSelect
        label="Action"
        className="w-full sm:w-auto"
        value={action ?? ""}
        onChange={({ target: { value } }) => change({ action: value || undefined })}
      >
        <option value="">All actions</option>
        <Options of={Object.entries(ACTION_TEXTS)} />
      </InlineSelect>
      <ActorSelect actor={actor} name={event?.actorName ?? null} />
      <DayField label="From" value={since} onChange={(day) => change({ since: day || undefined }, true)} />
      <DayField label="To" value={until} onChange={(day) => change({ until: day || undefined }, true)} />
      {target && (
        <Button className="max-w-full max-sm:col-span-2" onClick={() => change({ target: undefined })}>
          <span className="min-w-0 truncate">Only {nameText({ id: target, name: event?.targetName ?? null })}</span>
          <span aria-hidden="true">✕</span>
          <span className="sr-only">Show all objects</span>
        </Button>
      )}
    </div>
  );
};
