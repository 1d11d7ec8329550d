/** A service, a browser, and a person who is signed in as the owner, for the tests of a file. */
import { BROWSER, sharedBrowser } from "@realtime-avatar/testing/browser";
import { fixture } from "@realtime-avatar/testing/fixture";
import type { BrowserContextOptions } from "playwright-core";
import { newPerson, type Person, signIn } from "./person.ts";
import { type Service, startService } from "./service.ts";

export type World = {
  service: Service;
  owner: Person;
  page: Person["page"];
  /** Opens another browser. */
  openPerson(options?: BrowserContextOptions): Promise<Person>;
};

const openWorld = async (variables: Record<string, string>): Promise<World & { close(): Promise<void> }> => {
  const service = await startService(variables);
  const people: Person[] = [];
  const openPerson = async (options?: BrowserContextOptions): Promise<Person> => {
    const opened = await newPerson(await sharedBrowser(), service, options);
    people.push(opened);
    return opened;
  };
  const owner = await openPerson();
  await signIn(owner, service, "owner", "Ada Lovelace");
  const close = async (): Promise<void> => {
    await Promise.all(people.map(({ context }) => context.close()));
    await service.close();
  };
  return { service, owner, page: owner.page, openPerson, close };
};

/** The world of this file; empty without a browser, which skips the tests. */
export const fileWorld = async (variables: Record<string, string> = {}): Promise<World> =>
  BROWSER ? fixture(openWorld(variables)) : ({} as World);
