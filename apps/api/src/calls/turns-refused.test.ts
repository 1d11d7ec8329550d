/** Turns and interruptions that are refused. */
import { describe, expect, test } from "bun:test";
import { CreateTurn } from "@realtime-avatar/domain/calls/turns";
import { PRELOAD, TURNS } from "@realtime-avatar/domain/calls/worker-sync";
import { untilBlocked } from "@realtime-avatar/testing/postgres/waits";
import { startApi } from "../../test/support/api.ts";
import { INTERRUPT, startTurnApi, TURNS_PATH } from "../../test/support/calls/turns.ts";
import { expectProblem } from "../../test/support/routes.ts";

const { api, key, avatarId, release, tenantWith, running, post, read, interrupt } = await startTurnApi();
const { client } = api.database.db;

describe("a turn that is refused", () => {
  test("of another tenant, key or environment, or of an unknown call: 404 without a write", async () => {
    const { session, sync } = await running();
    const { body: turn } = await post({ session_id: session });
    const { root } = await tenantWith(1000);
    const sibling = await api.key({ scopes: ["realtime:write"] });
    const usage = await api.call("POST", "/api/v1/usage/sessions", { key, body: { maxSessionSeconds: 60 } });
    for (const by of [root.key, sibling, await api.key({ environment: "test" })]) {
      expectProblem(await post({ session_id: session }, by), "not_found");
      expectProblem(await interrupt(session, by), "not_found");
      expectProblem(await read(turn.id, by), "not_found");
    }
    for (const id of [usage.body.sessionId, "x", avatarId, session.replace(/.$/, "0")]) {
      expectProblem(await post({ session_id: id }), "not_found");
      expectProblem(await interrupt(id), "not_found");
    }
    expectProblem(await read("trn_01h455vb4pex5vsknk084sn02q"), "not_found");
    expectProblem(await read("x"), "not_found");
    expect(await sync()).toHaveLength(1);
    await api.call("POST", `/api/v1/usage/sessions/${usage.body.sessionId}/release`, { key });
  });

  test("of a descendant's call: accepted from an ancestor; of a parent's call: refused from a child", async () => {
    const { root, newKey, avatarId: own } = await tenantWith(1000);
    const child = await newKey({ scopes: ["realtime:write"] }, root.record);
    const { session } = await running("wrk_a", { by: child.key, avatar_id: own });
    const { status, body } = await post({ session_id: session }, root.key);
    expect(status).toBe(202);
    expect((await read(body.id, child.key)).status).toBe(200);
    await release({ session_id: session }, child.key);
    const { session: ofRoot } = await running("wrk_b", { by: root.key, avatar_id: own });
    expectProblem(await post({ session_id: ofRoot }, child.key), "not_found");
    await release({ session_id: ofRoot }, root.key);
  });

  test("of a revoked key: 401 without a turn", async () => {
    const { root, newKey, avatarId: own } = await tenantWith(1000);
    const child = await newKey({}, root.record);
    const { session } = await running("wrk_a", { by: child.key, avatar_id: own });
    await api.call("DELETE", `/api/v1/api-keys/${child.record.id}`, { key: root.key });
    expectProblem(await post({ session_id: session }, child.key), "revoked_api_key");
    expect((await client`select id from call_turns where session_id = ${session}`).length).toBe(0);
  });

  test.each([
    ["only markup", { text: "**" }, "nothing_to_say", "#/text"],
    ["only an address", { text: "https://example.com/a" }, "nothing_to_say", "#/text"],
    ["empty", { text: "" }, "too_short", "#/text"],
    ["too long", { text: "x".repeat(4001) }, "too_long", "#/text"],
    [
      "instructions that are too long",
      { kind: "answer", instructions: "x".repeat(2001) },
      "too_long",
      "#/instructions",
    ],
    ["instructions for verbatim words", { instructions: "Be brief." }, "not_allowed", "#/instructions"],
    ["of another kind", { kind: "interrupt" }, "not_allowed", "#/kind"],
    ["interrupt as text", { interrupt: "false" }, "wrong_type", "#/interrupt"],
  ] as const)("%s: 422", async (_, body, code, pointer) => {
    const answer = await post({ session_id: "ses_01h455vb4pex5vsknk084sn02q", ...body });
    expectProblem(answer, "validation_failed");
    expect(answer.body.errors).toMatchObject([{ code, pointer }]);
  });

  test("the longest text and instructions: accepted", async () => {
    const { session, sync } = await running();
    const { properties } = CreateTurn;
    const body = { kind: "answer", text: "😀a".repeat(2000), instructions: "x".repeat(2000) };
    expect(properties.text.maxLength).toBe(4000);
    expect((await post({ session_id: session, ...body })).status).toBe(202);
    expect(await sync()).toMatchObject([{ text: body.text }]);
  });

  test("a call that has ended: 409", async () => {
    const { session } = await running();
    await release({ session_id: session });
    expectProblem(await post({ session_id: session }), "call_not_running");
    expectProblem(await interrupt(session), "call_not_running");
  });

  test("a call whose end is not committed yet: waits for the commit, then 409", async () => {
    const { session } = await running();
    const posted = await client.begin(async (transaction) => {
      await transaction`select from calls where session_id = ${session} for no key update`;
      const response = post({ session_id: session });
      let isOver = false;
      response.finally(() => {
        isOver = true;
      });
      await untilBlocked(api.database.db, () => isOver);
      await transaction`update usage_sessions set must_end = true where id = ${session}`;
      return { response };
    });
    expectProblem(await posted.response, "call_not_running");
  });

  test("a worker without a language model: 501 for answers; fixed words are accepted", async () => {
    const { session } = await running("wrk_a", { features: [TURNS] });
    expectProblem(await post({ session_id: session, kind: "answer" }), "conversation_not_configured");
    expect((await post({ session_id: session })).status).toBe(202);
  });

  test("a worker of an older release: 501", async () => {
    const { session } = await running("wrk_a", { features: [PRELOAD] });
    const answer = await post({ session_id: session });
    expectProblem(answer, "conversation_not_configured");
    expect(answer.body.detail).toContain("older release");
    expectProblem(await interrupt(session), "conversation_not_configured");
  });

  test("a call with an agent: 422", async () => {
    const { session } = await running();
    await client`
      insert into call_agents (tenant_id, session_id, created_at)
      select tenant_id, session_id, now() from calls where session_id = ${session}`;
    const answer = await post({ session_id: session });
    expectProblem(answer, "validation_failed");
    expect(answer.body.errors).toMatchObject([{ pointer: "#/session_id", code: "not_supported" }]);
    expectProblem(await interrupt(session), "validation_failed");
  });

  test("a service without LiveKit: 501", async () => {
    const without = await startApi();
    const by = await without.key();
    const session_id = "ses_01h455vb4pex5vsknk084sn02q";
    const body = { session_id, kind: "say", text: "x" };
    expectProblem(await without.call("POST", TURNS_PATH, { key: by, body }), "realtime_not_configured");
    expectProblem(await without.call("POST", INTERRUPT, { key: by, body: { session_id } }), "realtime_not_configured");
  });
});
