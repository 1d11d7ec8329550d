/**
 * The queue of the avatar's speech: pieces of text with their sound, sent in real time. It can be paused, resumed and
 * interrupted, and reports the heard words. It has no clock: `step` must be called often.
 */
import { FRAME_MS, SAMPLE_RATE } from "../../renderer/renderer.ts";

const FRAME_SAMPLES = (SAMPLE_RATE * FRAME_MS) / 1000;
/** Sound that is passed to the output ahead of time, so that a late timer leaves no gap. */
const LEAD_MS = 100;
/**
 * Further sound that the renderer knows. Lips move before their sound, and they move smoothly when 230 ms of it are
 * known.
 */
const LIPS_MS = 140;
/** No more sound is requested while this much waits. */
const ROOM_SECONDS = 15;
/** A bound above the number of frames that are passed to the output ahead of time. */
const MAX_RECENT_FRAMES = 16;
/** How fast voices speak, for an estimate of the length of an incomplete piece. */
const CHARACTERS_PER_SECOND = 15;

/** The destination of the sound: 16-bit PCM, mono, 48 kHz. */
export type SpeechOutput = {
  play(pcm: Int16Array): void;
  /** Length of the sound that was played but is not sent yet. */
  queuedMs(): number;
  /** Announces sound to the renderer that is played `delayMs` from now. */
  preview(pcm: Int16Array, delayMs: number): void;
  /** Drops the unsent sound, also at the renderer. */
  clear(): void;
};

export type Outcome = {
  /** The heard words. */
  heard: string;
  isInterrupted: boolean;
};

export type SegmentEvents = {
  /** The first sound of a piece is queued for output. `said`: all texts so far. */
  onPiece(said: string): void;
  /** Called exactly once. */
  onFinished(outcome: Outcome): void;
};

export type SpeechPiece = {
  push(pcm: Int16Array): void;
  /** Marks the end of the sound. `isCut`: the sound does not cover the whole text. */
  end(isCut?: boolean): void;
};

/** Speech in pieces. After the segment is finished, added pieces are dropped. */
export type SpeechSegment = {
  add(text: string): SpeechPiece;
  /** Accepts no more pieces. The segment is finished when all of it was heard. */
  close(): void;
  /** Resolves when little sound waits, or when the segment is finished. */
  room(): Promise<void>;
};

type Piece = { text: string; received: number; played: number; isComplete: boolean; isCut: boolean };
type Frame = { pcm: Int16Array; piece: Piece };
type Segment = { events: SegmentEvents; pieces: Piece[]; isClosed: boolean };

/** The first words of `text` that end within this share of its characters. */
const firstWords = (text: string, share: number): string => {
  if (share >= 1) return text;
  const length = text.length * share;
  const ends = [...text.matchAll(/\S+/g)].map(({ index, 0: word }) => index + word.length);
  return text.slice(0, ends.findLast((end) => end <= length) ?? 0);
};

const pieceLength = ({ text, received, isComplete, isCut }: Piece): number =>
  isComplete && !isCut ? received : Math.max(received, (text.length / CHARACTERS_PER_SECOND) * SAMPLE_RATE);

/** The heard words of the pieces. `unsent`: the number of samples at the end that were not heard. */
const heardWords = (pieces: readonly Piece[], unsent: number): string => {
  let left = Math.max(0, pieces.reduce((sum, { played }) => sum + played, 0) - unsent);
  const heard = pieces.map((piece) => {
    const sent = Math.min(piece.played, left);
    left -= sent;
    return firstWords(piece.text, sent === 0 ? 0 : sent / pieceLength(piece));
  });
  return heard.filter((words) => words !== "").join(" ");
};

const joinTexts = (pieces: readonly Piece[]): string => pieces.map(({ text }) => text).join(" ");

/** Converts sound in parts of any length to frames. The last frame is padded with silence. */
const createFramer = (onFrame: (pcm: Int16Array) => void) => {
  let rest = new Int16Array(0);
  return {
    push: (pcm: Int16Array): void => {
      const all = new Int16Array(rest.length + pcm.length);
      all.set(rest);
      all.set(pcm, rest.length);
      let start = 0;
      for (; start + FRAME_SAMPLES <= all.length; start += FRAME_SAMPLES) {
        onFrame(all.slice(start, start + FRAME_SAMPLES));
      }
      rest = all.slice(start);
    },
    end: (): void => {
      if (rest.length === 0) return;
      const last = new Int16Array(FRAME_SAMPLES);
      last.set(rest);
      rest = new Int16Array(0);
      onFrame(last);
    },
  };
};

export type SpeechQueue = {
  /** Begins a segment. An unfinished segment is cut off. */
  open(events: SegmentEvents): SpeechSegment;
  /** Plays the due frames. Must be called at least once per frame. */
  step(): void;
  /** Pauses the sound. Unsent sound is played again after `resume`. */
  pause(): void;
  resume(): void;
  isPaused(): boolean;
  /** Drops all unsent sound. */
  cutOff(): void;
  /** Whether a segment is unfinished. */
  isActive(): boolean;
  /** The heard words of the segment so far; null without a segment. */
  heard(): string | null;
};

