/** A service, a browser, and a person who has registered as the owner. */
import { sharedBrowser } from "@realtime-avatar/testing/browser";
import type { Browser, BrowserContextOptions } from "playwright-core";
import { newPerson, type Person, register } from "./person.ts";
import { type Service, startService } from "./service.ts";

export type World = {
  service: Service;
  browser: Browser;
  owner: Person;
  /** Opens another browser. */
  person(options?: BrowserContextOptions): Promise<Person>;
  close(): Promise<void>;
};

/** Starts a world, with more settings of the service. Close it after the tests. */
export const startWorld = async (variables: Record<string, string> = {}): Promise<World> => {
  const [service, browser] = await Promise.all([startService(variables), sharedBrowser()]);
  const people: Person[] = [];
  const person = async (options?: BrowserContextOptions): Promise<Person> => {
    const opened = await newPerson(browser, service, options);
    people.push(opened);
    return opened;
  };
  const owner = await person();
  await register(owner, await service.invite("ada@example.com", "owner"), "Ada Lovelace");
  const close = async (): Promise<void> => {
    await Promise.all(people.map(({ context }) => context.close()));
    await service.close();
  };
  return { service, browser, owner, person, close };
};
