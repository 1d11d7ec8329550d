/** The API client of the signed-in person. */
import {
  ApiProblem,
  type ClientOptions,
  createClient,
  NoResponse,
  type ProblemCode,
  type RealtimeAvatarClient,
  UnexpectedResponse,
} from "@realtime-avatar/client";
import { creditAmount } from "../format.ts";

export const ENVIRONMENTS = ["live", "test"] as const;
export type Environment = (typeof ENVIRONMENTS)[number];

const clients = new Map<Environment, RealtimeAvatarClient>();

type RetryOptions = Pick<ClientOptions, "maxAttempts" | "timeoutMs" | "attemptTimeoutMs">;

const newClient = (environment: Environment, retries: RetryOptions): RealtimeAvatarClient =>
  createClient({ baseUrl: location.origin, cookieEnvironment: environment, timeoutMs: 20_000, ...retries });

/** Returns the client for this environment. */
export const clientFor = (environment: Environment): RealtimeAvatarClient => {
  const known = clients.get(environment);
  if (known) return known;
  const client = newClient(environment, { maxAttempts: 3 });
  clients.set(environment, client);
  return client;
};

/** A client without retries, because the person waits and may have another way. */
export const clientWithoutRetries = (environment: Environment): RealtimeAvatarClient =>
  newClient(environment, { maxAttempts: 1 });

/** A client for requests that wait up to 20 seconds for a receiver. */
export const patientClient = (environment: Environment): RealtimeAvatarClient =>
  newClient(environment, { maxAttempts: 1, timeoutMs: 30_000, attemptTimeoutMs: 30_000 });

/** The first `limit` items of a list, and whether the list has more. */
export const takeFrom = async <Item>(
  items: AsyncIterable<Item>,
  limit: number,
): Promise<{ items: Item[]; hasMore: boolean }> => {
  const taken: Item[] = [];
  for await (const item of items) {
    if (taken.length === limit) return { items: taken, hasMore: true };
    taken.push(item);
  }
  return { items: taken, hasMore: false };
};

export const isProblem = (error: unknown, code: ProblemCode): error is ApiProblem =>
  error instanceof ApiProblem && error.code === code;

/** Whether the session has ended, or never existed. */
export const isSignedOut = (error: unknown): boolean => error instanceof ApiProblem && error.status === 401;

/** The text of an error for the person: the problem's detail, and the id of the request. */
export type ErrorText = {
  title: string;
  detail: string;
  requestId: string | null;
  fields: { name: string; detail: string }[];
};

/** The text of an error for a field of a form. */
export const fieldError = (error: unknown, field: string): string | undefined =>
  errorText(error).fields.find(({ name }) => name === field)?.detail;

/** `#/scopes/2` is the field `scopes`. */
const fieldOf = (pointer: string | undefined): string => pointer?.split("/")[1] ?? "";

/** Whether the device has a connection, and whether the request was a read. The page repeats reads by itself. */
type FailedRequest = { isOnline: boolean; isRead: boolean };

const noResponse = ({ isOnline, isRead }: FailedRequest): string => {
  if (isOnline) return "The service did not respond. Try again. If this goes on, check that the service runs.";
  return isRead
    ? "This device is offline. The page is read again when the connection is back."
    : "This device is offline. Try again when the connection is back.";
};

/** The text for a refusal because of the balance or a cap: the needed credits and the next step. */
const costText = (error: ApiProblem): string | null => {
  const required = "requiredCreditMicros" in error ? Number(error.requiredCreditMicros) : Number.NaN;
  if (Number.isNaN(required)) return null;
  const needed = `The call needs ${creditAmount(required)} to start`;
  return error.code === "insufficient_credits"
    ? `${needed}, and fewer are available. Have the operator of the service add some, with the command \`credits grant\`.`
    : `${needed}, and the spend cap of a key leaves less. Raise the cap on the page of the key.`;
};

export const errorText = (
  error: unknown,
  request: FailedRequest = { isOnline: navigator.onLine, isRead: false },
): ErrorText => {
  if (error instanceof ApiProblem) {
    const errors = "errors" in error ? (error.errors as { pointer?: string; detail: string }[] | undefined) : undefined;
    return {
      title: error.title,
      detail: costText(error) ?? error.detail,
      requestId: error.requestId,
      fields: (errors ?? []).map(({ pointer, detail }) => ({ name: fieldOf(pointer), detail })),
    };
  }
  if (error instanceof UnexpectedResponse && error.response.status === 413) {
    const detail =
      "The proxy in front of the service allows only smaller uploads. Use a smaller file, or ask the operator to raise the limit of the proxy: see the documentation (deployment).";
    return { title: "Too large for the proxy", detail, requestId: error.requestId, fields: [] };
  }
  if (error instanceof NoResponse) {
    return { title: "No response", detail: noResponse(request), requestId: error.requestId, fields: [] };
  }
  if (error instanceof Error && error.name === "NotAllowedError") {
    const detail = "The passkey was not used: the request was cancelled, or it took too long. Try again.";
    return { title: "No passkey", detail, requestId: null, fields: [] };
  }
  if (error instanceof Error && error.name === "InvalidStateError") {
    const detail = "This device has a passkey of this account already. Use it to sign in.";
    return { title: "Already registered", detail, requestId: null, fields: [] };
  }
  const detail = error instanceof Error ? error.message : String(error);
  return { title: "Something went wrong", detail, requestId: null, fields: [] };
};
