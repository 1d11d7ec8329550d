/**
 * A test server with the three routes of OpenAI's API that a conversation uses. Its answers, delays and faults are
 * scripted.
 */

export type Kind = "llm" | "stt" | "tts";
/** `hang`: sends no byte. `half`: the body ends early. `close`: the connection breaks in the body. `large`: 10 MB. */
export type Fault = 401 | 429 | 500 | "redirect" | "hang" | "half" | "close" | "utf8" | "json" | "large";

export const SAMPLE_RATE = 24_000;
/** The rate of speech. */
const CHARACTERS_PER_SECOND = 15;
const PATHS: Record<string, Kind> = {
  "/v1/chat/completions": "llm",
  "/v1/audio/transcriptions": "stt",
  "/v1/audio/speech": "tts",
};
const CLOSE_MS = 50;
const LARGE_BYTES = 10 * 1024 * 1024;
/** The key. Error bodies contain it, as a careless server could send it. */
export const KEY = "sk-operator-0123456789";

type ChatBody = {
  model: string;
  messages: { role: string; content: string; tool_call_id?: string }[];
  max_tokens?: number;
  stream_options?: { include_usage: boolean };
  tools?: { type: string; function: { name: string; description: string; parameters: object } }[];
};
/** A text, optionally followed by tool calls. `args`: as the model writes them. */
export type Answer = string | { text?: string; calls: { name: string; args: string }[] };
/** A request that the server received. `abortedAt`: when the client closed it early, in milliseconds. */
export type Received = { kind: Kind; at: number; key: string | null; body: unknown; abortedAt: number | null };

const encode = (text: string): Uint8Array => new TextEncoder().encode(text);
const event = (delta: object): Uint8Array => encode(`data: ${JSON.stringify({ choices: [{ delta }] })}\n\n`);

/**
 * The tool calls of an answer in parts, as OpenAI sends them: the arguments in two parts, and the calls interleaved.
 */
const callParts = (calls: { name: string; args: string }[]): object[] => {
  const parts = (part: (call: { name: string; args: string }, index: number) => object): object[] =>
    calls.map((call, index) => ({ tool_calls: [{ index, ...part(call, index) }] }));
  return [
    ...parts(({ name }, index) => ({ id: `call_${index}`, type: "function", function: { name, arguments: "" } })),
    ...parts(({ args }) => ({ function: { arguments: args.slice(0, 5) } })),
    ...parts(({ args }) => ({ function: { arguments: args.slice(5) } })),
  ];
};

/** A buzz with syllables, at the sample rate of the server. */
const buzz = (seconds: number): Uint8Array => {
  const pcm = new Int16Array(Math.round(seconds * SAMPLE_RATE));
  for (let index = 0; index < pcm.length; index++) {
    const time = index / SAMPLE_RATE;
    const loudness = 0.35 + 0.65 * Math.abs(Math.sin(Math.PI * 3.7 * time));
    let sum = 0;
    for (let harmonic = 1; harmonic < 8; harmonic++) sum += Math.sin(2 * Math.PI * 140 * harmonic * time) / harmonic;
    pcm[index] = 5000 * loudness * sum;
  }
  return new Uint8Array(pcm.buffer);
};

const TYPES: Record<Kind, string> = { llm: "text/event-stream", stt: "application/json", tts: "audio/pcm" };

export type Delays = { llmMs: number; tokenMs: number; sttMs: number; ttsMs: number };
const NO_DELAYS: Delays = { llmMs: 0, tokenMs: 0, sttMs: 0, ttsMs: 0 };

/** The body of a fault; undefined when the fault has no body. */
const faultyBody = (fault: Fault): Uint8Array[] | undefined => {
  if (fault === "large") return Array.from({ length: 160 }, () => new Uint8Array(LARGE_BYTES / 160).fill(0x61));
  if (fault === "utf8") return [encode('data: {"text": "'), Uint8Array.of(0xff, 0xfe, 0xc3, 0x28), encode('"}\n\n')];
  if (fault === "json") return [encode(`data: {broken ${KEY}\n\n`)];
  return undefined;
};

/** The responses of the server. `text`: the text of a turn, by the number of the request. */
type Script = {
  delays: Delays;
  faults: Map<Kind, Fault>;
  answer: (body: ChatBody) => Answer;
  refusesTools: boolean;
  refusesUsage: boolean;
  /** Sent for each request that asks for it. */
  usage: unknown;
  text: (request: number) => string;
  transcriptions: number;
};

