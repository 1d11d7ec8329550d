/** The filters of the audit trail. They are part of the address. */
import type { AuditEvent } from "@realtime-avatar/client";
import { useQuery } from "@tanstack/react-query";
import { listUsers } from "../api/people.ts";
import { Button } from "../components/button.tsx";
import { InlineSelect } from "../components/field.tsx";
import { useNavigation } from "../layout/navigation.tsx";
import { useNameText } from "../layout/object-name.tsx";
import { ACTION_TEXTS, type Filters } from "./data.ts";

const DateField = ({ label, value, onChange }: { label: string; value: string; onChange: (day: string) => void }) => (
  <label className="grid gap-1 text-sm text-muted sm:flex sm:items-center sm:gap-2">
    {label}
    <input
      type="date"
      value={value}
      onChange={({ target }) => onChange(target.value)}
      className="min-h-9 w-full rounded-lg border border-field bg-surface px-2 py-1 text-sm text-text"
    />
  </label>
);

/** The members, and the actor that is filtered by: a key is chosen at one of its events, or on its page. */
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

/** `events`: those that are shown, which have the names of what is filtered by. */
export const FilterBar = ({ filters, events }: { filters: Filters; events: readonly AuditEvent[] }) => {
  const { action, target, actor, since = "", until = "" } = filters;
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
        {Object.entries(ACTION_TEXTS).map(([value, text]) => (
          <option key={value} value={value}>
            {text}
          </option>
        ))}
      </InlineSelect>
      <ActorSelect actor={actor} name={event?.actorName ?? null} />
      <DateField label="From" value={since} onChange={(day) => change({ since: day || undefined }, true)} />
      <DateField label="To" value={until} onChange={(day) => change({ until: day || undefined }, true)} />
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
