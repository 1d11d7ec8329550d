/** Compares the state of the service after all calls with the calls as the persons know them. Each check returns its gates. */
import { findCreditDrift } from "@realtime-avatar/db/credits/invariants";
import { until } from "@realtime-avatar/testing/until";
import type { Call } from "./caller.ts";
import type { Kill, Stalls } from "./killer.ts";
import type { World } from "./world.ts";

/** Maximum time from the end of a call to the arrival of its transcript at the receiver. */
const MAX_TRANSCRIPT_MS = 5000;
const MAX_SILENCE_MS = 3000;
/**
 * Allowed excess of the charge: a started second is charged, and LiveKit shows the person and the avatar to each other
 * a moment apart.
 */
const ROUNDING_SECONDS = 2;
/** Seconds that are charged after the last sync of a worker that is killed, or cannot report. */
const UNREPORTED_SECONDS = 2;
/** A process tells the person that the call is recorded, and then sends its first fragment after two seconds. */
const MIN_RECORDED_MS = 8000;
/** The reason with which the persons end their calls. */
const RELEASED = "manual";

/** A requirement, with the measured values and the misses. `isTime`: a busy machine can miss it. */
export type Gate = { name: string; isTime: boolean; unit: "s" | "ms" | ""; values: readonly number[]; found: string[] };

const MAX_SHOWN = 20;
const write = (line: string): void => void process.stderr.write(`${line}\n`);

/**
 * Prints the gates as a table, and then the misses. A miss that a busy machine cannot explain is printed with the log of
 * its call.
 */
export const showGates = (world: World, gates: readonly Gate[]): void => {
  const row = (cells: readonly string[]): string =>
    cells.map((cell, at) => (at === 0 ? cell.padEnd(52) : cell.padStart(9))).join("");
  write(row(["", "number", "p50", "p95", "max", "missed"]));
  for (const { name, unit, values, found } of gates) {
    const sorted = values.toSorted((one, other) => one - other);
    const at = (share: number): string => {
      const value = sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))];
      return value === undefined || unit === "" ? "" : `${value.toFixed(unit === "s" ? 1 : 0)} ${unit}`;
    };
    write(row([name, String(values.length), at(0.5), at(0.95), at(1), String(found.length)]));
  }
  for (const { name, isTime, found } of gates) {
    for (const one of found.slice(0, MAX_SHOWN)) {
      write(`${name}: ${one}`);
      const [id] = /ses_\w+/.exec(one) ?? [];
      if (id && !isTime) for (const line of world.logOf(id)) write(`  ${line}`);
    }
    if (found.length > MAX_SHOWN) write(`${name}: and ${found.length - MAX_SHOWN} others`);
  }
};

/** A call and the kills during it, for a message. Times are in milliseconds after its begin. */
const describe = (call: Call, kills: readonly Kill[]): string => {
  const { name, id, since, heardAt, endedAt, hadSeconds, resumes, isLost } = call;
  const after = (time: number | null): number => Math.round((time ?? Number.NaN) - since);
  const during = kills.filter(({ at, backAt }) => backAt > since - 1000 && at < (endedAt ?? Infinity) + 3000);
  const list = during.map(
    ({ kind, at, backAt, lost }) => `${kind}${lost.includes(id) ? " (own)" : ""} ${after(at)}-${after(backAt)}`,
  );
  const times = `heard ${after(heardAt)}, ended ${after(endedAt)}, had ${hadSeconds.toFixed(2)} s`;
  return `${name} ${id}: ${times}, resumes ${resumes}${isLost ? ", lost" : ""}; kills: ${list.join(", ")}`;
};

/** Waits until no call is open, and no transcript or recording is to be made. */
export const untilSettled = ({ onDatabase }: World): Promise<unknown> => {
  const left = () =>
    onDatabase(async ({ client }) => {
      const [row] = await client`
        select (select count(*)::integer from usage_sessions where ended_at is null) as open,
          (select count(*)::integer from call_transcripts) as transcripts,
          (select count(*)::integer from call_recordings) as recordings`;
      return { ...row } as { open: number; transcripts: number; recordings: number };
    });
  return until(async () => Object.values(await left()).every((count) => count === 0), {
    limitMs: 180_000,
    pollMs: 500,
    state: left,
  });
};

type Row = {
  id: string;
  status: string;
  reason: string | null;
  used: number;
  endedAt: number | null;
  losses: number;
  generation: number;
};

