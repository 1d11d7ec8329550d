/** What the palette leads to, for a text that is typed into it. */
import type { Environment } from "../api/client.ts";
import type { Page, SearchChange } from "../layout/navigation.tsx";
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

/** The page that shows an object, by the prefix of its id. */
const OBJECTS: Record<string, [name: string, open: (id: string) => Target]> = {
  key: ["key", (id) => page("/keys", { key: id, all: true })],
  ava: ["avatar", (id) => page("/avatars", { avatar: id })],
  ses: ["call", (id) => page("/usage", { session: id })],
  whe: ["endpoint", (id) => page("/webhooks", { endpoint: id })],
};

/** A whole id leads to its object, also to one that no list has loaded, and to what was done with it. */
const ofId = (id: string): Entry[] => {
  const [name, open] = OBJECTS[id.slice(0, 3)] ?? [];
  return [
    ...(name && open ? [{ name: `Open the ${name} ${id}`, group: "Id", target: open(id) }] : []),
    { name: `Audit trail of ${id}`, group: "Id", target: page("/audit", { target: id }) },
  ];
};

const ID = /^[a-z]{3}_[0-9a-z]{26}$/;

/** Pages and actions whose names have each word of the text, or what an id names. */
export const entriesOf = (text: string, reader: Reader): Entry[] => {
  const query = text.trim().toLowerCase();
  if (ID.test(query)) return ofId(query);
  const pages = PAGES.map(([to, name]) => ({ name, group: "Page", target: page(to) }));
  const words = query.split(/\s+/);
  return [...pages, ...creations(reader), ...others(reader)].filter(({ name }) =>
    words.every((word) => name.toLowerCase().includes(word)),
  );
};
