/** Starts and ends of calls on a real LiveKit server, without media: the rooms, and the validity of tokens. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { livekitBinary } from "@realtime-avatar/testing/livekit/binary";
import { type LivekitServer, startLivekit } from "@realtime-avatar/testing/livekit/server";
import { until } from "@realtime-avatar/testing/until";
import { callAnew, startApi } from "../support/api.ts";
import { callOptions, connectRooms, RELEASE, START, WORKER_SECRET } from "../support/calls/calls.ts";

setDefaultTimeout(60_000);

const binary = await livekitBinary();
const api = await startApi();
const key = await api.key();

describe.skipIf(binary.kind === "missing")(
  `calls on the real LiveKit${binary.kind === "missing" ? ` (skipped: ${binary.reason})` : ""}`,
  () => {
    let livekit: LivekitServer;
    let call: ReturnType<typeof callAnew>;
    let rooms: ReturnType<typeof connectRooms>;
    let avatar_id: string;
    beforeAll(async () => {
      livekit = await startLivekit(binary.kind === "found" ? binary.path : "");
      rooms = connectRooms(livekit);
      call = callAnew(api.database.db, callOptions(livekit));
      const body = { displayName: "Ada", sourceKind: "image" };
      avatar_id = (await api.call("POST", "/api/v1/avatars", { key, body })).body.id;
      await api.database.db.client`update avatars set status = 'ready' where id = ${avatar_id}`;
      const headers = { authorization: `Bearer ${WORKER_SECRET}` };
      const sync = { slots: 4, features: [], calls: [] };
      await call("POST", "/internal/avatar-workers/wrk_1/sync", { headers, body: sync });
      await api.database.db.client`update fleet.avatar_workers set lease_until = now() + interval '1 hour'`;
    });
    afterAll(() => livekit?.stop());

    const headers = { "idempotency-key": "real" };
    const start = () => call("POST", START, { key, headers, body: { avatar_id } });
    /** The status of LiveKit for a token: 200 if its holder could join. */
    const validate = async (token: string): Promise<number> =>
      (await fetch(`${livekit.apiUrl}/rtc/validate`, { headers: { authorization: `Bearer ${token}` } })).status;

    test("a call, started, repeated and ended: its token is valid only while it is open", async () => {
      const { body: grant } = await start();
      expect(await rooms.list("rta-")).toEqual([grant.room_name]);
      expect(await validate(grant.participant_token)).toBe(200);
      // The room is gone, as after a restart of LiveKit. The same request creates it again.
      await rooms.delete(grant.room_name);
      expect(await validate(grant.participant_token)).toBe(404);
      expect((await start()).body).toEqual(grant);
      expect(await validate(grant.participant_token)).toBe(200);
      await call("POST", RELEASE, { key, body: { session_id: grant.session_id } });
      await until(async () => (await rooms.list("rta-")).length === 0);
      expect(await validate(grant.participant_token)).toBe(404);
      expect((await start()).body).toEqual(grant);
      expect(await rooms.list("rta-")).toEqual([]);
      expect(await validate(grant.participant_token)).toBe(404);
    });

    test("a frozen LiveKit: 503 after two seconds without a hold; then it works", async () => {
      livekit.process.kill("SIGSTOP");
      // The signal takes effect with a delay.
      const isFrozen = () =>
        fetch(livekit.apiUrl, { signal: AbortSignal.timeout(200) }).then(
          () => false,
          () => true,
        );
      await until(isFrozen);
      const refused = await call("POST", START, { key, body: { avatar_id } });
      livekit.process.kill("SIGCONT");
      expect([refused.status, refused.body.code, refused.headers.get("retry-after")]).toEqual([
        503,
        "unavailable",
        "1",
      ]);
      const { body } = await api.call("GET", "/api/v1/credits/balance", { key });
      expect(body.reservedCreditMicros).toBe(0);
      const granted = await until(async () => {
        const answer = await call("POST", START, { key, body: { avatar_id } });
        return answer.status === 200 && answer;
      });
      expect(await validate(granted.body.participant_token)).toBe(200);
    });
  },
);
