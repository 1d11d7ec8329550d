/**
 * Detects when a person begins a turn, pauses, continues and ends it. It counts sound instead of reading a clock: the
 * same sound gives the same events.
 */
import { createTurnSound } from "./turn-sound.ts";
import { VAD_RATE, type Vad, WINDOW_SAMPLES } from "./vad.ts";

const WINDOW_MS = (1000 * WINDOW_SAMPLES) / VAD_RATE;

/** Times in milliseconds, rounded to windows of 32 ms. */
export const TURN_TIMES = {
  /** Speech that begins a turn while the avatar is silent. */
  beginMs: 96,
  /** Speech that interrupts an avatar that speaks or thinks. Clear speech counts twice, so 96 ms of it suffice. */
  bargeInMs: 160,
  /** Speech that interrupts while an echo canceller learns the path of the avatar's voice. Clear speech counts once. */
  settlingBargeInMs: 224,
  /** Speech that interrupts while no canceller removes the avatar's voice. */
  carefulBargeInMs: 960,
  /** After this much silence, the sound is sent to the recognizer. */
  pauseMs: 128,
  /** Silence that ends a turn whose text looks whole. Other turns end after `openMs`. */
  wholeMs: 350,
  openMs: 1600,
  maxTurnMs: 60_000,
} as const;

/** Speech begins above the first likelihood and lasts until it falls below the second one. */
const SPEECH_BEGINS = 0.5;
const SPEECH_ENDS = 0.35;
/** The likelihood of clear speech. */
const CLEAR_SPEECH = 0.7;
/** About -54 dB: windows below this power are silence. Most of a call is. */
export const QUIET_POWER = 0.002 ** 2;

/**
 * How speech interrupts the avatar. `none`: the avatar is silent. `usual`: it speaks or thinks. `settling`: as `usual`,
 * while an echo canceller learns the path of its voice. `careful`: as `usual`, without an echo canceller.
 */
export type BargeIn = "none" | "usual" | "settling" | "careful";

export type TurnEvent =
  /** A turn has begun. An avatar that speaks pauses. */
  | { kind: "begin" }
  /**
   * The person is silent: the turn may be over. `sound`: the turn so far (16-bit PCM, 16 kHz), for the recognizer.
   * `pause`: the number of the pause.
   */
  | { kind: "pause"; pause: number; sound: Int16Array }
  /** The person continues. The text of this pause is only a part of the turn. */
  | { kind: "resume"; pause: number }
  /**
   * The turn is over. Its text is the text of the pause `pause`. `silenceMs`: the silence since the last window of
   * speech, in whole windows. `tailMs`: the silence at the end of that window.
   */
  | {
      kind: "end";
      pause: number;
      reason: "whole" | "silence" | "limit";
      speechMs: number;
      silenceMs: number;
      tailMs: number;
    }
  /** Speech that was too short for a turn. No other event reports it. */
  | { kind: "noise"; speechMs: number };

/**
 * The class of a pause's text. `whole`: the turn is complete. `open`: more may come. `ignored`: noise, "mm-hmm" or the
 * avatar's own words.
 */
export type Verdict = "whole" | "open" | "ignored";

export type TurnDetector = {
  /** Takes 32 ms of the person's sound at 16 kHz, between -1 and 1. */
  hear(window: Float32Array): void;
  /** Sets the verdict on the text of a pause. Can end the turn at once. The verdict on an older pause is ignored. */
  resolvePause(pause: number, verdict: Verdict): void;
};

export type TurnDetectorOptions = { vad: Vad; bargeIn: () => BargeIn; onEvent: (event: TurnEvent) => void };

const windowsIn = (milliseconds: number): number => Math.round(milliseconds / WINDOW_MS);
const NEEDED: Record<BargeIn, { windows: number; countsClearTwice: boolean }> = {
  none: { windows: windowsIn(TURN_TIMES.beginMs), countsClearTwice: false },
  usual: { windows: windowsIn(TURN_TIMES.bargeInMs), countsClearTwice: true },
  settling: { windows: windowsIn(TURN_TIMES.settlingBargeInMs), countsClearTwice: false },
  careful: { windows: windowsIn(TURN_TIMES.carefulBargeInMs), countsClearTwice: false },
};
const PAUSE_WINDOWS = windowsIn(TURN_TIMES.pauseMs);
const WHOLE_WINDOWS = windowsIn(TURN_TIMES.wholeMs);
const OPEN_WINDOWS = windowsIn(TURN_TIMES.openMs);
const MAX_SAMPLES = windowsIn(TURN_TIMES.maxTurnMs) * WINDOW_SAMPLES;

/** The end of speech is located to 2 ms. */
const TAIL_SAMPLES = 32;

const powerOf = (window: Float32Array): number => {
  let sum = 0;
  for (let index = 0; index < window.length; index++) sum += (window[index] as number) ** 2;
  return sum / window.length;
};

/** The silence at the end of a window, in milliseconds. */
const measureTail = (window: Float32Array): number => {
  let start = window.length;
  while (start > 0 && powerOf(window.subarray(start - TAIL_SAMPLES, start)) < QUIET_POWER) start -= TAIL_SAMPLES;
  return (1000 * (window.length - start)) / VAD_RATE;
};

