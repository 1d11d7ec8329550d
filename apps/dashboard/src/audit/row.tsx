/** An event of the audit trail: one line, and its details on demand. */
import type { AuditEvent } from "@realtime-avatar/client";
import { useId, useState } from "react";
import { Button } from "../components/button.tsx";
import { CopyId } from "../components/copy.tsx";
import { Badge, Item } from "../components/text.tsx";
import { dateTime, exactTime } from "../format.ts";
import { useNavigation } from "../layout/navigation.tsx";
import { ObjectName } from "../layout/object-name.tsx";
import { ACTION_TEXTS, fieldsText, serviceText } from "./data.ts";

/** On a phone, only the names fit. The details have the ids, and say when the service acted. */
const NAME = "max-md:[&>button]:hidden";

const Actor = ({ event: { actorId, actorName, action } }: { event: AuditEvent }) =>
  actorId === null ? (
    <span className="block truncate text-muted max-md:hidden">{serviceText(action)}</span>
  ) : (
    <ObjectName id={actorId} name={actorName} className={NAME} />
  );

const Code = ({ id }: { id: string }) => (
  <span className="flex items-center gap-1">
    <code className="min-w-0 truncate text-xs">{id}</code>
    <CopyId id={id} />
  </span>
);

const Details = ({ id, event }: { id: string; event: AuditEvent }) => {
  const { change } = useNavigation();
  const { actorId, actorKeyId, targetId } = event;
  const fields = fieldsText(event);
  return (
    <div id={id} className="border-t border-line bg-raised px-4 py-3">
      <dl className="grid gap-x-4 gap-y-3 text-sm sm:grid-cols-2 lg:grid-cols-3">
        <Item name="Time">{exactTime(event.createdAt)}</Item>
        <Item name="Object">
          <Code id={targetId} />
        </Item>
        <Item name="Actor">{actorId === null ? serviceText(event.action) : <Code id={actorId} />}</Item>
        {actorKeyId !== null && (
          <Item name="Credential of the key">
            <Code id={actorKeyId} />
          </Item>
        )}
        <Item name="Request">
          <Code id={event.requestId} />
        </Item>
        {fields && <Item name="Changed">{fields}</Item>}
      </dl>
      <div className="mt-3 flex flex-wrap gap-2">
        <Button onClick={() => change({ target: targetId })}>Only this object</Button>
        {actorId !== null && <Button onClick={() => change({ actor: actorId })}>Only this actor</Button>}
      </div>
    </div>
  );
};

export const EventRow = ({ event }: { event: AuditEvent }) => {
  const [isOpen, setOpen] = useState(false);
  const id = useId();
  const text = ACTION_TEXTS[event.action] ?? event.action;
  const fields = fieldsText(event);
  return (
    <li className="border-b border-line last:border-0">
      <div className="flex h-10 items-center gap-x-3 pr-2 pl-4 text-sm md:grid md:grid-cols-[9rem_minmax(0,1.2fr)_minmax(0,1fr)_minmax(0,1fr)_auto]">
        <time dateTime={event.createdAt} className="truncate text-muted max-md:hidden">
          {dateTime(event.createdAt)}
        </time>
        <span className="flex min-w-0 items-center gap-1.5">
          <span className="truncate font-medium max-md:min-w-0 md:shrink-0">{text}</span>
          {event.environment === "test" && <Badge tone="warn">test</Badge>}
          {fields && (
            <span title={fields} className="min-w-0 truncate text-muted max-md:hidden">
              {fields}
            </span>
          )}
        </span>
        <span className="min-w-0 max-md:flex-1">
          <ObjectName id={event.targetId} name={event.targetName} className={NAME} />
        </span>
        <span className="min-w-0 max-md:max-w-[35%]">
          <Actor event={event} />
        </span>
        <button
          type="button"
          aria-expanded={isOpen}
          aria-controls={isOpen ? id : undefined}
          aria-label={`Details: ${text}`}
          onClick={() => setOpen(!isOpen)}
          className="grid size-8 shrink-0 place-items-center rounded-md text-muted hover:bg-raised hover:text-text"
        >
          <svg
            aria-hidden="true"
            viewBox="0 0 16 16"
            className={`size-4 fill-none stroke-current stroke-[1.5] ${isOpen ? "rotate-180" : ""}`}
          >
            <path d="M4 6l4 4 4-4" />
          </svg>
        </button>
      </div>
      {isOpen && <Details id={id} event={event} />}
    </li>
  );
};