/** Writes the response of the API to a request. */
const write = async (
  { kind, body }: Received,
  script: Script,
  send: (bytes: Uint8Array) => void,
  isOpen: () => boolean,
): Promise<void> => {
  const { llmMs, tokenMs, sttMs, ttsMs } = script.delays;
  switch (kind) {
    case "stt": {
      await Bun.sleep(sttMs);
      send(encode(JSON.stringify({ text: script.text(script.transcriptions++) })));
      break;
    }
    case "tts": {
      await Bun.sleep(ttsMs);
      const sound = buzz((body as { input: string }).input.length / CHARACTERS_PER_SECOND);
      // The pieces end within samples.
      for (let at = 0; at < sound.length; at += 9601) send(sound.slice(at, at + 9601));
      break;
    }
    case "llm": {
      await Bun.sleep(llmMs);
      const answer = script.answer(body as ChatBody);
      const { text = "", calls } = typeof answer === "string" ? { text: answer, calls: [] } : answer;
      for (const [token] of text.matchAll(/\s*\S+\s*/g)) {
        if (!isOpen()) return;
        send(event({ content: token }));
        if (tokenMs > 0) await Bun.sleep(tokenMs);
      }
      for (const part of callParts(calls)) send(event(part));
      const usage = (body as ChatBody).stream_options && script.usage;
      if (usage) send(encode(`data: ${JSON.stringify({ choices: [], usage })}\n\n`));
    }
  }
};

/** The response to a request, with the fault of its kind. */
const respond = (entry: Received, script: Script, signal: AbortSignal): Response => {
  const { kind } = entry;
  const fault = script.faults.get(kind);
  signal.addEventListener("abort", () => {
    entry.abortedAt ??= performance.now();
  });
  const isOpen = (): boolean => !signal.aborted;
  const start = async (controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> => {
    const send = (part: Uint8Array): void => {
      if (isOpen()) controller.enqueue(part);
    };
    if (fault === "hang") return;
    const parts = fault && faultyBody(fault);
    for (const part of parts ?? []) send(part);
    if (!parts) await write(entry, script, send, isOpen);
    if (!isOpen()) return;
    if (fault === "close") {
      // The header is sent with the first bytes.
      await Bun.sleep(CLOSE_MS);
      return controller.error(new Error("closed"));
    }
    if (kind === "llm" && fault !== "half") send(encode("data: [DONE]\n\n"));
    controller.close();
  };
  return new Response(new ReadableStream({ start }), { headers: { "content-type": TYPES[kind] } });
};

export const startProviders = (delays: Partial<Delays> = {}) => {
  const received: Received[] = [];
  const script: Script = {
    delays: { ...NO_DELAYS, ...delays },
    faults: new Map(),
    answer: () => "Hello there.",
    refusesTools: false,
    refusesUsage: false,
    usage: null,
    text: () => "Hello.",
    transcriptions: 0,
  };
  let redirected = 0;
  const server: Bun.Server<undefined> = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    idleTimeout: 60,
    fetch: async (request): Promise<Response> => {
      const kind = PATHS[new URL(request.url).pathname];
      if (kind === undefined) {
        redirected++;
        return new Response(null, { status: 404 });
      }
      const body = kind === "stt" ? Object.fromEntries(await request.formData()) : await request.json();
      const key = request.headers.get("authorization");
      const entry: Received = { kind, at: performance.now(), key, body, abortedAt: null };
      received.push(entry);
      const fault = script.faults.get(kind);
      if (fault === "redirect") return Response.redirect(`${server.url.origin}/stolen`, 302);
      if (typeof fault === "number") return new Response(`The key ${KEY} is wrong.`, { status: fault });
      if (script.refusesTools && kind === "llm" && (body as ChatBody).tools) return new Response(null, { status: 400 });
      if (script.refusesUsage && (body as ChatBody).stream_options) return new Response(null, { status: 422 });
      return respond(entry, script, request.signal);
    },
  });
  const url = `${server.url.origin}/v1`;
  return {
    url,
    endpoint: (model: string) => ({ url, apiKey: null, model }),
    /** The variables of an avatar worker that uses this server for all three providers. */
    variables: {
      ...{ LLM_URL: url, LLM_API_KEY: KEY, LLM_MODEL: "model" },
      ...{ STT_URL: url, STT_API_KEY: KEY, STT_MODEL: "recognizer" },
      ...{ TTS_URL: url, TTS_API_KEY: KEY, TTS_MODEL: "voice", TTS_VOICES: '{"test-buzz": "buzz"}' },
    },
    received,
    of: (kind: Kind): Received[] => received.filter((each) => each.kind === kind),
    faults: script.faults,
    /** Number of requests to other paths. */
    redirected: () => redirected,
    setAnswer: (answer: Script["answer"]) => {
      script.answer = answer;
    },
    /** Acts as a server without support for tools: 400 for a request with tools. */
    refuseTools: (refuses: boolean) => {
      script.refusesTools = refuses;
    },
    /** `refuses`: acts as a server that does not know `stream_options`. */
    setUsage: (usage: unknown, refuses = false) => {
      script.usage = usage;
      script.refusesUsage = refuses;
    },
    setText: (text: Script["text"]) => {
      script.transcriptions = 0;
      script.text = text;
    },
    stop: () => server.stop(true),
  };
};
export type ScriptedProviders = ReturnType<typeof startProviders>;