/**
 * `faint`: quiet sound while the likelihood is still high. Either speech has ended, because the likelihood falls 60 to
 * 130 ms late, or the mouth is closed within a word.
 */
type Activity = "silence" | "faint" | "speech" | "clear speech";

const isSpoken = (activity: Activity): boolean => activity === "speech" || activity === "clear speech";

/** Returns a function that classifies a window. `isIdle`: no turn has begun, so faint windows are skipped. */
const createSpeechGate = (vad: Vad): ((window: Float32Array, isIdle: boolean) => Activity) => {
  let isSpeech = false;
  return (window, isIdle) => {
    const isQuiet = powerOf(window) < QUIET_POWER;
    if (isQuiet && isIdle) vad.skip(window);
    const likelihood = isQuiet && isIdle ? 0 : vad.hear(window);
    isSpeech = likelihood > (isSpeech ? SPEECH_ENDS : SPEECH_BEGINS);
    if (!isSpeech) return "silence";
    if (isQuiet) return "faint";
    return likelihood > CLEAR_SPEECH ? "clear speech" : "speech";
  };
};

type Turn = {
  /** Windows of speech, and of silence after the last of them. */
  speech: number;
  silence: number;
  /** The silence at the end of the last window of speech, in milliseconds. */
  tailMs: number;
  /** Windows of speech; clear speech can count twice. Silence reduces it. */
  run: number;
  clearRun: number;
  hasBegun: boolean;
  pause: number | null;
  isWhole: boolean;
};

const countWindow = (turn: Turn, activity: Activity): void => {
  if (isSpoken(activity)) {
    turn.speech++;
    turn.run++;
    if (activity === "clear speech") turn.clearRun++;
    turn.silence = 0;
    return;
  }
  turn.silence++;
  if (activity === "faint") return;
  turn.run = Math.max(0, turn.run - 1);
  turn.clearRun = Math.max(0, turn.clearRun - 1);
};

const hasEnough = ({ run, clearRun }: Turn, bargeIn: BargeIn): boolean => {
  const { windows, countsClearTwice } = NEEDED[bargeIn];
  return run + (countsClearTwice ? clearRun : 0) >= windows;
};

/** Detects the turns of one person. Each turn that begins also ends, unless its text is ignored. */
export const createTurnDetector = ({ vad, bargeIn, onEvent }: TurnDetectorOptions): TurnDetector => {
  const sound = createTurnSound();
  const detect = createSpeechGate(vad);
  let turn: Turn | null = null;
  let pauses = 0;

  const drop = (): void => {
    turn = null;
    sound.reset();
  };
  const dropNoise = ({ speech }: Turn): void => {
    drop();
    onEvent({ kind: "noise", speechMs: speech * WINDOW_MS });
  };
  const pauseTurn = (current: Turn): number => {
    current.pause = ++pauses;
    current.isWhole = false;
    onEvent({ kind: "pause", pause: current.pause, sound: sound.copy() });
    return pauses;
  };
  const endTurn = (current: Turn, reason: "whole" | "silence" | "limit"): void => {
    // A turn that ends at the limit has no pause.
    const pause = current.pause ?? pauseTurn(current);
    // The text of the pause can already have dropped the turn.
    if (turn !== current) return;
    drop();
    const [speechMs, silenceMs] = [current.speech * WINDOW_MS, current.silence * WINDOW_MS];
    onEvent({ kind: "end", pause, reason, speechMs, silenceMs, tailMs: current.tailMs });
  };
  const takeSpeech = (current: Turn): void => {
    const { pause } = current;
    if (pause !== null) {
      current.pause = null;
      onEvent({ kind: "resume", pause });
    }
    if (!current.hasBegun && hasEnough(current, bargeIn())) {
      current.hasBegun = true;
      onEvent({ kind: "begin" });
    }
  };
  const takeSilence = (current: Turn): void => {
    if (current.silence < PAUSE_WINDOWS) return;
    if (!current.hasBegun) {
      dropNoise(current);
      return;
    }
    if (current.pause === null) pauseTurn(current);
    if (turn !== current) return;
    if (current.isWhole && current.silence >= WHOLE_WINDOWS) endTurn(current, "whole");
    else if (current.silence >= OPEN_WINDOWS) endTurn(current, "silence");
  };
  const bound = (current: Turn): void => {
    if (turn !== current || sound.length() < MAX_SAMPLES) return;
    if (current.hasBegun) endTurn(current, "limit");
    else dropNoise(current);
  };
  return {
    hear: (window) => {
      const activity = detect(window, turn === null);
      sound.add(window, turn !== null || isSpoken(activity));
      if (turn === null) {
        if (!isSpoken(activity)) return;
        turn = { speech: 0, silence: 0, tailMs: 0, run: 0, clearRun: 0, hasBegun: false, pause: null, isWhole: false };
      }
      const current = turn;
      countWindow(current, activity);
      if (isSpoken(activity)) current.tailMs = measureTail(window);
      if (isSpoken(activity)) takeSpeech(current);
      else takeSilence(current);
      bound(current);
    },
    resolvePause: (pause, verdict) => {
      if (turn?.pause !== pause) return;
      if (verdict === "ignored") {
        drop();
        return;
      }
      turn.isWhole = verdict === "whole";
      if (turn.isWhole && turn.silence >= WHOLE_WINDOWS) endTurn(turn, "whole");
    },
  };
};