/** The waiting frames, and the played frames that may be unsent. */
const createPlayout = (output: SpeechOutput) => {
  let waiting: Frame[] = [];
  let recent: Frame[] = [];
  /** Number of waiting frames that the renderer knows. */
  let previewed = 0;
  const show = (): void => {
    for (;;) {
      const delayMs = output.queuedMs() + previewed * FRAME_MS;
      const frame = waiting[previewed];
      if (!frame || delayMs >= LEAD_MS + LIPS_MS) return;
      output.preview(frame.pcm, delayMs);
      previewed++;
    }
  };
  return {
    add: (frame: Frame): void => void waiting.push(frame),
    isEmpty: () => waiting.length === 0,
    hasRoom: () => waiting.length * FRAME_MS < 1000 * ROOM_SECONDS,
    /** The next due frame. */
    next: (): Frame | undefined => {
      show();
      if (output.queuedMs() >= LEAD_MS) return undefined;
      const frame = waiting.shift();
      if (!frame) return undefined;
      previewed = Math.max(0, previewed - 1);
      recent.push(frame);
      if (recent.length > MAX_RECENT_FRAMES) recent.shift();
      return frame;
    },
    /** Pauses the sound. Unsent frames wait again. */
    takeBack: (): void => {
      const count = Math.min(recent.length, Math.ceil(output.queuedMs() / FRAME_MS));
      output.clear();
      const again = count === 0 ? [] : recent.splice(-count);
      for (const { piece, pcm } of again) piece.played -= pcm.length;
      waiting.unshift(...again);
      previewed = 0;
    },
    drop: (): void => {
      waiting = [];
      recent = [];
      previewed = 0;
    },
  };
};

export const createSpeechQueue = (output: SpeechOutput): SpeechQueue => {
  const playout = createPlayout(output);
  let current: Segment | null = null;
  let isPaused = false;
  const roomWaiters: (() => void)[] = [];

  const giveRoom = (): void => roomWaiters.splice(0).forEach((resolve) => void resolve());
  const finish = (segment: Segment, outcome: Outcome): void => {
    current = null;
    playout.drop();
    giveRoom();
    segment.events.onFinished(outcome);
  };
  const handOn = ({ events, pieces }: Segment, { piece, pcm }: Frame): void => {
    const isFirst = piece.played === 0;
    piece.played += pcm.length;
    output.play(pcm);
    if (isFirst) events.onPiece(joinTexts(pieces.slice(0, pieces.indexOf(piece) + 1)));
  };
  const heardOf = ({ pieces }: Segment) => heardWords(pieces, isPaused ? 0 : (output.queuedMs() * SAMPLE_RATE) / 1000);
  const cutOff = (): void => {
    if (current === null) return;
    const heard = heardOf(current);
    output.clear();
    finish(current, { heard, isInterrupted: true });
  };
  const createPiece = (segment: Segment, text: string): SpeechPiece => {
    const piece: Piece = { text, received: 0, played: 0, isComplete: false, isCut: false };
    if (current === segment) segment.pieces.push(piece);
    const framer = createFramer((pcm) => {
      piece.received += pcm.length;
      playout.add({ pcm, piece });
    });
    const isOpen = (): boolean => current === segment && !piece.isComplete;
    return {
      push: (pcm) => {
        if (isOpen()) framer.push(pcm);
      },
      end: (isCut = false) => {
        if (!isOpen()) return;
        framer.end();
        piece.isCut = isCut;
        piece.isComplete = true;
      },
    };
  };
  const open = (events: SegmentEvents): SpeechSegment => {
    cutOff();
    const segment: Segment = { events, pieces: [], isClosed: false };
    current = segment;
    return {
      add: (text) => createPiece(segment, text),
      close: () => {
        segment.isClosed = true;
      },
      room: async () => {
        if (current !== segment || playout.hasRoom()) return;
        await new Promise<void>((resolve) => roomWaiters.push(resolve));
      },
    };
  };
  const step = (): void => {
    const segment = current;
    if (segment === null || isPaused) return;
    // A callback of a piece can end the segment.
    for (let frame = playout.next(); frame && current === segment; frame = playout.next()) handOn(segment, frame);
    if (current !== segment) return;
    if (playout.hasRoom()) giveRoom();
    const { pieces, isClosed } = segment;
    const isOver = isClosed && playout.isEmpty() && pieces.every(({ isComplete }) => isComplete);
    if (isOver && output.queuedMs() <= 0) finish(segment, { heard: heardWords(pieces, 0), isInterrupted: false });
  };
  return {
    open,
    step,
    pause: () => {
      if (!isPaused) playout.takeBack();
      isPaused = true;
    },
    resume: () => {
      isPaused = false;
    },
    isPaused: () => isPaused,
    cutOff,
    isActive: () => current !== null,
    heard: () => current && heardOf(current),
  };
};