/** Each call has ended and is charged once, at most for the time with both sides. A call that lost a process goes on. */
export const checkBooks = async (world: World, calls: readonly Call[], kills: readonly Kill[]): Promise<Gate[]> => {
  const { onDatabase, tenantId } = world;
  const drift = await onDatabase(({ db }) => findCreditDrift(db, tenantId, 10));
  const rows = await onDatabase(
    ({ client }) => client<Row[]>`
      select session.id, status, reason, (session.used / session.price)::float as used,
        extract(epoch from ended_at)::float * 1000 as "endedAt", lost_processes as losses, generation
      from usage_sessions session join calls on session_id = session.id and calls.tenant_id = session.tenant_id
      where session.tenant_id = ${tenantId}`,
  );
  const byId = new Map(rows.map((row) => [row.id, row]));
  const reasons = Object.entries(Object.groupBy(rows, ({ reason }) => String(reason)));
  write(`ends: ${reasons.map(([reason, all]) => `${reason} ${all?.length}`).join(", ")}`);
  const found = drift.map((one) => `drift ${JSON.stringify(one)}`);
  const known = new Set(calls.map(({ id }) => id as string));
  // A start that failed, because LiveKit did not respond, is repeated as another session.
  for (const row of rows)
    if (!known.has(row.id) && row.used > 0) found.push(`charged without a call: ${JSON.stringify(row)}`);
  const over: number[] = [];
  const charged: string[] = [];
  for (const call of calls) {
    const row = byId.get(call.id);
    const kinds = kills.filter(({ lost }) => lost.includes(call.id)).map(({ kind }) => kind);
    const note = `${describe(call, kills)}; ${JSON.stringify(row)}`;
    const hit = kills
      .filter(({ at, backAt }) => backAt > call.since && at < (call.endedAt ?? 0))
      .map(({ kind }) => kind);
    const isCut = hit.includes("database") || hit.includes("api");
    const isRoomLost = kinds.includes("livekit");
    const lost = kinds.filter((kind) => kind !== "livekit").length;
    if (row?.status !== "released") {
      // A call whose workers could never join, or report its begin, is free.
      const canFail = isCut || isRoomLost || lost > 1;
      if (row === undefined || row.endedAt === null || !canFail) found.push(`not released: ${note}`);
      continue;
    }
    over.push(row.used - call.hadSeconds);
    const unreported = kinds.length + (isCut ? 1 : 0);
    if (row.used > call.hadSeconds + ROUNDING_SECONDS + UNREPORTED_SECONDS * unreported) charged.push(note);
    const canEnd = (row.reason === "failed" && lost > 1) || (row.reason === "disconnected" && isRoomLost);
    if (row.reason !== RELEASED && !canEnd) found.push(`ended: ${note}`);
  }
  return [
    { name: "a call is charged once, and goes on", isTime: false, unit: "", values: over, found },
    {
      name: "seconds charged beyond those with person and avatar",
      isTime: false,
      unit: "s",
      values: over,
      found: charged,
    },
  ];
};

/** Each call has one transcript soon after its end. It can come again, with the same bytes, when its outcome was lost. */
export const checkTranscripts = async (
  world: World,
  calls: readonly Call[],
  kills: readonly Kill[],
): Promise<Gate[]> => {
  const ends = await world.onDatabase(
    ({ client }) => client<{ id: string; at: number }[]>`
      select id, extract(epoch from ended_at)::float * 1000 as at from usage_sessions where tenant_id = ${world.tenantId}`,
  );
  const endOf = new Map(ends.map(({ id, at }) => [id, at]));
  const waited: number[] = [];
  let repeated = 0;
  const found: string[] = [];
  const late: string[] = [];
  for (const call of calls) {
    const { id, heardAt } = call;
    const note = describe(call, kills);
    const all = world.receiver.of(id);
    const [first] = all;
    if (!first) {
      found.push(`no transcript: ${note}`);
      continue;
    }
    repeated += all.length - 1;
    if (all.some(({ body }) => body !== first.body)) found.push(`two transcripts: ${note}`);
    const ms = first.at - (endOf.get(id) ?? 0);
    waited.push(ms);
    if (ms > MAX_TRANSCRIPT_MS) late.push(`${Math.round(ms)} ms: ${note}`);
    if (heardAt !== null && first.transcript.segments.length === 0) found.push(`empty transcript: ${note}`);
  }
  write(`transcripts that came again: ${repeated}`);
  return [
    { name: "a call has one transcript", isTime: false, unit: "", values: waited, found },
    { name: `end to transcript, ${MAX_TRANSCRIPT_MS} ms`, isTime: true, unit: "ms", values: waited, found: late },
  ];
};

