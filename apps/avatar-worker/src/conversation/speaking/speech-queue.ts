/**
 * The queue of the avatar's speech, sent as fast as it is heard: pieces of text with their sound. It can pause, go on and be cut off, and tells which
 * words were heard. Knows no clock: `step` is to be called often.
 */
import { FRAME_MS, SAMPLE_RATE } from "../../renderer/renderer.ts";

const FRAME_SAMPLES = (SAMPLE_RATE * FRAME_MS) / 1000;
/** How much sound is handed on before it is heard: enough for a timer that is late. */
const LEAD_MS = 100;
/** How much more sound the renderer knows. Lips move before their sound, and move smoothly where 230 ms of it are known. */
const LIPS_MS = 140;
/** No more sound is asked for while this much waits. */
const ROOM_SECONDS = 15;
/** More than is handed on at once. */
const MAX_RECENT_FRAMES = 16;
/** How fast voices speak, to guess the length of a piece whose sound is not complete. */
const CHARACTERS_PER_SECOND = 15;

/** Where the sound goes: 16-bit PCM, mono, 48 kHz. */
export type SpeechOutput = {
  play(pcm: Int16Array): void;
  /** How much of the sound that was handed on is not sent. */
  queuedMs(): number;
  /** The renderer is told of sound that is played `delayMs` from now. */
  preview(pcm: Int16Array, delayMs: number): void;
  /** Drops what is not sent, and what the renderer was told of it. */
  clear(): void;
};

export type Outcome = {
  /** The words that were heard. */
  heard: string;
  isInterrupted: boolean;
};

export type SegmentEvents = {
  /** The first sound of a piece is handed on. `said`: all texts so far. */
  onPiece(said: string): void;
  /** Called exactly once. */
  onFinished(outcome: Outcome): void;
};

export type SpeechPiece = {
  push(pcm: Int16Array): void;
  /** No more sound comes. `isCut`: it is not the sound of all of the text. */
  end(isCut?: boolean): void;
};

/** Something that the avatar says, in pieces. After it is finished, what is added is dropped. */
export type SpeechSegment = {
  add(text: string): SpeechPiece;
  /** Nothing more is added. It is finished when all of it was heard. */
  close(): void;
  /** Resolves when little of the sound waits, or when the segment is finished. */
  room(): Promise<void>;
};

type Piece = { text: string; received: number; played: number; isComplete: boolean; isCut: boolean };
type Frame = { pcm: Int16Array; piece: Piece };
type Segment = { events: SegmentEvents; pieces: Piece[]; isClosed: boolean };

/** The first words of `text`, as many as end within this share of its characters. */
const firstWords = (text: string, share: number): string => {
  if (share >= 1) return text;
  const length = text.length * share;
  const ends = [...text.matchAll(/\S+/g)].map(({ index, 0: word }) => index + word.length);
  return text.slice(0, ends.findLast((end) => end <= length) ?? 0);
};

const pieceLength = ({ text, received, isComplete, isCut }: Piece): number =>
  isComplete && !isCut ? received : Math.max(received, (text.length / CHARACTERS_PER_SECOND) * SAMPLE_RATE);

/** The words of the pieces that were heard, when the last `unsent` samples were not. */
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

/** Sound that comes in parts of any length, as frames. The last one is filled up with silence. */
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
  /** Begins a segment. One that is not finished is cut off. */
  open(events: SegmentEvents): SpeechSegment;
  /** Hands on what is due. To be called at least as often as frames are heard. */
  step(): void;
  /** Stops the sound. What was handed on and is not sent comes again after `resume`. */
  pause(): void;
  resume(): void;
  isPaused(): boolean;
  /** Drops all that is not sent. */
  cutOff(): void;
  /** Whether a segment is not finished. */
  isActive(): boolean;
  /** The words of the segment that were heard until now; null without one. */
  heard(): string | null;
};

/** The frames that wait, and those that were handed on and may not be sent. */
const createPlayout = (output: SpeechOutput) => {
  let waiting: Frame[] = [];
  let recent: Frame[] = [];
  /** How many of the frames that wait the renderer knows. */
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
    /** The next frame that is to be handed on now. */
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
    /** Stops the sound. What is not sent waits again. */
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
