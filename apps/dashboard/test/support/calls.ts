/** Calls of an application, for tests of pages that show them. */
import { seedKey } from "@realtime-avatar/testing/seeds";
import type { Service } from "./service.ts";

export type Caller = (method: string, path: string, body?: object) => Promise<Record<string, unknown>>;

/** Calls the API with a key. Throws unless it succeeds. */
export const createCaller =
  ({ url }: Pick<Service, "url">, apiKey: string): Caller =>
  async (method, path, body) => {
    const response = await fetch(`${url}/api/v1${path}`, {
      method,
      headers: { authorization: `Bearer ${apiKey}`, "content-type": "application/json" },
      ...(body && { body: JSON.stringify(body) }),
    });
    const result = (await response.json()) as Record<string, unknown>;
    if (!response.ok) throw new Error(`${method} ${path}: ${JSON.stringify(result)}`);
    return result;
  };

/** Creates a key, and calls the API with it. */
export const seedCaller = async (service: Service, request: Parameters<typeof seedKey>[2]): Promise<Caller> => {
  const { secret } = await seedKey(service.database.db, service.tenantId, request);
  return createCaller(service, secret.reveal());
};

/** Opens a call with a hold of `seconds`, and ends it. Returns its id. */
export const makeCall = async (call: Caller, seconds: number, avatarId?: string): Promise<string> => {
  const { sessionId } = await call("POST", "/usage/sessions", {
    maxSessionSeconds: seconds,
    ...(avatarId && { avatarId }),
  });
  await call("POST", `/usage/sessions/${sessionId}/release`, { usedCreditMicros: seconds * 1_000_000 });
  return String(sessionId);
};
