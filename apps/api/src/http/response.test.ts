import { expect, test } from "bun:test";
import { Text } from "@realtime-avatar/domain/schema";
import { Type } from "@sinclair/typebox";
import { type ResponseHead, responseText, sendResource, sendText } from "./response.ts";

const NAMED = { schema: Type.Object({ name: Text({ minLength: 1, maxLength: 3 }) }), toText: JSON.stringify };

test("a resource, sent: its version is the entity tag", () => {
  const set: ResponseHead = { headers: {} };
  expect(sendResource(NAMED, { name: "Ada" }, { version: 3 }, set)).toBe('{"name":"Ada"}');
  expect(set).toEqual({ status: 200, headers: { "content-type": "application/json", etag: '"3"' } });
});

test("a new resource, sent: 201 with its location", () => {
  const set: ResponseHead = { headers: {} };
  sendText("{}", { status: 201, location: "/x", etag: '"1"' }, set);
  expect(set).toMatchObject({ status: 201, headers: { location: "/x" } });
});

test.each([{ name: "secret" }, { name: "Ada", apiKey: "secret" }, {}])(
  "a response, %j not matching its schema: the error does not quote it",
  (body) => {
    expect(() => responseText(NAMED, body)).toThrow("a response does not match its schema");
  },
);
