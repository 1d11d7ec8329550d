/** The fields of an endpoint, which are the same for a new endpoint and for a change. */
import type { WebhookEndpoint } from "@realtime-avatar/client";
import { MAX_DESCRIPTION_LENGTH, MAX_URL_LENGTH } from "@realtime-avatar/domain/text";
import { WEBHOOK_OBJECTS, type WebhookObject } from "@realtime-avatar/domain/webhooks/events";
import { useId } from "react";
import { TextField } from "../components/field.tsx";
import { Prose } from "../components/prose.tsx";
import { type Choice, eventGroup, eventText, includesType, OBJECT_TEXTS, offeredTypes, withChoice } from "./events.ts";

/** The values of the form. `events`: ignored if `isAll`. */
export type Values = { url: string; description: string; isAll: boolean; events: readonly Choice[]; ordered: boolean };
export type Fields = Pick<WebhookEndpoint, "description" | "events" | "ordered"> & { url: string };

/** The fields of the form; null while it is incomplete. */
export const parseFields = ({ url, description, isAll, events, ordered }: Values): Fields | null =>
  !isAll && events.length === 0
    ? null
    : { url: url.trim(), description: description.trim() || null, events: isAll ? null : [...events], ordered };

/** The fields that show errors of the service. */
export const SHOWN_FIELDS: readonly (keyof Fields)[] = ["url", "description", "events"];

const ROW = "flex cursor-pointer items-start gap-3";
const BOX = "mt-1 size-4 shrink-0 accent-fill";

type ChoicesProps = { value: readonly Choice[]; onChange: (events: Choice[]) => void };

const ObjectChoices = ({ object, value, onChange }: ChoicesProps & { object: WebhookObject }) => {
  const group = eventGroup(object);
  const hasGroup = value.includes(group);
  return (
    <fieldset className="border-b border-line px-3 py-2 last:border-0">
      <legend className="sr-only">{OBJECT_TEXTS[object]}</legend>
      <label className={ROW}>
        <input
          type="checkbox"
          className={BOX}
          checked={hasGroup}
          onChange={({ target }) => onChange(withChoice(value, group, target.checked))}
        />
        <span className="min-w-0">
          <code className="text-sm font-medium">{group}</code>
          <span className="block text-sm text-muted">
            {OBJECT_TEXTS[object]}: all events, also those that are added later
          </span>
        </span>
      </label>
      <div className="mt-1 grid gap-x-4 gap-y-1 pl-7 sm:grid-cols-2">
        {offeredTypes(object).map((type) => (
          <label key={type} className={ROW}>
            <input
              type="checkbox"
              className={BOX}
              checked={includesType(value, type)}
              disabled={hasGroup}
              onChange={({ target }) => onChange(withChoice(value, type, target.checked))}
            />
            <span className="min-w-0">
              <code className="text-xs break-all">{type}</code>
              <span className="block text-sm text-muted">{eventText(type)}</span>
            </span>
          </label>
        ))}
      </div>
    </fieldset>
  );
};

/** One of two radio buttons. */
const Radio = ({ name, isOn, onChoose, text }: { name: string; isOn: boolean; onChoose: () => void; text: string }) => (
  <label className={`${ROW} min-h-8`}>
    <input type="radio" name={name} className={BOX} checked={isOn} onChange={onChoose} />
    <span>{text}</span>
  </label>
);

type Props = {
  values: Values;
  onChange: (change: Partial<Values>) => void;
  /** The errors of the service, by field. */
  errors: (name: keyof Fields) => string | undefined;
  /** Whether the endpoint has no URL, because a program reads its deliveries. */
  isListener?: boolean;
};

export const EndpointFields = ({ values, onChange, errors, isListener = false }: Props) => {
  const id = useId();
  const eventsError = !values.isAll && values.events.length === 0 ? "Choose at least one." : errors("events");
  return (
    <>
      {!isListener && (
        <TextField
          label="URL"
          type="url"
          hint="It receives a POST for each event. It begins with https:// and has a public name."
          placeholder="https://example.com/webhooks"
          value={values.url}
          onChange={({ target }) => onChange({ url: target.value })}
          error={errors("url")}
          maxLength={MAX_URL_LENGTH}
          required
          data-focus
          // Set for a form that is shown after its dialog has opened.
          autoFocus
        />
      )}
      <TextField
        label="Description"
        hint="The receiver of the events, such as “Billing”. Can be empty."
        value={values.description}
        onChange={({ target }) => onChange({ description: target.value })}
        error={errors("description")}
        maxLength={MAX_DESCRIPTION_LENGTH}
      />
      <label className={`${ROW} mb-4`}>
        <input
          type="checkbox"
          className={BOX}
          checked={values.ordered}
          onChange={({ target }) => onChange({ ordered: target.checked })}
        />
        <span className="min-w-0">
          <span className="text-sm font-medium">In order</span>
          <span className="block text-sm text-muted">
            An event waits until the earlier events of the same resource were delivered or have failed. Without it,
            events can arrive in any order, and their <code>sequence</code> tells which is newer.
          </span>
        </span>
      </label>
      <fieldset>
        <legend className="mb-1 text-sm font-medium">Events</legend>
        <Radio
          name={`${id}-events`}
          isOn={values.isAll}
          onChoose={() => onChange({ isAll: true })}
          text="All, also those that are added later"
        />
        <Radio
          name={`${id}-events`}
          isOn={!values.isAll}
          onChoose={() => onChange({ isAll: false })}
          text="Only those that you choose"
        />
        {!values.isAll && (
          <div className="mt-2 rounded-lg border border-line">
            {WEBHOOK_OBJECTS.map((object) => (
              <ObjectChoices
                key={object}
                object={object}
                value={values.events}
                onChange={(events) => onChange({ events })}
              />
            ))}
          </div>
        )}
        {eventsError && (
          <p className="mt-1 text-sm text-bad">
            <Prose text={eventsError} />
          </p>
        )}
      </fieldset>
    </>
  );
};
