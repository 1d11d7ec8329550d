/** The examples of the documents: their commands, and their responses without parts that differ between runs. */
import { readFile } from "node:fs/promises";
import { portraitPath } from "@realtime-avatar/testing/photos";
import { until } from "@realtime-avatar/testing/until";

/** A command, and its response in the document. */
export const readExamples = (text = ""): [title: string, command: string, answer: string][] =>
  [...text.matchAll(/<!-- example -->\n```sh\n(.*?)```\n\n```(?:json|csv)\n(.*?)```/gs)].map(
    ([, command = "", answer = ""]) => [command.replace(/\\\n\s*/g, "").split("\n")[0] ?? "", command, answer],
  );

/** Replaces the times of a session by fixed ones. */
const settledSession = (json: string): string =>
  json
    .replace(/"(startedAt|endedAt|expiresAt)": ?"[-0-9T:.Z]+"/g, '"$1":"<time>"')
    .replace(/"activeSeconds": ?\d+/g, '"activeSeconds":0');

/** Replaces the parts of a JSON text that differ between runs. */
const settledText = (json: string): string =>
  (json.includes('"sessionId"') ? settledSession(json) : json)
    .replace(/rta_(live|test)_[0-9A-Za-z]{16}_[0-9A-Za-z]{49}/g, "rta_$1_<keyId>_<secret>")
    .replace(/rta_(live|test)_[0-9A-Za-z]{16}_\*{4}/g, "rta_$1_<keyId>_****")
    .replace(/"(keyId|actorKeyId)": ?"[0-9A-Za-z]{16}"/g, '"$1":"<keyId>"')
    .replace(/"(ten|key|ava|aud|ses|ent|ast|whe|whd|evt|vid|trn|rec)_[0-9a-z]{26}"/g, '"$1_<id>"')
    .replace(/"requestId": ?"[-0-9a-f]{36}"/g, '"requestId":"<uuid>"')
    .replace(
      /"(createdAt|updatedAt|startedAt|endedAt|deletesAt|retainedUntil|from|to)": ?"[-0-9T:.Z]+"/g,
      '"$1":"<time>"',
    )
    .replace(/"activeSeconds": ?\d+/g, '"activeSeconds":"<number>"')
    // Parts of a file.
    .replace(/"sizeBytes": ?\d+/g, '"sizeBytes":"<number>"')
    .replace(/"sha256": ?"[0-9a-f]{64}"/g, '"sha256":"<hash>"')
    .replace(/"man_(\d+)_[0-9a-f]{64}"/g, '"man_$1_<hash>"')
    .replace(/http:\/\/127\.0\.0\.1:\d+\/public\/avatars\/[-_0-9A-Za-z]+\/animated"/g, 'http://<animated>"')
    .replace(
      /http:\/\/127\.0\.0\.1:\d+(\/[a-z0-9/]+\/)[-_0-9A-Za-z.]+"|http:\/\/127\.0\.0\.1:3000(\/api\/v1\/assets\/uploads\/)<token>"/g,
      'http://<origin>$1$2<token>"',
    )
    // Parts of a video.
    .replace(/"durationSeconds": ?[\d.]+/g, '"durationSeconds":"<number>"')
    .replace(/(?:http:\/\/localhost:\d+|https:\/\/avatars\.example\.com)\/api\//g, "http://<origin>/api/")
    // Parts of a call.
    .replace(/"rta-[0-9a-z]+(?:-\d+)?-ses_[0-9a-z]{26}"/g, '"<room>"')
    .replace(/"participant_token": ?"[^"]+"/g, '"participant_token":"<token>"')
    .replace(/"livekit_url": ?"[^"]+"/g, '"livekit_url":"<url>"')
    .replace(/"reservation_expires_at": ?"[^"]+"/g, '"reservation_expires_at":"<time>"')
    .replace(/"created_at": ?"[^"]+"/g, '"created_at":"<time>"')
    // Parts of a session. The expiries of keys are far in the future.
    .replace(/"expiresAt": ?"20[2-4][-0-9T:.Z]+"/g, '"expiresAt":"<time>"')
    .replace(/"nextCursor": ?"[-_0-9A-Za-z]+"/g, '"nextCursor":"<cursor>"')
    // Parts of a webhook. A resent delivery may already have arrived.
    .replace(/"whsec_[A-Za-z0-9+/]{43}="/g, '"<secret>"')
    .replace(/http:\/\/127\.0\.0\.1:\d+\/hooks/g, "https://www.example.com/hooks")
    .replace(/"(at|previousSecretExpiresAt|nextRecoveryAt)": ?"[-0-9T:.Z]+"/g, '"$1":"<time>"')
    .replace(/"durationMs": ?\d+/g, '"durationMs":"<number>"')
    .replace(/"body": ?"(?:[^"\\]|\\.)*"/g, '"body":"<body>"')
    .replace(/"status": ?"(pending|delivered)",\s*"attempts"/g, '"status":"<sent or not>","attempts"')
    .replace(/"nextAttemptAt": ?(null|"[-0-9T:.Z]+")/g, '"nextAttemptAt":"<time or null>"')
    // The last use is recorded shortly after the request.
    .replace(/"lastUsedAt": ?(null|"[-0-9T:.Z]+")/g, '"lastUsedAt":"<time or null>"');

/** Replaces the parts that differ between runs. For a CSV file: the columns. */
export const settled = (text: string): unknown =>
  text.startsWith("{") ? JSON.parse(settledText(text)) : text.split(/\r?\n/)[0]?.split(",");

/**
 * Shortens `actual` like the document: an array or an object may end with "…" in place of omitted elements or members.
 */
export const shortened = (actual: unknown, shown: unknown): unknown => {
  if (Array.isArray(actual) && Array.isArray(shown)) {
    const isShort = shown.at(-1) === "…" && actual.length >= shown.length;
    const kept = isShort ? actual.slice(0, shown.length - 1) : actual;
    return [...kept.map((element, at) => shortened(element, shown[at])), ...(isShort ? ["…"] : [])];
  }
  if (actual === null || typeof actual !== "object" || shown === null || typeof shown !== "object") return actual;
  const isShort = "…" in shown;
  const members = Object.entries(actual).filter(([name]) => !isShort || name in shown);
  const entries = isShort ? [...members, ["…", "…"] as const] : members;
  return Object.fromEntries(
    entries.map(([name, value]) => [name, shortened(value, (shown as Record<string, unknown>)[name])]),
  );
};

/** The photo of the reader, with one face. */
export const PHOTO = await readFile(portraitPath());

const RUNNING_VIDEOS = ["videos?status=queued", "videos?status=rendering"];
/** Waits until the worker has no work for the tenant of `key`, so that the next example shows the result. */
export const untilSettled = async (url: string, key: string): Promise<void> => {
  const headers = { authorization: `Bearer ${key}` };
  const isEmpty = async (list: string): Promise<boolean> => {
    const response = await fetch(`${url}/api/v1/${list}`, { headers });
    return ((await response.json()) as { data: unknown[] }).data.length === 0;
  };
  for (const list of [
    "assets?status=uploaded",
    "assets?status=processing",
    "avatars?status=preprocessing",
    ...RUNNING_VIDEOS,
  ]) {
    await until(() => isEmpty(list), { state: list });
  }
};

/** Waits for the end of a background preparation of `avatar`, which its status does not show. */
export const untilPrepared = async (url: string, key: string, avatar: string): Promise<void> => {
  const { id, cacheVersion } = JSON.parse(avatar);
  const headers = { authorization: `Bearer ${key}` };
  const isPrepared = async (): Promise<boolean> => {
    const response = await fetch(`${url}/api/v1/avatars/${id}`, { headers });
    return ((await response.json()) as { cacheVersion: number }).cacheVersion > cacheVersion;
  };
  await until(isPrepared);
};
