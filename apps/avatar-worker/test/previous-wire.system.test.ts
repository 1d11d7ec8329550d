/**
 * The protocol between this release and the previous release, during a call. Both sides of the previous release refuse
 * unknown fields.
 */
import { afterEach, describe, expect, setDefaultTimeout, test } from "bun:test";
import { WIRE_2 } from "@realtime-avatar/domain/calls/worker-sync";
import { IS_ONE_DATABASE } from "@realtime-avatar/testing/database";
import { livekitBinary } from "@realtime-avatar/testing/livekit/binary";
import { hasPreviousWire, previousWire } from "@realtime-avatar/testing/previous-release";
import { type RunningProcess, runToEnd } from "@realtime-avatar/testing/processes";
import { until } from "@realtime-avatar/testing/until";
import { joinAsRawClient } from "./support/raw-client.ts";
import { type Service, type ServiceOptions, startService } from "./support/service.ts";

// The first run installs the packages of the previous release.
setDefaultTimeout(300_000);

const binary = await livekitBinary();
const why =
  binary.kind === "missing"
    ? binary.reason
    : hasPreviousWire
      ? !IS_ONE_DATABASE && "the previous release is tested on one database"
      : "the repository lacks the previous release";

describe.skipIf(why !== false)(`the previous release${why === false ? "" : ` (skipped: ${why})`}`, () => {
  let service: Service | null = null;
  afterEach(async () => {
    await service?.stop();
    service = null;
  });

  const featuresOfWorker = async (): Promise<string[]> => {
    const { client } = (service as Service).db;
    return (await client`select features from fleet.avatar_workers`)[0]?.["features"];
  };

  /**
   * Runs a call with all optional fields for its renderer, from its start to its end. Its worker must never have a
   * failed sync.
   */
  const call = async (options: ServiceOptions, workerCommand?: string[]): Promise<RunningProcess> => {
    const started = await startService(binary.kind === "found" ? binary.path : "", options);
    service = started;
    const worker = await started.startWorker(started.url, workerCommand);
    const { apiKey } = await started.newKey();
    const one = await started.start(apiKey, { mode: "voice", instructions: "Be kind." });
    const person = await joinAsRawClient(one.url, one.token);
    expect(person).not.toBeNull();
    const state = () => started.stateOf(one.id);
    await until(async () => (await state())["status"] === "started");
    // Several syncs, in both forms of the protocol.
    await Bun.sleep(4000);
    expect(await state()).toMatchObject({ status: "started", generation: 1 });
    await started.call("POST", "/realtime/livekit/session/release", apiKey, { session_id: one.id });
    await until(() => worker.stdout().includes('"state":"ended"'));
    const ended = await state();
    expect(ended).toMatchObject({ status: "released", generation: 1 });
    expect(ended["used"]).toBeGreaterThanOrEqual(4_000_000);
    person?.leave();
    expect(worker.stdout()).not.toContain("a sync has failed");
    return worker;
  };

  test("the avatar worker of the previous release, at this service: a whole call", async () => {
    await call({}, await previousWire("avatar-worker"));
    expect(await featuresOfWorker()).not.toContain(WIRE_2);
  });

  test("this avatar worker, at the service of the previous release: a whole call", async () => {
    const prepareDatabase = async (url: string): Promise<void> => {
      const migrated = await runToEnd(await previousWire("cli", "migrate"), { DATABASE_URL: url });
      expect([migrated.code, migrated.stderr]).toEqual([0, ""]);
    };
    await call({ apiCommand: await previousWire("api"), prepareDatabase });
    expect(await featuresOfWorker()).toContain(WIRE_2);
  });
});
