import { expect, test } from "bun:test";
import { REQUIREMENTS } from "@realtime-avatar/domain/avatars/checks";
import { ModelPage } from "@realtime-avatar/domain/avatars/models";
import { validate } from "@realtime-avatar/domain/schema";
import { startApi } from "../../test/support/api.ts";

const api = await startApi();

test("the models, listed: the default and the platform's, with their requirements", async () => {
  const key = await api.key({ scopes: ["avatars:read"] });
  const { status, body, headers } = await api.call("GET", "/api/v1/models", { key });
  expect([status, headers.get("content-type"), body.nextCursor]).toEqual([200, "application/json", null]);
  expect(validate(ModelPage, body)).toEqual([]);
  expect(body.data.map(({ id, isDefault }: { id: string; isDefault: boolean }) => [id, isDefault])).toEqual([
    ["model-of-the-test", true],
    ["realtime-avatar-live-v1", false],
  ]);
  for (const { requirements } of body.data) {
    for (const kind of ["image", "video"] as const) {
      expect(requirements[kind].map(({ code }: { code: string }) => code)).toEqual(
        REQUIREMENTS[kind].map(({ code }) => code),
      );
    }
  }
});

test("the models, with a parameter: 422", async () => {
  const key = await api.key({ scopes: ["avatars:read"] });
  expect((await api.call("GET", "/api/v1/models?limit=1", { key })).status).toBe(422);
});
