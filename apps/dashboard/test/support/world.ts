/** A service, a browser, and a person who has registered as the owner, for the tests of a file. */
import { afterAll, beforeAll, setDefaultTimeout } from "bun:test";
import { sharedBrowser } from "@realtime-avatar/testing/browser";
import type { BrowserContextOptions } from "playwright-core";
import { newPerson, type Person, register } from "./person.ts";
import { type Service, startService } from "./service.ts";

export type World = {
  service: Service;
  owner: Person;
  /** Opens another browser. */
  person(options?: BrowserContextOptions): Promise<Person>;
};

/** The world of the tests of the `describe` that calls this. It is there from the first test to the last one. */
export const useWorld = (variables: () => Record<string, string> = () => ({})): World => {
  // No test asserts a time: a slow disk must not fail one.
  setDefaultTimeout(180_000);
  const world = { service: {} as Service, owner: {} as Person };
  const people: Person[] = [];
  const person = async (options?: BrowserContextOptions): Promise<Person> => {
    const opened = await newPerson(await sharedBrowser(), world.service, options);
    people.push(opened);
    return opened;
  };
  beforeAll(async () => {
    Object.assign(world.service, await startService(variables()));
    Object.assign(world.owner, await person());
    await register(world.owner, await world.service.invite("ada@example.com", "owner"), "Ada Lovelace");
  });
  afterAll(async () => {
    await Promise.all(people.map(({ context }) => context.close()));
    await world.service.close?.();
  });
  return { ...world, person };
};
