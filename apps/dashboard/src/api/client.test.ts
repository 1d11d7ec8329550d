import { expect, test } from "bun:test";
import { ApiProblem, NoResponse, UnexpectedResponse } from "@realtime-avatar/client";
import { errorText, fieldError, isProblem, isSignedOut, takeFrom } from "./client.ts";

const refused = (code: string): string => {
  const body = { type: `/problems/${code}`, title: "Refused", status: 402, detail: "Refused.", code, requestId: "r" };
  const problem = { ...body, retryable: false, requiredCreditMicros: 60_000_000 };
  const error = new ApiProblem(problem as unknown as ConstructorParameters<typeof ApiProblem>[0]);
  return errorText(error, { isOnline: true, isRead: false }).detail;
};

test("a call, refused at the balance and at a cap: the needed credits and the next step", () => {
  expect(refused("insufficient_credits")).toMatch(/^The call needs 60 credits to start, .* `credits grant`\.$/);
  expect(refused("spend_limit_exceeded")).toMatch(/^The call needs 60 credits to start, .* Raise the cap/);
});

const problem = (status: number, code: string, members: object = {}): ApiProblem => {
  const body = { type: "t", title: "Title", status, detail: "Detail.", code, requestId: "r", retryable: false };
  return new ApiProblem({ ...body, ...members } as unknown as ConstructorParameters<typeof ApiProblem>[0]);
};
const ONLINE = { isOnline: true, isRead: false };
const sent = { requestId: "r", idempotencyKey: null };

test("a problem: its text, its request id, and its text for each field", () => {
  const errors = [{ pointer: "#/scopes/2", detail: "Unknown." }, { detail: "Wrong." }];
  const invalid = problem(422, "validation_failed", { errors });
  expect(errorText(invalid, ONLINE)).toEqual({
    title: "Title",
    detail: "Detail.",
    requestId: "r",
    fields: [
      { name: "scopes", detail: "Unknown." },
      { name: "", detail: "Wrong." },
    ],
  });
  expect([fieldError(invalid, "scopes"), fieldError(invalid, "name")]).toEqual(["Unknown.", undefined]);
});

test.each<[string, unknown, typeof ONLINE, string]>([
  ["no response", new NoResponse(null, sent), ONLINE, "No response: The service did not respond."],
  [
    "no response, offline",
    new NoResponse(null, sent),
    { isOnline: false, isRead: false },
    "No response: This device is offline. Try",
  ],
  [
    "no response to a read, offline",
    new NoResponse(null, sent),
    { isOnline: false, isRead: true },
    "No response: This device is offline. The page is read again",
  ],
  [
    "413 of a proxy",
    new UnexpectedResponse(new Response(null, { status: 413 }), sent),
    ONLINE,
    "Too large for the proxy: ",
  ],
  [
    "502 of a proxy",
    new UnexpectedResponse(new Response(null, { status: 502 }), sent),
    ONLINE,
    "Something went wrong: The response",
  ],
  ["a passkey that was not used", Object.assign(new Error(), { name: "NotAllowedError" }), ONLINE, "No passkey: "],
  [
    "a passkey that is there",
    Object.assign(new Error(), { name: "InvalidStateError" }),
    ONLINE,
    "Already registered: ",
  ],
  ["another error", new Error("broken"), ONLINE, "Something went wrong: broken"],
  ["another value", "text", ONLINE, "Something went wrong: text"],
])("an error, %s: in words", (_, error, request, text) => {
  const { title, detail } = errorText(error, request);
  expect(`${title}: ${detail}`).toStartWith(text);
});

test("a problem: recognized by its code; an ended session: by its status", () => {
  const [expired, other] = [problem(401, "invalid_session"), problem(403, "insufficient_scope")];
  expect([isSignedOut(expired), isSignedOut(other), isSignedOut(new Error())]).toEqual([true, false, false]);
  expect([isProblem(other, "insufficient_scope"), isProblem(other, "not_found")]).toEqual([true, false]);
});

test("the first items of a list: at most the limit, and whether the list has more", async () => {
  const items = async function* (count: number) {
    for (let at = 0; at < count; at++) yield at;
  };
  expect(await takeFrom(items(2), 3)).toEqual({ items: [0, 1], hasMore: false });
  expect(await takeFrom(items(3), 3)).toEqual({ items: [0, 1, 2], hasMore: false });
  expect(await takeFrom(items(4), 3)).toEqual({ items: [0, 1, 2], hasMore: true });
});
