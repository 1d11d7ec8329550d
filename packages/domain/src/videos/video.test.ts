/** Videos: their transitions, the credits that they hold, and the errors of a request for one. */
import { describe, expect, test } from "bun:test";
import type { RandomBytes } from "../id.ts";
import { canTransition } from "../transitions.ts";
import { listedVideoStatuses, RUNNING_STATUSES, VIDEO_STATUSES, VIDEO_TRANSITIONS } from "./status.ts";
import { plannedVideo, presentNewVideo, sessionMetadata, videoErrors, videoText } from "./video.ts";

const AVATAR = "ava_01h455vb4pex5vsknk084sn02q";
const ASSET = "ast_01h455vb4pex5vsknk084sn02q";
const random: RandomBytes = (length) => new Uint8Array(length);
const now = new Date("2026-11-01T00:00:00Z");

test("a video, in each status: exactly these transitions", () => {
  const found = VIDEO_STATUSES.flatMap((from) =>
    VIDEO_STATUSES.filter((to) => canTransition(VIDEO_TRANSITIONS, from, to)).map((to) => `${from} → ${to}`),
  );
  expect(found.sort()).toEqual(
    [
      ...["queued → rendering", "queued → failed", "queued → canceled"],
      ...["rendering → queued", "rendering → ready", "rendering → failed", "rendering → canceled"],
      ...["ready → deleted", "failed → deleted", "canceled → deleted"],
    ].sort(),
  );
  expect(RUNNING_STATUSES).toEqual(["queued", "rendering"]);
  expect(listedVideoStatuses("ready")).toEqual(["ready"]);
  expect(listedVideoStatuses(undefined)).not.toContain("deleted");
});

describe("a request for a video", () => {
  const errorsOf = (request: { text?: string }) =>
    videoErrors(
      { avatarId: AVATAR, ...request },
      { spoken: request.text === "🙂" ? "" : "Hello", hasVoice: (id) => id === "flite-slt" },
    ).map(({ pointer, code }) => `${pointer} ${code}`);
  const cases: [object, string[]][] = [
    [{ text: "Hello" }, []],
    [{ text: "Hello", voiceId: "flite-slt" }, []],
    [{ audioAssetId: ASSET }, []],
    [{}, ["#/text required"]],
    [{ text: "Hello", audioAssetId: ASSET }, ["#/audioAssetId not_allowed"]],
    [{ text: "🙂" }, ["#/text nothing_to_say"]],
    [{ text: "Hello", voiceId: "x" }, ["#/voiceId unsupported_voice"]],
    [{ audioAssetId: ASSET, voiceId: "flite-slt" }, ["#/voiceId not_allowed"]],
    [{ voiceId: "x" }, ["#/text required", "#/voiceId unsupported_voice"]],
  ];
  test.each(cases)("%j: the errors %j", (request, errors) => {
    expect(errorsOf(request)).toEqual(errors);
  });

  test("its ids: only ids of an avatar and of an asset are accepted", () => {
    const plan = (request: object) => () =>
      plannedVideo({ avatarId: AVATAR, ...request }, { spoken: "x", environment: "live", now, random });
    expect(plan({ avatarId: "ava_x", text: "x" })).toThrow("not_found");
    expect(plan({ audioAssetId: AVATAR })).toThrow("validation_failed");
    // The code points of the spoken text give the seconds. Only the database knows the length of audio.
    expect(plan({ text: "a longer text" })().seconds).toBe(1);
    expect(plan({ audioAssetId: ASSET })().seconds).toBeNull();
  });

  test("its response: the values known before the write, with the numbers of `metadata` unchanged", () => {
    const metadata = { user_id: "ada", big: 1 };
    const video = plannedVideo(
      { avatarId: AVATAR, text: "x", metadata },
      { spoken: "x", environment: "test", now, random },
    );
    const caller = { tenantId: "ten_01h455vb4pex5vsknk084sn02q", id: "key_01h455vb4pex5vsknk084sn02q" } as const;
    const shown = JSON.parse(videoText(presentNewVideo(video, caller)));
    expect(shown).toMatchObject({ id: video.id, status: "queued", progress: 0, metadata, createdBy: caller.id });
    expect(shown).toMatchObject({ environment: "test", createdAt: now.toISOString(), sessionId: video.sessionId });
  });

  test("the metadata of its usage session: only the end user", () => {
    expect(sessionMetadata({ user_id: "ada", other: 1 })).toEqual({ user_id: "ada" });
    expect(sessionMetadata({ user_id: "🙂".repeat(500) })).toEqual({ user_id: "🙂".repeat(500) });
    for (const user_id of [1, null, {}, "x".repeat(501)]) expect(sessionMetadata({ user_id })).toEqual({});
  });
});
