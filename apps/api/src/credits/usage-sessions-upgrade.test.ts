import { expect, test } from "bun:test";
import { startApi } from "../../test/support/api.ts";

const PATH = "/api/v1/usage/sessions";
const api = await startApi();

test("responses, stored by the previous release, repeated: the same bytes", async () => {
  const key = await api.key();
  const headers = { "idempotency-key": "upgrade" };
  const call = (path: string, body: object) => api.call("POST", `${PATH}${path}`, { key, body, headers });
  const [sent, used] = [{ maxSessionSeconds: 60 }, { usedCreditMicros: 5 }];
  const opened = await call("", sent);
  const { sessionId, avatarName, reservedCreditMicros, expiresAt } = opened.body;
  const reported = await call(`/${sessionId}/usage`, used);
  const released = await call(`/${sessionId}/release`, {});
  // The previous release stored the response of an opening without these members. It stored the members separately.
  for (const [path, members] of [
    ["", { avatarName, reservedCreditMicros, expiresAt }],
    [`/${sessionId}/usage`, reported.body],
    [`/${sessionId}/release`, released.body],
  ] as const) {
    const { count } = await api.database.db.client`
      update idempotency_claims set response_fields = ${JSON.stringify(members)}::text::json
      where idempotency_key = 'upgrade' and request = ${`POST ${PATH}${path}`}`;
    expect(count).toBe(1);
  }
  expect((await call("", sent)).text).toBe(opened.text);
  expect((await call(`/${sessionId}/usage`, used)).text).toBe(reported.text);
  expect((await call(`/${sessionId}/release`, {})).text).toBe(released.text);
});
