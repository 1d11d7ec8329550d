/**
 * The process of a call. It gets the call from the avatar worker, and ends when the worker closes the channel or ends.
 */
import type { TranscriptSegment } from "@realtime-avatar/domain/calls/transcript";
import type { AssignedCall, ReportedCall, ReportedTurn } from "@realtime-avatar/domain/calls/worker-sync";
import { createFliteThread } from "@realtime-avatar/speech/flite-thread";
import { FLITE_SETTINGS, type SpeechSettings } from "@realtime-avatar/speech/settings";
import type { Failure, Provider } from "../conversation/providers/errors.ts";
import { unpackSettings, unpackSpeech } from "../conversation/settings.ts";
import { createUsageMeter } from "../conversation/usage-meter.ts";
import { dropLibraryLog } from "../library-log.ts";
import { createRecorder, type Recorder } from "../recording/recorder.ts";
import { createFaceRenderer } from "../renderer/face.ts";
import { portrait } from "../renderer/portrait.ts";
import type { Renderer } from "../renderer/renderer.ts";
import { type Call, startCall } from "../room/call.ts";
import type { FromCallProcess, PictureSettings, PreloadMessage, Start, ToCallProcess } from "./messages.ts";

const REPORT_INTERVAL_MS = 100;
/** How often an unchanged report is sent, as a sign that this process is alive. */
const ALIVE_MS = 1000;
const MAX_CAUSE_LENGTH = 200;

const send = (message: FromCallProcess): void => {
  if (process.connected) process.send?.(message);
};

/** Returns a function that sends a report if it differs from the last one, or if the last one is a second old. */
const createReporter = () => {
  let last = "";
  let sentAt = Number.NEGATIVE_INFINITY;
  return ({ state, used_seconds, reason, resume, usage }: ReportedCall): void => {
    const now = performance.now();
    const content = JSON.stringify([state, used_seconds, reason, resume, usage]);
    if (content === last && now - sentAt < ALIVE_MS) return;
    last = content;
    sentAt = now;
    const rest = { ...(reason && { reason }), ...(resume && { resume }), ...(usage && { usage }) };
    send({ kind: "report", state, used_seconds, ...rest });
  };
};

/**
 * Returns a function that reads a prepared file through the worker, and a function that takes the worker's responses.
 */
const createLoader = () => {
  const waiting = new Map<number, (bytes: Uint8Array | null) => void>();
  let count = 0;
  return {
    load: (file: string): Promise<Uint8Array> =>
      new Promise((resolve, reject) => {
        const id = ++count;
        waiting.set(id, (bytes) => (bytes ? resolve(bytes) : reject(new Error("a prepared file cannot be read"))));
        send({ kind: "load", id, file });
      }),
    receive: ({ id, bytes }: Extract<ToCallProcess, { kind: "file" }>): void => {
      waiting.get(id)?.(bytes);
      waiting.delete(id);
    },
  };
};

const chooseRenderer = ({ renderer }: PictureSettings): Renderer => {
  if (renderer === "portrait") return portrait;
  const tell = (kind: "portrait" | "still") => (cause: string) =>
    send({ kind, cause: cause.slice(0, MAX_CAUSE_LENGTH) });
  return createFaceRenderer({ onPortrait: tell("portrait"), onStill: tell("still") });
};

/** The callbacks that report speech to the worker, with and without a conversation. */
const createListeners = ({ transcript, history }: AssignedCall) => ({
  onProviderFailure: (provider: Provider, why: Failure) => send({ kind: "provider", provider, why }),
  segments:
    transcript || history
      ? {
          onSegment: (segment: TranscriptSegment) => send({ kind: "segment", segment }),
          onSpeaking: (segment: TranscriptSegment | null) => send({ kind: "speaking", segment }),
        }
      : null,
  onTurn: (turn: ReportedTurn) => send({ kind: "turn", turn }),
});

const onFailure = (cause: string): void => send({ kind: "failure", cause: cause.slice(0, MAX_CAUSE_LENGTH) });

const reportUnrecorded = (error: unknown): void => {
  const cause = error instanceof Error && error.message !== "" ? error.message : "unknown";
  send({ kind: "unrecorded", cause: cause.slice(0, MAX_CAUSE_LENGTH) });
};