type RecordingRow = { id: string; sessionId: string; status: string; error: string | null; sizeBytes: number };

/** The longest time in which one process served the call, from its first heard sound, in milliseconds. */
const longestPart = (call: Call, kills: readonly Kill[]): number => {
  if (call.heardAt === null || call.endedAt === null) return 0;
  const own = kills.filter(({ lost }) => lost.includes(call.id)).map(({ at }) => at);
  const times = [call.heardAt, ...own, call.endedAt].toSorted((one, other) => one - other);
  const longest = Math.max(...times.map((time, index) => time - (times[index - 1] ?? time)));
  // A call whose LiveKit was killed can stay without a room until its end.
  return Math.min(longest, 1000 * call.hadSeconds);
};

/**
 * If a process has told the person that the call is recorded, and has then recorded for long enough, the recording is
 * ready with a readable file.
 */
export const checkRecordings = async (
  world: World,
  calls: readonly Call[],
  kills: readonly Kill[],
): Promise<Gate[]> => {
  const { onDatabase, tenantId, url, apiKey } = world;
  const rows = await onDatabase(
    ({ client }) => client<RecordingRow[]>`
      select id, session_id as "sessionId", status, error_code as error, size_bytes::integer as "sizeBytes"
      from recordings where tenant_id = ${tenantId}`,
  );
  const found: string[] = [];
  const headers = { authorization: `Bearer ${apiKey}` };
  for (const call of calls.filter(({ isRecorded }) => isRecorded)) {
    const row = rows.find(({ sessionId }) => sessionId === call.id);
    const note = `${describe(call, kills)}; ${JSON.stringify(row)}`;
    if (!row) found.push(`no recording: ${note}`);
    else if (row.status === "ready") {
      const access = (await (await fetch(`${url}/api/v1/recordings/${row.id}/access`, { headers })).json()) as {
        url: string;
      };
      const file = await (await fetch(access.url)).arrayBuffer();
      const type = Buffer.from(file, 4, 4).toString();
      if (file.byteLength !== row.sizeBytes || type !== "ftyp") found.push(`lost recording: ${note}`);
    } else if (longestPart(call, kills) > MIN_RECORDED_MS) found.push(`recording ${row.status}: ${note}`);
  }
  const sizes = rows.filter(({ status }) => status === "ready").map(({ sizeBytes }) => sizeBytes);
  write(`recordings: ${sizes.length} of ${rows.length} are ready`);
  return [{ name: "a recording is ready, with its file", isTime: false, unit: "", values: sizes, found }];
};

/**
 * No call is silent for long while an avatar worker is free. Not counted: times without LiveKit, and calls that have
 * lost two processes, which end. One avatar worker is always free, because each killed one runs again before the next kill.
 */
export const checkSilences = (calls: readonly Call[], kills: readonly Kill[], stalls: Stalls): Gate[] => {
  const byKind = new Map<string, Gate>();
  for (const call of calls) {
    for (const { from, to } of call.silences) {
      const causes = kills.filter(({ at, backAt }) => at < to && backAt > from - 1000);
      const own = causes.filter(({ lost }) => lost.includes(call.id));
      const kind = own[0]?.kind ?? (from === call.silences[0]?.from && call.heardAt === to ? "start" : "none");
      const begin = Math.max(from, Math.min(...own.map(({ at }) => at), to));
      const silentFrom = own.length > 0 ? begin : from;
      const ms = to - silentFrom - stalls.between(silentFrom, to);
      const isCounted = kind !== "start" && own.every((kill) => kill.kind !== "livekit");
      const name = `silence of more than a second: ${kind}${isCounted ? `, ${MAX_SILENCE_MS} ms` : ""}`;
      const gate: Gate = byKind.get(name) ?? { name, isTime: true, unit: "ms", values: [], found: [] };
      byKind.set(name, { ...gate, values: [...gate.values, ms] });
      if (isCounted && ms > MAX_SILENCE_MS)
        gate.found.push(`${Math.round(ms)} ms from ${Math.round(silentFrom - call.since)}: ${describe(call, kills)}`);
    }
  }
  return [...byKind.values()];
};
