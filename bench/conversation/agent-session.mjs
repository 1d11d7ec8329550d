/**
 * LiveKit's `AgentSession` in a room: `node agent-session.mjs`, in a folder in which its packages are installed. It
 * hears the person, and asks the same providers as our avatar worker, with the defaults of LiveKit. Prints "ready" when
 * it can hear.
 */
import { initializeLogger, voice } from "@livekit/agents";
import * as openai from "@livekit/agents-plugin-openai";
import * as silero from "@livekit/agents-plugin-silero";
import { Room } from "@livekit/rtc-node";

const { LIVEKIT_URL, TOKEN, PROVIDERS_URL: baseURL } = process.env;
initializeLogger({ pretty: false, level: "fatal" });
const room = new Room();
await room.connect(LIVEKIT_URL, TOKEN, { autoSubscribe: true, dynacast: false });
const provider = { baseURL, apiKey: "none" };
const session = new voice.AgentSession({
  vad: await silero.VAD.load(),
  // Disables its default, a WebSocket, which servers with OpenAI's API lack.
  stt: new openai.STT({ ...provider, model: "recognizer", useRealtime: false }),
  llm: new openai.LLM({ ...provider, model: "model" }),
  tts: new openai.TTS({ ...provider, model: "voice", voice: "alloy" }),
});
session.on("error", ({ error }) => process.stderr.write(`${error?.message ?? error}\n`));
await session.start({ agent: new voice.Agent({ instructions: "Be brief." }), room, record: false });
process.stdout.write('{"url":"http://ready"}\n');
