/** The entries of the palette for a typed text. */
import type { Environment } from "../api/client.ts";
import type { Page, SearchChange } from "../layout/navigation.tsx";
import { PLACES } from "../layout/object-name.tsx";
import { PAGES } from "../layout/pages.ts";

export type Target =
  | { kind: "page"; to: Page; search?: SearchChange }
  | { kind: "environment"; environment: Environment }
  | { kind: "reference" }
  | { kind: "shortcuts" };

export type Entry = { name: string; group: string; target: Target };

export type Reader = { environment: Environment; canCreate: boolean; canInvite: boolean };

const page = (to: Page, search?: SearchChange): Target => ({ kind: "page", to, ...(search && { search }) });

const creations = ({ environment, canCreate, canInvite }: Reader): Entry[] =>
  (
    [
      [canCreate, `Create a ${environment} key`, "/keys"],
      [canCreate, "Create an avatar", "/avatars"],
      [canCreate, "Create a webhook endpoint", "/webhooks"],
      [canInvite, "Create an invitation", "/people"],
    ] as const
  ).flatMap(([isAllowed, name, to]) =>
    isAllowed ? [{ name, group: "Action", target: page(to, { create: true }) }] : [],
  );

const others = ({ environment }: Reader): Entry[] => {
  const other = environment === "live" ? "test" : "live";
  return [
    {
      name: `Switch to the ${other} environment`,
      group: "Action",
      target: { kind: "environment", environment: other },
    },
    { name: "API reference", group: "Help", target: { kind: "reference" } },
    { name: "Keyboard shortcuts", group: "Help", target: { kind: "shortcuts" } },
  ];
};

/** The pages that show objects, by the prefix of the id. */
const OBJECTS: Record<string, string> = { key: "key", ava: "avatar", vid: "video", ses: "call", whe: "endpoint" };

/** A whole id links to its object (loaded by a list or not) and to its audit events. */
const ofId = (id: string): Entry[] => {
  const name = OBJECTS[id.slice(0, 3)];
  const place = PLACES[id.slice(0, 3)]?.(id);
  return [
    ...(name && place ? [{ name: `Open the ${name} ${id}`, group: "Id", target: page(place.to, place.search) }] : []),
    { name: `Audit trail of ${id}`, group: "Id", target: page("/audit", { target: id }) },
  ];
};

const ID = /^[a-z]{3}_[0-9a-z]{26}$/;
export const isObjectId = (text: string): boolean => ID.test(text.trim().toLowerCase());

/** Pages and actions whose names contain each word of the text, or the object of an id. */
export const findEntries = (text: string, reader: Reader): Entry[] => {
  const query = text.trim().toLowerCase();
  if (isObjectId(query)) return ofId(query);
  const pages = PAGES.map(([to, name]) => ({ name, group: "Page", target: page(to) }));
  const words = query.split(/\s+/);
  return [...pages, ...creations(reader), ...others(reader)].filter(({ name }) =>
    words.every((word) => name.toLowerCase().includes(word)),
  );
};