/** The recorder of a call; null for a call that is not recorded, or in a brought room, where no person is heard. */
const createCallRecorder = ({ assigned, isTold }: Start): Recorder | null => {
  const { recording, agent_identity, mode } = assigned;
  if (recording === undefined || agent_identity !== null) return null;
  const recorder = createRecorder({
    mode: recording.mode,
    hasPictures: mode === "avatar",
    onFragment: (bytes) => send({ kind: "fragment", bytes }),
    onBegin: () => send({ kind: "told" }),
    onFailure: reportUnrecorded,
  });
  if (isTold) recorder.begin();
  return recorder;
};

const canLoad = (renderer: Renderer, ...avatar: Parameters<Renderer["preload"]>): Promise<boolean> =>
  renderer.preload(...avatar).then(
    () => true,
    () => false,
  );

const speakPiece = createFliteThread(process.argv[1] ?? "");
/** Runs Flite on a thread, so that the pictures of the call continue while it speaks. */
const onThread = (speech: SpeechSettings): SpeechSettings => ({ ...speech, speakPiece });

/** Takes a call, and carries out the worker's messages. */
const serveCall = (): void => {
  const { load, receive } = createLoader();
  const report = createReporter();
  let renderer: Renderer | null = null;
  let call: Call | null = null;
  let meter = createUsageMeter({});
  let leaseTimer: NodeJS.Timeout | undefined;

  const leave = async (): Promise<void> => {
    await call?.leave();
    send({ kind: "left" });
  };
  /** The worker renews the lease. A stopped worker does not, and another worker takes the call. */
  const holdFor = (ms: number): void => {
    clearTimeout(leaseTimer);
    leaseTimer = setTimeout(leave, ms);
  };
  const start = (message: Start): void => {
    const { assigned, isRestart, leaseMs, pictures, conversation, speech } = message;
    meter = createUsageMeter(assigned);
    const onChange = (): void => {
      if (call) report({ ...call.report(), ...(conversation && { usage: meter.usage() }) });
    };
    renderer ??= chooseRenderer(pictures);
    const recorder = createCallRecorder(message);
    const told = createListeners(assigned);
    const settings = conversation && unpackSettings(conversation);
    call = startCall(assigned, {
      ...{ renderer, label: pictures.label, load, isRestart, recorder, onChange, onFailure },
      echo: { ...told, speech: onThread(speech ? unpackSpeech(speech) : FLITE_SETTINGS) },
      conversation: settings && {
        ...told,
        settings: { ...settings, speech: onThread(settings.speech) },
        meter,
        onCount: (counted) => send({ kind: "count", counted }),
        onTurnTimings: (timings) => send({ kind: "timings", timings }),
      },
    });
    setInterval(onChange, REPORT_INTERVAL_MS);
    onChange();
    holdFor(leaseMs);
  };
  const preload = async ({ avatar, pictures }: PreloadMessage): Promise<void> => {
    renderer ??= chooseRenderer(pictures);
    send({ kind: "preloaded", isLoaded: await canLoad(renderer, avatar, load) });
  };
  process.on("message", (message: ToCallProcess) => {
    switch (message.kind) {
      case "preload":
        void preload(message);
        break;
      case "start":
        start(message);
        break;
      case "lease":
        holdFor(message.ms);
        break;
      case "move":
        call?.move(message.access);
        break;
      case "grow":
        call?.grow({ max_seconds: message.max_seconds, limit: message.limit });
        break;
      case "turns":
        call?.takeTurns(message.turns);
        break;
      case "end":
        void call?.end(message.reason);
        break;
      case "tokens":
        meter.setBudget(message);
        break;
      case "leave":
        void leave();
        break;
      case "file":
        receive(message);
        break;
    }
  });
};

/** Runs this process as the process of a call. Needs the channel of its parent. */
export const runCallProcess = (): void => {
  // A terminal and a service manager send these signals to all processes of the group. The worker decides when a call
  // ends.
  for (const signal of ["SIGINT", "SIGHUP", "SIGTERM"] as const) process.on(signal, () => {});
  process.on("disconnect", () => process.exit(0));
  process.on("uncaughtException", () => process.exit(1));
  // The library rejects promises whose errors were already handled.
  process.on("unhandledRejection", () => {});
  if (!process.connected) throw new Error("this process must be started by an avatar worker");
  dropLibraryLog();
  serveCall();
  send({ kind: "ready" });
};
